/**
 * The panel with the whole explanation of an ending: a headline, where it was, and the text of
 * `outlive why` as it is. In Notebook 7, whose page has room for one document, it is a dialog.
 */

import { button, element } from './element.js';
import { whereText } from './verdict.js';

/**
 * Opens the explanation.
 *
 * @param {any} app
 * @param {import('./shared.js').Lab} lab
 * @param {import('./verdict.js').Message} message
 * @param {(() => void) | null} goToCell null when the cell is not known
 */
export function openExplanation(app, lab, message, goToCell) {
  const content = new lab.widgets.Widget({ node: page(message, goToCell) });
  if (!canAddPanels(app)) {
    const buttons = [lab.apputils.Dialog.okButton({ label: 'Close' })];
    void lab.apputils.showDialog({ title: 'Outlive', body: content, buttons });
    return;
  }
  const panel = new lab.apputils.MainAreaWidget({ content });
  panel.id = `outlive-explanation-${crypto.randomUUID?.() ?? Date.now()}`;
  panel.title.label = 'Why the kernel ended';
  panel.title.caption = String(message.headline);
  panel.title.closable = true;
  app.shell.add(panel, 'main', { mode: 'tab-after' });
  app.shell.activateById(panel.id);
}

/** JupyterLab's shell has a place for several documents; it is told by its ways to arrange them. */
function canAddPanels(app) {
  return typeof app.shell?.add === 'function' && 'mode' in app.shell;
}

function page(message, goToCell) {
  const text = element('pre', { className: 'outlive-text', tabIndex: 0 }, String(message.text));
  text.setAttribute('aria-label', 'Explanation');
  return element(
    'article',
    { className: 'outlive-explanation', 'aria-label': 'Why the kernel ended' },
    element('h1', {}, String(message.headline)),
    element('p', { className: 'outlive-where' }, subtitle(message)),
    element(
      'div',
      { className: 'outlive-buttons' },
      goToCell ? button('Go to the cell', goToCell) : null,
      copyButton(String(message.text))
    ),
    text
  );
}

/** The place, and below it which notebook, when and which run. */
function subtitle(message) {
  const time = new Date(message.time);
  const said = Number.isNaN(time.getTime()) ? null : time.toLocaleString();
  const facts = [message.notebook?.split('/').pop(), said, message.run].filter(Boolean).join(' · ');
  return [whereText(message), facts].filter(Boolean).join('\n');
}

function copyButton(text) {
  const made = button('Copy', async () => {
    made.textContent = (await copied(text)) ? 'Copied' : 'Copying is not allowed here';
    setTimeout(() => (made.textContent = 'Copy'), 2000);
  });
  made.setAttribute('aria-live', 'polite');
  return made;
}

/** Pages of a server without encryption have no clipboard; there a selection is copied. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = element('textarea', { value: text, className: 'outlive-copied' });
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  }
}
