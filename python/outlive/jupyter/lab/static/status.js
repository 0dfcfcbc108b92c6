/**
 * The item in the status bar: use and budget of the kernel in front. It opens the holders.
 */

import { Along } from './along.js';
import { sizeOf } from './amount.js';
import { element } from './element.js';
import { holdersContent, limitName, unguardedContent } from './holders.js';
import { CurrentKernel } from './kernel.js';
import { Poll } from './poll.js';

/** The schema of the events that carry figures; `pulse.py` registers the same. */
const SCHEMA = 'urn:outlive:status';
const HOLDERS_MS = 2000;
const OFF = 'Outlive does not guard this kernel. '
  + 'Run `outlive setup jupyter` and restart the kernel, or run `%load_ext outlive` in a cell';

export class StatusItem {
  #lab;
  #server;
  #events;
  #kernel;
  #poll;
  #label = element('button', { type: 'button', className: 'outlive-status-button' });
  #along = new Along(() => this.#draw());
  #widget;
  #shown;
  /** @type {import('./server.js').Status | null} */
  #status = null;
  /** @type {any} the popup while it is open */
  #popup = null;

  constructor(app, lab, tracker, server) {
    this.#lab = lab;
    this.#server = server;
    this.#events = app.serviceManager.events?.stream;
    this.#widget = new lab.widgets.Widget();
    this.#widget.addClass('outlive-status');
    this.#widget.node.append(this.#label);
    this.#label.onclick = () => this.#toggle();
    this.#label.setAttribute('aria-haspopup', 'dialog');
    this.#shown = new lab.signaling.Signal(this);
    this.#kernel = new CurrentKernel(app, tracker, () => this.#poll.wake());
    this.#poll = new Poll(() => this.#refresh(), () => this.#pace());
  }

  /** Puts the item into the bar and starts to ask. */
  start(bar) {
    bar.registerStatusItem('outlive:status', {
      item: this.#widget,
      align: 'left',
      rank: 3,
      isActive: () => this.#status !== null,
      activeStateChanged: this.#shown
    });
    this.#events?.connect((_, event) => {
      if (event.schema_id === SCHEMA && event.kernel_id === this.#kernel.id) {
        this.#poll.postpone();
        this.#show(event, true);
      }
    });
    this.#kernel.start();
  }

  #pace() {
    if (this.#server.isAbsent || this.#kernel.id === null) {
      return 'stopped';
    }
    return this.#kernel.isBusy ? 'busy' : 'idle';
  }

  async #refresh() {
    const kernel = this.#kernel.id;
    const answer = kernel ? await this.#server.status(kernel) : null;
    // What is on a page that nobody sees may stay; it is asked for when it is seen again.
    if (document.hidden || (kernel !== null && kernel !== this.#kernel.id)) {
      return;
    }
    this.#show(answer);
  }

  #show(answer, isPulse = false) {
    const wasShown = this.#status !== null;
    // A kernel that starts has no guard yet, and one that died none any more: that is not "off".
    const status = answer?.guarded || this.#kernel.isUp ? answer : null;
    const mayWait = isPulse && status?.short === this.#status?.short;
    this.#status = status;
    if (!status) {
      this.#popup?.dispose();
    } else if (!mayWait) {
      this.#along.now();
    } else if (this.#label.textContent !== labelText(status)) {
      this.#along.soon();
    }
    if (wasShown !== (status !== null)) {
      this.#shown.emit();
    }
  }

  #draw() {
    const status = this.#status;
    if (!status) {
      return;
    }
    const text = labelText(status);
    // Writing what is there already would make the browser lay the page out again.
    if (this.#label.textContent !== text) {
      this.#label.textContent = text;
      this.#widget.toggleClass('outlive-short', Boolean(status.guarded && status.short));
    }
    const limit = `Memory of this kernel, limit: ${limitName(status.source)}. Opens who holds it`;
    const title = status.guarded ? limit : OFF;
    if (this.#label.title !== title) {
      this.#label.title = title;
    }
  }

  #toggle() {
    if (this.#popup) {
      this.#popup.dispose();
      return;
    }
    const body = new this.#lab.widgets.Widget({ node: element('div', POPUP) });
    const popup = this.#lab.statusbar.showPopup({ body, anchor: this.#widget, align: 'left' });
    this.#popup = popup;
    this.#label.setAttribute('aria-expanded', 'true');
    const timer = setInterval(() => void this.#fill(popup, body), HOLDERS_MS);
    popup.disposed.connect(() => {
      clearInterval(timer);
      this.#popup = null;
      this.#label.setAttribute('aria-expanded', 'false');
      this.#label.focus();
    });
    if (this.#status.guarded) {
      body.node.replaceChildren(...holdersContent(this.#status, null));
    }
    void this.#fill(popup, body);
    body.node.focus();
  }

  async #fill(popup, body) {
    const holders = this.#status?.guarded ? await this.#server.holders(this.#kernel.id) : [];
    if (popup.isDisposed || !this.#status) {
      return;
    }
    const isGuarded = this.#status.guarded;
    const content = isGuarded ? holdersContent(this.#status, holders) : unguardedContent();
    body.node.replaceChildren(...content);
    // The popup stands on the status bar, so it is placed anew when its height changes.
    popup.update();
  }
}

const POPUP = {
  className: 'outlive-holders',
  role: 'dialog',
  'aria-label': 'Who holds the memory of this kernel',
  tabIndex: -1
};

function labelText(status) {
  if (!status.guarded || !(status.budget > 0)) {
    return 'Outlive off';
  }
  const figures = sizeOf(status.use, status.budget);
  return status.short ? `Outlive ${figures}, short` : `Outlive ${figures}`;
}
