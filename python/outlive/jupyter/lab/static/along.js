/**
 * Draws along with the page. A frame of its own costs several times what is drawn in it, and while a
 * cell runs JupyterLab draws one each second anyway, for the time that has passed.
 */

/** How long a page that does not change is waited for. */
const PATIENCE_MS = 900;
const CHANGES = { subtree: true, childList: true, characterData: true };

export class Along {
  #draw;
  #observer = new MutationObserver(() => this.now());
  #timer = null;

  /** @param {() => void} draw what is to be done in a frame */
  constructor(draw) {
    this.#draw = draw;
  }

  /** Draws when the page next changes, or after a while. */
  soon() {
    if (this.#timer === null) {
      this.#timer = setTimeout(() => this.now(), PATIENCE_MS);
      this.#observer.observe(document.body, CHANGES);
    }
  }

  /** Draws now. */
  now() {
    clearTimeout(this.#timer);
    this.#timer = null;
    // First of all: what is drawn is a change too.
    this.#observer.disconnect();
    this.#draw();
  }
}
