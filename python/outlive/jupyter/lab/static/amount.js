/**
 * Sizes as Outlive writes them everywhere: KiB, MiB or GiB with one decimal.
 */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/**
 * A size on its own, such as `1.2 GiB`.
 *
 * @param {number} bytes
 * @returns {string}
 */
export function size(bytes) {
  const power = powerOf(bytes);
  return `${inUnit(bytes, power)} ${UNITS[power]}`;
}

/**
 * A use beside its limit in the limit's unit, such as `1.2 / 8.0 GiB`.
 *
 * @param {number} use
 * @param {number} limit
 * @returns {string}
 */
export function sizeOf(use, limit) {
  const power = powerOf(limit);
  return `${inUnit(use, power)} / ${inUnit(limit, power)} ${UNITS[power]}`;
}

function powerOf(bytes) {
  // 1023.95 KiB would be written as 1024.0 KiB: it is the next unit's 1.0.
  const fits = UNITS.findIndex((_, power) => Math.abs(bytes) / 1024 ** (power + 1) < 1023.95);
  return fits < 0 ? UNITS.length - 1 : fits;
}

function inUnit(bytes, power) {
  return (bytes / 1024 ** (power + 1)).toFixed(1);
}
