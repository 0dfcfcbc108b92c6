/**
 * Tells, once for each run, why a kernel ended: as a notification beside JupyterLab's own dialog,
 * which is fixed and says only that the kernel died. Events bring the verdict at once; where one
 * may have been missed, the server is asked.
 */

import { find, reveal } from './cell.js';
import { openExplanation } from './explanation.js';
import { SCHEMA, guiltyCell, key, notificationText } from './verdict.js';

const KEPT = 'outlive:told';
const MOST_KEPT = 50;
const RAISED = 'outlive-notifies';
// The server writes the verdict down when it has looked at the end: a moment after the status.
const AFTER_AN_END_MS = [200, 1000, 3000];

export class Notifier {
  #app;
  #lab;
  #tracker;
  #server;
  /** @type {Set<string>} what this page told */
  #told = new Set();

  constructor(app, lab, tracker, server) {
    this.#app = app;
    this.#lab = lab;
    this.#tracker = tracker;
    this.#server = server;
  }

  /** Starts to listen. */
  start() {
    this.#app.serviceManager.events?.stream.connect((_, event) => {
      if (event.schema_id === SCHEMA) {
        this.#tell(event);
      }
    });
    this.#tracker?.forEach(panel => this.#follow(panel));
    this.#tracker?.widgetAdded.connect((_, panel) => this.#follow(panel));
  }

  /** Asks where an event can have been missed: a notebook was opened, or its kernel came back. */
  #follow(panel) {
    const context = panel.sessionContext;
    const ask = waits => this.#catchUp(context.session?.kernel?.id, waits);
    void context.ready.then(() => ask([0]));
    context.statusChanged.connect((_, status) => {
      if (['restarting', 'autorestarting', 'dead'].includes(status)) {
        void ask(AFTER_AN_END_MS);
      }
    });
    let wasLost = false;
    context.connectionStatusChanged.connect((_, status) => {
      if (status === 'connected' && wasLost) {
        void ask([0]);
      }
      wasLost = status !== 'connected';
    });
  }

  async #catchUp(kernel, waits) {
    for (const wait of waits) {
      await new Promise(resolve => setTimeout(resolve, wait));
      const message = kernel ? await this.#server.verdict(kernel) : null;
      if (message && !this.#told.has(key(message))) {
        // Another page, or this one before it was loaded anew, may have told it.
        if (!keptKeys().includes(key(message))) {
          this.#tell(message);
        }
        return;
      }
    }
  }

  #tell(message) {
    if (this.#told.has(key(message))) {
      return;
    }
    this.#told.add(key(message));
    keep(key(message));
    const { Notification } = this.#lab.apputils;
    const id = Notification.error(notificationText(message), {
      autoClose: false,
      actions: this.#actions(message)
    });
    raise(Notification.manager, id);
  }

  #actions(message) {
    const guilty = guiltyCell(message);
    const isFound = guilty && find(this.#tracker, message, guilty);
    const goToCell = isFound ? () => reveal(this.#app, this.#tracker, message, guilty) : null;
    const explain = {
      label: 'Explain',
      caption: 'Opens the whole explanation',
      displayType: 'accent',
      callback: () => openExplanation(this.#app, this.#lab, message, goToCell)
    };
    const show = { label: 'Go to the cell', caption: String(message.place), callback: goToCell };
    return goToCell ? [show, explain] : [explain];
  }
}

/** While it is shown, notifications lie above JupyterLab's dialog, which would dim them. */
function raise(manager, id) {
  document.body.classList.add(RAISED);
  const lower = (_, change) => {
    if (change.type === 'removed' && change.notification.id === id) {
      document.body.classList.remove(RAISED);
      manager.changed.disconnect(lower);
    }
  };
  manager.changed.connect(lower);
}

/** Runs that were told in this browser. Storage may be forbidden: then it is the page's memory. */
function keptKeys() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? '[]');
  } catch {
    return [];
  }
}

function keep(one) {
  try {
    const others = keptKeys().filter(kept => kept !== one);
    localStorage.setItem(KEPT, JSON.stringify([...others, one].slice(-MOST_KEPT)));
  } catch {
    // Then a later page tells it again.
  }
}
