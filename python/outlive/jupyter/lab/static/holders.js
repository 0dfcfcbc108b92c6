/**
 * What opens above the status bar: use and budget as a bar, and who holds the memory.
 */

import { size, sizeOf } from './amount.js';
import { element } from './element.js';

/**
 * The content of the popup.
 *
 * @param {import('./server.js').Status} status
 * @param {import('./server.js').Holder[] | null} holders null while they are not known yet
 * @returns {HTMLElement[]}
 */
export function holdersContent(status, holders) {
  return [
    element('h2', {}, 'Memory of this kernel'),
    bar(status),
    element('p', {}, figures(status)),
    status.short ? element('p', { className: 'outlive-warning' }, WARNING) : null,
    element('h3', {}, 'Who holds it'),
    holders === null ? element('p', {}, 'Asking …') : list(holders)
  ].filter(part => part !== null);
}

const WARNING = 'Headroom is short. A large request will be refused; the kernel goes on.';

/** What the popup says of a kernel that has no guard. */
export function unguardedContent() {
  const advice = 'Run `outlive setup jupyter` in the server\'s environment and restart the kernel, '
    + 'or run `%load_ext outlive` in a cell.';
  return [
    element('h2', {}, 'Outlive does not guard this kernel'),
    element('p', {}, 'When memory runs out, this kernel is killed.'),
    element('p', {}, advice)
  ];
}

function bar(status) {
  const share = Math.min(100, Math.max(0, (100 * status.use) / status.budget));
  const filled = element('div', { className: 'outlive-bar-filled' });
  filled.style.width = `${share}%`;
  return element(
    'div',
    {
      className: status.short ? 'outlive-bar outlive-short' : 'outlive-bar',
      role: 'meter',
      'aria-label': 'Memory in use',
      'aria-valuemin': 0,
      'aria-valuemax': 100,
      'aria-valuenow': Math.round(share),
      'aria-valuetext': sizeOf(status.use, status.budget)
    },
    filled
  );
}

function figures(status) {
  return [
    `${sizeOf(status.use, status.budget)} in use`,
    `${size(status.headroom)} left`,
    status.peak ? `peak ${size(status.peak)}` : null,
    status.source ? `limit: ${limitName(status.source)}` : null
  ].filter(Boolean).join(' · ');
}

/**
 * Where a limit comes from. The server gives kernels theirs as an option that people do not see.
 *
 * @param {string} source
 * @returns {string}
 */
export function limitName(source) {
  return source === '--limit' ? 'the one set for kernels' : source;
}

function list(holders) {
  if (holders.length === 0) {
    return element('p', {}, 'No line of code holds 1 MiB or more.');
  }
  const rows = holders.map(holder =>
    element(
      'tr',
      {},
      element('td', { className: 'outlive-amount' }, size(Number(holder.bytes))),
      element(
        'td',
        {},
        element('div', {}, String(holder.place ?? 'not known')),
        holder.text ? element('code', {}, String(holder.text).trim()) : null
      )
    )
  );
  return element('table', { 'aria-label': 'Holders of memory' }, element('tbody', {}, ...rows));
}
