/**
 * The kernel of the notebook that is in front, and when something about it changes.
 */

export class CurrentKernel {
  #app;
  #tracker;
  #changed;
  #followed = null;

  /**
   * @param {any} app
   * @param {any} tracker of notebooks
   * @param {() => void} changed called when another kernel is in front, or it got another status
   */
  constructor(app, tracker, changed) {
    this.#app = app;
    this.#tracker = tracker;
    this.#changed = changed;
  }

  /** Starts to follow. */
  start() {
    this.#tracker.currentChanged.connect(this.#follow, this);
    this.#app.shell?.currentChanged?.connect(this.#follow, this);
    document.addEventListener('visibilitychange', this.#changed);
    this.#follow();
  }

  /** @returns {string | null} null without one, and while nobody can see the page */
  get id() {
    const panel = this.#panel();
    return document.hidden ? null : panel?.sessionContext.session?.kernel?.id ?? null;
  }

  /** Whether a cell runs. */
  get isBusy() {
    return this.#status() === 'busy';
  }

  /** Whether it can run cells: it is not on its way up or down. */
  get isUp() {
    return ['idle', 'busy'].includes(this.#status());
  }

  #status() {
    return this.#panel()?.sessionContext.session?.kernel?.status;
  }

  #panel() {
    const panel = this.#tracker.currentWidget;
    // The tracker remembers the last notebook when a terminal, say, is in front.
    const front = this.#app.shell?.currentWidget;
    return front === undefined || front === panel ? panel : null;
  }

  #follow() {
    const context = this.#panel()?.sessionContext ?? null;
    if (context !== this.#followed) {
      for (const signal of signals(this.#followed)) {
        signal.disconnect(this.#changed);
      }
      for (const signal of signals(context)) {
        signal.connect(this.#changed);
      }
      this.#followed = context;
    }
    this.#changed();
  }
}

/** A notebook that is closed has none any more. */
function signals(context) {
  return context && !context.isDisposed ? [context.kernelChanged, context.statusChanged] : [];
}
