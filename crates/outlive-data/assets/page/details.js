/**
 * The panel about one cell: the full image, its name, size, caption and problem. The cell's own
 * small picture stands in until the full image is there, and stays when it cannot be shown.
 */
'use strict';

(page => {
  const UNSHOWN = 'The full image cannot be shown: it was moved, or browsers do not show its format';
  const SAID_MS = 1600;
  const SIDE = 328;

  /** The address of a full image, if it is of the place that this page came from. */
  const fullAddress = link => {
    if (!link) {
      return null;
    }
    try {
      const address = new URL(link, location.href);
      const ours = address.protocol === location.protocol && address.host === location.host;
      return ours ? address.href : null;
    } catch {
      return null;
    }
  };

  const copy = async text => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without the newer way: a page from a server that is not this machine.
      const field = page.element('textarea', { value: text, className: 'unseen' });
      document.body.append(field);
      field.select();
      const done = document.execCommand('copy');
      field.remove();
      if (!done) {
        throw new Error('not copied');
      }
    }
  };

  page.Details = class {
    #grid;
    #panel;
    #close;
    #step;
    /** Which cell is meant; an older load sees that it is not wanted any more. */
    #index = -1;
    #known = false;

    /** @param step shows the cell that is so many further */
    constructor(grid, panel, { close, step }) {
      this.#grid = grid;
      this.#panel = panel;
      this.#close = close;
      this.#step = step;
    }

    get isOpen() {
      return !this.#panel.hidden;
    }

    async open(index) {
      this.#index = index;
      this.#panel.hidden = false;
      const picture = this.#picture(index);
      this.#panel.replaceChildren(this.#head(index), picture, page.element('p', { className: 'note' }, 'Loading'));
      this.#panel.scrollTop = 0;
      try {
        const cell = await page.data.cell(this.#grid, index);
        if (this.#index === index && this.isOpen) {
          this.#fill(cell, picture);
        }
      } catch (error) {
        if (this.#index === index) {
          this.#panel.lastChild.textContent = `${error.message}: nothing is known about this cell`;
        }
      }
    }

    /** Looks again at a cell of which little was known. */
    renew() {
      if (this.isOpen && !this.#known) {
        this.open(this.#index);
      }
    }

    close() {
      this.#index = -1;
      this.#panel.hidden = true;
      this.#panel.replaceChildren();
    }

    #head(index) {
      const button = (label, key, path, action, disabled = false) => page.element('button', {
        type: 'button', className: 'quiet icon', onclick: action, 'aria-label': label, title: `${label} (${key})`, disabled,
      }, page.icon(path));
      return page.element('div', { className: 'head' },
        page.element('h2', {}, `Cell ${page.text.count(index)}`),
        button('Previous', 'left', 'M10 3 5 8l5 5', () => this.#step(-1), index === 0),
        button('Next', 'right', 'm6 3 5 5-5 5', () => this.#step(1), index === this.#grid.cells - 1),
        button('Close', 'Escape', 'M4 4l8 8M12 4l-8 8', this.#close));
    }

    #picture(index) {
      const frame = page.element('div', { className: 'picture' });
      frame.append(page.thumbnail(this.#grid, index, SIDE));
      return frame;
    }

    #fill(cell, picture) {
      this.#known = Boolean(cell.width || cell.problem);
      const address = fullAddress(cell.link);
      const message = page.element('p', { className: 'note', role: 'status', hidden: true }, UNSHOWN);
      if (address && !cell.problem) {
        this.#load(address, picture, message, cell);
      }
      const problem = cell.problem
        ? page.element('p', { className: 'problem' }, page.icon('M8 2 15 14H1zM8 6.5v3.5M8 12v.2'), page.name(cell.problem, ''))
        : null;
      const caption = cell.caption ? page.element('p', { className: 'caption' }, page.name(cell.caption, '')) : null;
      this.#panel.lastChild.remove();
      this.#panel.append(
        message,
        ...[problem].filter(Boolean),
        page.element('h3', {}, page.name(cell.name)),
        ...[caption].filter(Boolean),
        this.#facts(cell),
        this.#actions(cell, address));
    }

    #load(address, picture, message, cell) {
      const image = page.element('img', { alt: page.text.visible(cell.name), loading: 'lazy', decoding: 'async' });
      image.onload = () => {
        // Square pixels for what is smaller than its place.
        image.classList.toggle('small', image.naturalWidth < SIDE / 2 && image.naturalHeight < SIDE / 2);
        picture.replaceChildren(image);
      };
      image.onerror = () => {
        image.remove();
        message.hidden = false;
      };
      image.className = 'coming';
      image.src = address;
      picture.append(image);
    }

    #facts(cell) {
      const column = (cell.index % this.#grid.columns) + 1;
      const row = Math.floor(cell.index / this.#grid.columns) + 1;
      const { count } = page.text;
      const dimensions = cell.width && cell.height ? `${count(cell.width)} × ${count(cell.height)} pixels` : 'not known';
      const facts = [
        ['Dimensions', dimensions],
        ...this.#size(cell),
        ['Position', `row ${count(row)}, column ${count(column)}`],
      ];
      return page.element('dl', {}, ...facts.flatMap(([term, value]) =>
        [page.element('dt', {}, term), page.element('dd', {}, value)]));
    }

    /** What never was in a file has no size, unless that is the problem with it. */
    #size(cell) {
      if (cell.bytes > 0 || cell.problem) {
        return [['File size', page.text.size(cell.bytes)]];
      }
      return this.#grid.live ? [['File size', 'not known']] : [];
    }

    #actions(cell, address) {
      const open = address && page.element('a', {
        className: 'button', href: address, target: '_blank', rel: 'noopener noreferrer',
      }, 'Open file');
      const label = 'Copy path';
      const button = page.element('button', { type: 'button', className: 'button' }, label);
      button.onclick = async () => {
        try {
          await copy(cell.name);
          button.textContent = 'Copied';
        } catch {
          button.textContent = 'Not copied';
        }
        setTimeout(() => {
          button.textContent = label;
        }, SAID_MS);
      };
      return page.element('div', { className: 'actions' }, ...[open, button].filter(Boolean));
    }
  };
})(window.outlivePage);
