/**
 * Reads the data of a grid. All of it is in scripts that call a function of ours, since a page that
 * was opened from a file may not fetch. Only a few chunks of cells are kept: a million cells have a
 * thousand.
 */
'use strict';

(page => {
  const KEPT_CHUNKS = 8;
  /** Who waits for a call, by name; every call that nobody waits for is ignored. */
  const waiting = new Map();
  let generation = 0;

  const take = (key, value) => {
    waiting.get(key)?.(value);
  };
  window.outliveGrid = value => take('grid', value);
  window.outliveCells = (number, rows) => take(`cells ${number}`, rows);
  window.outliveBroken = value => take('broken', value);
  window.outliveProgress = value => take('progress', value);

  /** Loads a script and gives what it called its function with. */
  const load = (key, address) => new Promise((resolve, reject) => {
    let taken;
    const script = document.createElement('script');
    const done = () => {
      waiting.delete(key);
      script.remove();
      if (taken === undefined) {
        reject(new Error(`${address} is missing or cannot be read`));
      } else {
        resolve(taken);
      }
    };
    waiting.set(key, value => {
      taken = value;
    });
    script.onload = done;
    script.onerror = done;
    script.src = address;
    document.head.append(script);
  });

  /** An address that says which generation of a live grid is meant. */
  const current = address => (generation ? `${address}?g=${generation}` : address);

  /** Chunks by number, the one used last at the end; what is being loaded is there already. */
  const chunks = new Map();

  const fetchChunk = number => {
    const key = `cells ${number}`;
    // Two callbacks for one chunk would be one too many: the first load serves both.
    const running = loading.get(key);
    if (running) {
      return running;
    }
    const started = load(key, current(`cells/${number}.js`)).finally(() => loading.delete(key));
    loading.set(key, started);
    return started;
  };
  const loading = new Map();

  const keep = (number, rows) => {
    chunks.delete(number);
    chunks.set(number, rows);
    while (chunks.size > KEPT_CHUNKS) {
      chunks.delete(chunks.keys().next().value);
    }
  };

  page.data = {
    grid: () => load('grid', 'grid.js'),
    gridAgain: () => load('grid', current('grid.js')),
    broken: () => load('broken', current('broken.js')),
    progress: number => load('progress', `progress.js?n=${number}`),

    get generation() {
      return generation;
    },

    /** From now on the data of this generation is meant. */
    renew(value) {
      generation = value;
      chunks.clear();
    },

    current,

    /** How many chunks a grid has. */
    chunkCount: grid => Math.ceil(grid.cells / grid.chunk),

    /** The rows of a chunk. A scan over all of them leaves what is kept alone. */
    async chunk(grid, number, { scan = false } = {}) {
      const kept = chunks.get(number);
      if (kept) {
        if (!scan) {
          keep(number, kept);
        }
        return kept;
      }
      const asked = generation;
      const rows = await fetchChunk(number);
      const fits = page.data.chunkCount(grid) <= KEPT_CHUNKS;
      if (asked === generation && (fits || !scan)) {
        keep(number, rows);
      }
      return rows;
    },

    /** A row as an object. */
    record: (row, index) => ({
      index,
      name: row[0],
      bytes: row[1],
      width: row[2],
      height: row[3],
      caption: row[4],
      problem: row[5],
      link: row[6],
    }),

    /** One cell. */
    async cell(grid, index) {
      const number = Math.floor(index / grid.chunk);
      const rows = await page.data.chunk(grid, number);
      const row = rows[index - number * grid.chunk];
      if (!row) {
        throw new Error(`cells/${number}.js has no cell ${index}`);
      }
      return page.data.record(row, index);
    },

    /** One cell, if it is at hand without loading anything. */
    cellAtHand(grid, index) {
      const number = Math.floor(index / grid.chunk);
      const row = chunks.get(number)?.[index - number * grid.chunk];
      return row ? page.data.record(row, index) : null;
    },
  };
})(window.outlivePage);
