/**
 * The list of images that could not be read, with the reason of each. It is loaded when somebody
 * asks for it, and drawn in parts.
 */
'use strict';

(page => {
  const PART = 500;

  page.Broken = class {
    #list;
    #settle;

    constructor({ list, settle }) {
      this.#list = list;
      this.#settle = settle;
    }

    async open() {
      this.#list.open('Broken images');
      this.#settle();
      try {
        this.#show(await page.data.broken());
      } catch (error) {
        this.#list.say(`${error.message}: the list cannot be shown`);
      }
    }

    #show({ total, cells }) {
      const { count } = page.text;
      this.#list.title(`${count(total)} broken`);
      if (total > cells.length) {
        this.#list.say(`${count(total - cells.length)} more are not shown here: all are in broken.tsv`);
      }
      this.#part(cells, 0);
    }

    #part(cells, from) {
      const rows = cells.slice(from, from + PART);
      this.#list.add(rows.map(([index, name, problem]) => ({ index, name, second: problem, bad: true })));
      const left = cells.length - from - rows.length;
      const more = left > 0 && page.element('button', {
        type: 'button', className: 'quiet', onclick: () => this.#part(cells, from + PART),
      }, `Show ${page.text.count(Math.min(left, PART))} more`);
      const file = page.element('a', { href: 'broken.tsv' }, 'broken.tsv');
      const note = page.element('p', { className: 'note' }, 'The whole list as text: ', file);
      this.#list.foot(...(more ? [more, note] : [note]));
    }
  };
})(window.outlivePage);
