/**
 * Search in names and captions: all words must occur, in any case. It goes through the chunks one
 * after the other, and shows matches as they come. Typing again ends it.
 */
'use strict';

(page => {
  const MOST_SHOWN = 500;
  const PAUSE_MS = 80;
  /** After this long the page is drawn, and listens to keys. */
  const SLICE_MS = 24;

  /** Lets the page draw and take keys. */
  const breath = () => new Promise(resolve => {
    setTimeout(resolve);
  });

  page.Search = class {
    #grid;
    #list;
    #marks;
    #settle;
    #names;
    #timer = 0;
    /** Raised by every new search; an older one sees it and ends. */
    #turn = 0;
    /** What was searched for last, and whether its first match is to be shown. */
    #query = '';
    #isFirstWanted = false;

    /** @param settle called when the panel opened or closed */
    constructor(grid, { list, marks, settle }) {
      this.#grid = grid;
      this.#list = list;
      this.#marks = marks;
      this.#settle = settle;
      this.#names = new page.Names(grid);
    }

    /** Somebody is about to type. */
    prepare() {
      this.#names.prepare();
    }

    /** Searches once the person stops typing. */
    later(query) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.now(query), PAUSE_MS);
    }

    /** Shows the first match, now or as soon as there is one. */
    first(query) {
      if (query !== this.#query) {
        this.now(query);
      }
      this.#isFirstWanted = !this.#list.chooseFirst();
    }

    /** Ends a search; the panel is closed by who called. */
    stop() {
      clearTimeout(this.#timer);
      this.#names.forget();
      this.#turn += 1;
      this.#query = '';
      this.#isFirstWanted = false;
      this.#marks.end();
    }

    async now(query) {
      this.stop();
      const words = query.toLowerCase().split(/\s+/u).filter(word => word);
      if (!words.length) {
        this.#list.close();
        this.#settle();
        return;
      }
      this.#query = query;
      this.#list.open('Searching');
      this.#marks.begin();
      this.#settle();
      await this.#scan(words, this.#turn);
    }

    async #scan(words, turn) {
      const { chunks } = this.#names;
      const tally = { matches: 0, shown: 0, lost: 0 };
      let since = performance.now();
      for (let number = 0; number < chunks; number += 1) {
        let cells = this.#names.atHand(number);
        if (!cells || performance.now() - since > SLICE_MS) {
          this.#say(tally, number, chunks);
          cells = await (cells ? breath().then(() => cells) : this.#names.read(number));
          if (turn !== this.#turn) {
            return;
          }
          since = performance.now();
        }
        this.#take(cells, number, words, tally);
      }
      this.#say(tally, chunks, chunks);
      this.#isFirstWanted = false;
    }

    /** Takes the matches out of a chunk. */
    #take(cells, number, words, tally) {
      if (!cells) {
        tally.lost += 1;
        return;
      }
      const first = number * this.#grid.chunk;
      const found = [];
      const shown = [];
      cells.forEach(({ name, caption, text }, at) => {
        if (words.every(word => text.includes(word))) {
          found.push(first + at);
          if (tally.shown < MOST_SHOWN) {
            tally.shown += 1;
            shown.push({ index: first + at, name, second: caption, words });
          }
        }
      });
      tally.matches += found.length;
      this.#marks.add(found);
      this.#list.add(shown);
      if (this.#isFirstWanted && shown.length) {
        this.#isFirstWanted = !this.#list.chooseFirst();
      }
    }

    #say({ matches, shown, lost }, done, chunks) {
      const { count, some } = page.text;
      if (!done) {
        return;
      }
      const found = matches === 1 ? '1 match' : `${count(matches)} matches`;
      const read = Math.min(this.#grid.cells, done * this.#grid.chunk);
      const parts = [];
      if (done < chunks) {
        parts.push(`searched ${count(read)} of ${count(this.#grid.cells)}`);
      }
      if (matches > shown) {
        parts.push(`the first ${count(shown)} are listed`);
      }
      if (lost) {
        parts.push(`${some(lost, 'part')} of the names could not be read`);
      }
      const text = parts.join(', ');
      this.#list.title(matches || done < chunks ? found : 'No match');
      this.#list.say(text.charAt(0).toUpperCase() + text.slice(1), done, chunks);
    }
  };
})(window.outlivePage);
