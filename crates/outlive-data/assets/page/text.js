/**
 * Text for people, and the elements that hold it. What comes from files goes in as text only, and
 * signs that a person would not see, or that would reorder the line, are made visible.
 */
'use strict';

window.outlivePage = {};

(page => {
  const numbers = new Intl.NumberFormat('en');
  const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];
  // Controls, marks of direction, signs of no width, line separators, halves of pairs.
  const UNSEEN = new RegExp(
    '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e'
    + '\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]|\\p{Surrogate}', 'gu');

  // By number: few fonts have pictures of controls.
  const shownSign = sign => `[U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`;

  page.text = {
    /** A count with separators: `20,000`. */
    count: value => numbers.format(value),

    /** `1 image`, `20,000 images`. */
    some: (value, noun) => `${numbers.format(value)} ${value === 1 ? noun : noun + 's'}`,

    /** A text in which every sign can be seen. */
    visible: text => String(text).replace(UNSEEN, shownSign),

    /** Bytes in units. */
    size(bytes) {
      if (!(bytes >= 1024)) {
        return page.text.some(bytes || 0, 'byte');
      }
      let value = bytes / 1024;
      let unit = 0;
      while (value >= 1023.95 && unit < UNITS.length - 1) {
        value /= 1024;
        unit += 1;
      }
      return `${value.toFixed(1)} ${UNITS[unit]}`;
    },
  };

  /**
   * An element with properties, attributes and content.
   *
   * @param {string} tag
   * @param {Object<string, any>} settings DOM properties; names with a dash, and `role`, are attributes
   * @param {...(Node | string | null)} content strings become text nodes, null is left out
   */
  page.element = (tag, settings = {}, ...content) => {
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
  };

  /** A name from a file, kept apart from the direction of the text around it. */
  page.name = (text, className = 'name') =>
    page.element('bdi', { className, dir: 'ltr' }, page.text.visible(text));

  /** An icon of one path, in a field of 16 by 16. */
  page.icon = path => {
    const space = 'http://www.w3.org/2000/svg';
    const icon = document.createElementNS(space, 'svg');
    icon.setAttribute('viewBox', '0 0 16 16');
    icon.setAttribute('aria-hidden', 'true');
    const line = document.createElementNS(space, 'path');
    line.setAttribute('d', path);
    icon.append(line);
    return icon;
  };
})(window.outlivePage);
