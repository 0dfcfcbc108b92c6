/**
 * What a search reads: the name and the caption of every cell. They never change, so those that were
 * read once are kept, up to a number of letters, and a search over them takes no longer than a key
 * takes to come up. What is beyond that is read again by every search.
 */
'use strict';

(page => {
  /** Half a million names of 64 letters. */
  const MOST_LETTERS = 32 * 1024 * 1024;
  /** Chunks asked for before the one in hand is read: the way to a server takes time. */
  const AHEAD = 6;

  page.Names = class {
    #grid;
    #most;
    #letters = 0;
    #kept = new Map();
    /** Chunks that were asked for ahead and not taken yet. */
    #asked = new Map();
    #isPreparing = false;

    constructor(grid, most = MOST_LETTERS) {
      this.#grid = grid;
      this.#most = most;
    }

    get chunks() {
      return page.data.chunkCount(this.#grid);
    }

    /** The cells of a chunk, if they are at hand: `{ name, caption, text }`, `text` in lower case. */
    atHand(number) {
      return this.#kept.get(number);
    }

    /** The same once they were read; null if they cannot be. The next ones are asked for as well. */
    read(number) {
      const end = Math.min(number + AHEAD, this.chunks);
      for (let next = number; next < end; next += 1) {
        this.#ask(next);
      }
      const cells = this.#asked.get(number) ?? this.atHand(number);
      this.#asked.delete(number);
      return cells;
    }

    /** What was asked for ahead is not wanted any more. */
    forget() {
      this.#asked.clear();
    }

    /** Reads all names that there is room for, before anybody has typed a word. */
    async prepare() {
      if (this.#isPreparing) {
        return;
      }
      this.#isPreparing = true;
      for (let number = 0; number < this.chunks && this.#letters < this.#most; number += 1) {
        if (!this.atHand(number)) {
          await this.read(number);
        }
      }
      this.#isPreparing = false;
    }

    #ask(number) {
      if (this.#kept.has(number) || this.#asked.has(number)) {
        return;
      }
      const rows = page.data.chunk(this.#grid, number, { scan: true });
      this.#asked.set(number, rows.then(found => this.#keep(number, found), () => null));
    }

    #keep(number, rows) {
      const cells = rows.map(row => ({
        name: row[0],
        caption: row[4],
        text: `${row[0]}\n${row[4] ?? ''}`.toLowerCase(),
      }));
      const letters = cells.reduce((sum, cell) => sum + cell.text.length, 0);
      if (this.#letters + letters <= this.#most) {
        this.#letters += this.#kept.has(number) ? 0 : letters;
        this.#kept.set(number, cells);
        this.#asked.delete(number);
      }
      return cells;
    }
  };
})(window.outlivePage);
