/**
 * Makes elements of the page. Text goes in as text only: what a notebook, a file name or an
 * exception says can never become markup, since nothing here reads markup.
 */

/**
 * An element with properties, attributes and content.
 *
 * @param {string} tag
 * @param {Object<string, any>} settings DOM properties; names with a dash, and `role`, are attributes
 * @param {...(Node | string | null)} content strings become text nodes, null is left out
 * @returns {HTMLElement}
 */
export function element(tag, settings = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name === 'role' || name.includes('-')) {
      made.setAttribute(name, String(value));
    } else {
      made[name] = value;
    }
  }
  made.append(...content.filter(part => part !== null));
  return made;
}

/**
 * A button in JupyterLab's look.
 *
 * @param {string} label
 * @param {() => void} action
 * @returns {HTMLElement}
 */
export function button(label, action) {
  const look = 'jp-Dialog-button jp-mod-styled outlive-button';
  return element('button', { type: 'button', className: look, onclick: action }, label);
}
