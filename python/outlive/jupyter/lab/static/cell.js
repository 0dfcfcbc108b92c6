/**
 * Finds the notebook and the cell that a verdict speaks of, and shows them.
 */

/**
 * Moves to the guilty cell and selects its line.
 *
 * @param {any} app
 * @param {any} tracker of notebooks; null where there are none
 * @param {import('./verdict.js').Message} message
 * @param {import('./verdict.js').GuiltyCell} guilty
 * @returns {boolean} whether there is such a cell
 */
export function reveal(app, tracker, message, guilty) {
  const found = find(tracker, message, guilty);
  if (!found) {
    return false;
  }
  const { panel, index } = found;
  app.shell?.activateById?.(panel.id);
  panel.content.activeCellIndex = index;
  Promise.resolve(panel.content.scrollToItem?.(index, 'center'))
    .catch(() => undefined)
    .then(() => selectLine(panel.content.widgets[index], guilty.line - 1));
  return true;
}

/**
 * Where the guilty cell is.
 *
 * @returns {{panel: any, index: number} | null}
 */
export function find(tracker, message, guilty) {
  const panel = tracker?.find(one => hasKernel(one, message.kernel_id))
    ?? tracker?.find(one => isNotebook(one, message.notebook));
  const index = panel ? indexOf(panel.content.widgets, guilty) : -1;
  return index < 0 ? null : { panel, index };
}

function hasKernel(panel, id) {
  return panel.sessionContext?.session?.kernel?.id === id;
}

/** The server names a notebook by its whole path, the page by its path below the root. */
function isNotebook(panel, name) {
  const path = panel.context?.localPath ?? panel.context?.path;
  return Boolean(name && path) && (name === path || name.endsWith(`/${path}`));
}

/**
 * By identity; else by count and by what the line says. A cell that never finished has no count
 * on the page, and a count alone may be that of another cell after the kernel was restarted.
 */
function indexOf(cells, guilty) {
  const byId = cells.findIndex(cell => guilty.id && cell.model?.id === guilty.id);
  if (byId >= 0) {
    return byId;
  }
  const saysSo = cell => !guilty.text || lineOf(cell, guilty.line) === guilty.text;
  const counted = cells.findIndex(one => one.model?.executionCount === guilty.count && saysSo(one));
  return counted >= 0 || !guilty.text ? counted : cells.findIndex(saysSo);
}

function lineOf(cell, number) {
  const lines = (cell.model?.sharedModel?.getSource() ?? '').split('\n');
  return (lines[number - 1] ?? '').trim();
}

function selectLine(cell, line) {
  const editor = cell?.editor;
  if (!editor || !(line >= 0) || line >= editor.lineCount) {
    return;
  }
  const end = { line, column: editor.getLine(line)?.length ?? 0 };
  editor.setSelection({ start: { line, column: 0 }, end });
  editor.focus();
}
