/**
 * Asks again and again, as often as it is worth: while a cell runs more than once a second, else
 * rarely, and not at all while there is nothing to ask for.
 */

const BUSY_MS = 900;
const IDLE_MS = 5000;
// Cells of a few milliseconds, run one after the other, must not make a storm of questions.
const LEAST_MS = 300;

export class Poll {
  #ask;
  #pace;
  #timer = null;
  #asking = false;
  #last = -Infinity;

  /**
   * @param {() => Promise<void>} ask
   * @param {() => 'busy' | 'idle' | 'stopped'} pace
   */
  constructor(ask, pace) {
    this.#ask = ask;
    this.#pace = pace;
  }

  /** Something changed: ask as soon as may be. */
  wake() {
    if (!this.#asking) {
      this.#after(LEAST_MS);
    }
  }

  #after(interval) {
    clearTimeout(this.#timer);
    // Counted from question to question, so that a slow answer does not slow the pace.
    const wait = Math.max(0, this.#last + interval - performance.now());
    this.#timer = setTimeout(() => void this.#run(), wait);
  }

  async #run() {
    this.#asking = true;
    this.#last = performance.now();
    try {
      await this.#ask();
    } finally {
      this.#asking = false;
      const pace = this.#pace();
      if (pace !== 'stopped') {
        this.#after(pace === 'busy' ? BUSY_MS : IDLE_MS);
      }
    }
  }
}
