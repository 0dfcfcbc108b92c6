/**
 * Asks again and again, as often as it is worth: while a cell runs more than once a second, else
 * rarely, and not at all while there is nothing to ask for. Where answers come by themselves, it
 * asks only to let the server know that somebody looks.
 */

const BUSY_MS = 900;
const IDLE_MS = 5000;
// Cells of a few milliseconds, run one after the other, must not make a storm of questions.
const LEAST_MS = 300;
// Answers that come by themselves are waited for so long; and the server sends them for half a
// minute after a question.
const SILENCE_MS = 2000;
const INTEREST_MS = 20000;

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

  /** An answer came by itself. */
  postpone() {
    if (!this.#asking && performance.now() < this.#last + INTEREST_MS) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#run(), SILENCE_MS);
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
