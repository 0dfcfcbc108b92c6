/**
 * The panel with a list of cells: matches of a search, or broken images. It holds what it is given
 * and says which cell was chosen.
 */
'use strict';

(page => {
  const THUMBNAIL = 40;

  page.List = class {
    #grid;
    #panel;
    #choose;
    #heading = page.element('h2');
    #note = page.element('p', { className: 'note', role: 'status' });
    #progress = page.element('progress', { hidden: true, 'aria-label': 'Searched' });
    #rows = page.element('ol');
    #foot = page.element('div', { className: 'foot' });

    constructor(grid, panel, { choose, close }) {
      this.#grid = grid;
      this.#panel = panel;
      this.#choose = choose;
      const shut = page.element('button', {
        type: 'button', className: 'quiet icon', onclick: close, 'aria-label': 'Close', title: 'Close (Escape)',
      }, page.icon('M4 4l8 8M12 4l-8 8'));
      const head = page.element('div', { className: 'head' }, this.#heading, shut);
      panel.append(head, this.#note, this.#progress, this.#rows, this.#foot);
      this.#rows.addEventListener('keydown', event => this.#walk(event));
    }

    get isOpen() {
      return !this.#panel.hidden;
    }

    /** Opens the panel, empty. */
    open(heading) {
      this.#panel.hidden = false;
      this.#panel.setAttribute('aria-label', heading);
      this.#heading.textContent = heading;
      this.#rows.replaceChildren();
      this.#rows.scrollTop = 0;
      this.#foot.replaceChildren();
      this.say('');
    }

    close() {
      this.#panel.hidden = true;
      this.#rows.replaceChildren();
    }

    /** A line above the rows; `done` of `all` draws a bar until they are the same. */
    say(text, done = 0, all = 0) {
      this.#note.textContent = text;
      this.#note.hidden = !text;
      this.#progress.hidden = done >= all;
      this.#progress.max = all || 1;
      this.#progress.value = done;
    }

    title(heading) {
      this.#heading.textContent = heading;
    }

    /** What stands below the rows. */
    foot(...content) {
      this.#foot.replaceChildren(...content);
    }

    /** Adds rows: `{ index, name, second, words, bad }`. */
    add(rows) {
      this.#rows.append(...rows.map(row => this.#row(row)));
    }

    /** Puts the focus on the first row. */
    enter() {
      this.#rows.querySelector('button')?.focus();
    }

    /** Chooses the first row, which gets the focus; false if there is none yet. */
    chooseFirst() {
      const first = this.#rows.querySelector('button');
      first?.focus();
      first?.click();
      return Boolean(first);
    }

    /** Shows which row is selected. */
    select(index) {
      this.#rows.querySelector('[aria-current]')?.removeAttribute('aria-current');
      this.#rows.querySelector(`[data-cell="${index}"]`)?.setAttribute('aria-current', 'true');
    }

    #row({ index, name, second, words = [], bad = false }) {
      const lines = page.element('span', { className: 'lines' }, marked(name, words, 'name'));
      if (second) {
        lines.append(marked(second, words, bad ? 'second bad' : 'second'));
      }
      const button = page.element('button', {
        type: 'button', 'data-cell': index, title: page.text.visible(name), onclick: () => this.#choose(index),
      }, page.thumbnail(this.#grid, index, THUMBNAIL), lines);
      return page.element('li', {}, button);
    }

    #walk(event) {
      const item = event.target.closest('li');
      const next = { ArrowDown: item?.nextElementSibling, ArrowUp: item?.previousElementSibling }[event.key];
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        event.stopPropagation();
        next?.querySelector('button').focus();
      }
    }
  };

  /** A text in which the words that were searched for are marked. */
  const marked = (text, words, className) => {
    const made = page.element('bdi', { className, dir: 'ltr' });
    const lower = text.toLowerCase();
    // Lower case may be longer than the text; then places in one are not places in the other.
    const spots = lower.length === text.length ? spans(lower, words) : [];
    let at = 0;
    for (const [from, to] of spots) {
      made.append(page.text.visible(text.slice(at, from)));
      made.append(page.element('mark', {}, page.text.visible(text.slice(from, to))));
      at = to;
    }
    made.append(page.text.visible(text.slice(at)));
    return made;
  };

  /** Where words are found first, in order and without overlaps. */
  const spans = (text, words) => {
    const found = words.map(word => [text.indexOf(word), text.indexOf(word) + word.length]);
    const sorted = found.filter(([from]) => from >= 0).sort((one, other) => one[0] - other[0]);
    return sorted.filter(([from], at) => at === 0 || from >= Math.max(...sorted.slice(0, at).map(span => span[1])));
  };
})(window.outlivePage);
