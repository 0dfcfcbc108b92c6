/**
 * The plugins that JupyterLab gets from us. Each asks only for what it cannot do without, so that
 * Notebook 7, which has fewer parts, gets what it has room for.
 */

import { Notifier } from './notifier.js';
import { Server } from './server.js';
import { labModules } from './shared.js';
import { StatusItem } from './status.js';

/**
 * @param {import('./shared.js').Scope} scope JupyterLab's shared modules
 * @returns {Promise<object[]>} the plugins
 */
export async function plugins(scope) {
  const lab = await labModules(scope);
  let server = null;
  // One for both: what it learned about the server need not be learned twice.
  const serverOf = app => (server ??= new Server(lab, app.serviceManager.serverSettings));
  return [verdicts(lab, serverOf), status(lab, serverOf)];
}

function verdicts(lab, serverOf) {
  return {
    id: 'outlive:verdicts',
    description: 'Says why a kernel ended.',
    autoStart: true,
    optional: tokens(lab.notebook?.INotebookTracker),
    activate(app, tracker) {
      new Notifier(app, lab, tracker ?? null, serverOf(app)).start();
    }
  };
}

function status(lab, serverOf) {
  return {
    id: 'outlive:status',
    description: 'Shows the memory of the current kernel in the status bar.',
    autoStart: true,
    optional: tokens(lab.notebook?.INotebookTracker, lab.statusbar?.IStatusBar),
    activate(app, tracker, bar) {
      if (tracker && bar) {
        new StatusItem(app, lab, tracker, serverOf(app)).start(bar);
      }
    }
  };
}

/** The order of the tokens is the order of the arguments, so one that is missing ends the list. */
function tokens(...wanted) {
  const missing = wanted.findIndex(token => !token);
  return missing < 0 ? wanted : wanted.slice(0, missing);
}
