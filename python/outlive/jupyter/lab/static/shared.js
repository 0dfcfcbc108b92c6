/**
 * JupyterLab's own modules, taken from the scope in which it shares them. Taking them there and
 * not bringing our own is what makes our tokens and widgets the same as JupyterLab's.
 */

/**
 * @typedef {{get: () => Promise<() => any>, loaded?: number | boolean}} Offer
 * @typedef {Object<string, Object<string, Offer>>} Scope by module, then by version
 * @typedef {Object<string, any>} Lab the modules by short name; null for one that is not shared
 */

const NAMES = {
  apputils: '@jupyterlab/apputils',
  coreutils: '@jupyterlab/coreutils',
  notebook: '@jupyterlab/notebook',
  services: '@jupyterlab/services',
  statusbar: '@jupyterlab/statusbar',
  signaling: '@lumino/signaling',
  widgets: '@lumino/widgets'
};

/**
 * All modules that we use.
 *
 * @param {Scope} scope
 * @returns {Promise<Lab>}
 */
export async function labModules(scope) {
  const entries = Object.entries(NAMES).map(async ([key, name]) => [key, await take(scope, name)]);
  return Object.fromEntries(await Promise.all(entries));
}

async function take(scope, name) {
  const offer = chosen(scope[name] ?? {});
  return offer ? (await offer.get())() : null;
}

/** The one that is in use already; before any is, the highest version, as webpack chooses. */
function chosen(offers) {
  const versions = Object.keys(offers).sort(byVersion);
  const version = versions.find(one => offers[one].loaded) ?? versions.at(-1);
  return version === undefined ? null : offers[version];
}

function byVersion(left, right) {
  const [a, b] = [left, right].map(text => text.split(/[.+-]/).map(Number));
  const differing = a.findIndex((part, index) => part !== b[index]);
  return differing < 0 ? 0 : (a[differing] || 0) - (b[differing] || 0);
}
