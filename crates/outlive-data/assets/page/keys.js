/**
 * Keys of the page, and the dialog that names them.
 */
'use strict';

(page => {
  const NAMED = [
    ['Arrow keys', 'Select a cell'],
    ['Page Up, Page Down', 'Ten rows up or down'],
    ['Home, End', 'First or last cell'],
    ['Enter', 'Show the selected cell, or the first match'],
    ['Escape', 'Close what is open'],
    ['/', 'Search'],
    ['n, N', 'Next or previous match'],
    ['+, -', 'Zoom in or out'],
    ['0', 'Whole sheet'],
    ['f', 'Full screen'],
    ['?', 'These keys'],
  ];

  /** Fills the dialog. */
  page.fillKeys = dialog => {
    const rows = NAMED.flatMap(([keys, meaning]) => [
      page.element('dt', {}, ...keys.split(', ').flatMap((key, at) =>
        [...(at ? [' '] : []), page.element('kbd', {}, key)])),
      page.element('dd', {}, meaning),
    ]);
    const close = page.element('button', { type: 'button', className: 'button', onclick: () => dialog.close() }, 'Close');
    dialog.append(page.element('h2', {}, 'Keys'), page.element('dl', {}, ...rows), close);
    dialog.addEventListener('click', event => {
      if (event.target === dialog) {
        dialog.close();
      }
    });
  };

  /** @param actions what keys do; each is a function, `move` takes columns and rows */
  page.listenToKeys = (dialog, actions) => {
    const moves = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
      PageUp: [0, -10], PageDown: [0, 10],
    };
    const plain = {
      '/': actions.search, '?': actions.help, '+': actions.zoomIn, '=': actions.zoomIn,
      '-': actions.zoomOut, 0: actions.home, f: actions.fullScreen, n: () => actions.match(1),
      N: () => actions.match(-1), Home: actions.first, End: actions.last,
    };
    // OpenSeadragon takes the focus at every click; only who uses keys needs to see where it is.
    const { classList } = document.documentElement;
    document.addEventListener('pointerdown', () => classList.add('pointed'), true);
    document.addEventListener('keydown', () => classList.remove('pointed'), true);
    document.addEventListener('keydown', event => {
      const typing = event.target.matches('input, textarea, select');
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || dialog.open) {
        return;
      }
      let action = null;
      if (event.key === 'Escape') {
        action = actions.escape;
      } else if (!typing && moves[event.key]) {
        action = () => actions.move(...moves[event.key]);
      } else if (!typing) {
        // A button that has the focus is pressed by Enter.
        const pressed = event.key === 'Enter' && !event.target.matches('button, a');
        action = pressed ? actions.open : plain[event.key];
      }
      if (action) {
        event.preventDefault();
        action();
      }
    });
  };
})(window.outlivePage);
