/**
 * A grid that is still being made: asks the server each second how far it is, and has the tiles
 * asked for again when they became better.
 */
'use strict';

(page => {
  const PACE_MS = 1000;
  /** When nothing changed for a while, or nobody looks, there is no hurry. */
  const SLOW_MS = 5000;
  const UNCHANGED = 30;
  const FAILURES = 3;

  page.Live = class {
    #places;
    #renewed;
    #finished;
    #asked = 0;
    #unchanged = 0;
    #failures = 0;
    #last = '';

    /** @param renewed called when tiles became better; `finished` once all is known */
    constructor(places, { renewed, finished }) {
      this.#places = places;
      this.#renewed = renewed;
      this.#finished = finished;
    }

    start() {
      this.#ask();
    }

    async #ask() {
      this.#asked += 1;
      try {
        this.#take(await page.data.progress(this.#asked));
        this.#failures = 0;
      } catch {
        this.#failures += 1;
        if (this.#failures >= FAILURES) {
          this.#places.live.hidden = false;
          this.#places.liveKnown.hidden = true;
          this.#places.liveText.textContent = 'The server does not answer: run the same command again to go on';
        }
      }
      const slow = document.hidden || this.#unchanged >= UNCHANGED || this.#failures >= FAILURES;
      setTimeout(() => this.#ask(), slow ? SLOW_MS : PACE_MS);
    }

    #take({ known, cells, generation }) {
      const { count } = page.text;
      this.#places.live.hidden = known >= cells;
      this.#places.liveText.textContent = `Known ${count(known)} of ${count(cells)}`;
      this.#places.liveKnown.hidden = false;
      this.#places.liveKnown.max = cells || 1;
      this.#places.liveKnown.value = known;
      const news = `${known} ${generation}`;
      this.#unchanged = news === this.#last ? this.#unchanged + 1 : 0;
      const done = known >= cells && this.#last !== news;
      this.#last = news;
      if (generation !== page.data.generation) {
        page.data.renew(generation);
        this.#renewed();
      }
      if (done) {
        this.#finished();
      }
    }
  };
})(window.outlivePage);
