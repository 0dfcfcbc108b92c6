/**
 * What JupyterLab loads first: the container through which it asks for our modules (webpack calls
 * the interface module federation). It is written by hand, so that no build step stands between
 * the source and what runs. The modules themselves are plain ES modules beside this file.
 */
(() => {
  const folder = new URL('.', document.currentScript.src);
  const address = name => new URL(name, folder).href;
  let shared = {};

  const modules = {
    './extension': async () => {
      const { plugins } = await import(address('extension.js'));
      const made = await plugins(shared);
      // JupyterLab writes to what it gets, so it is not the module's own (frozen) name space.
      return () => ({ __esModule: true, default: made });
    },
    './style': async () => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = address('style.css');
      document.head.appendChild(link);
      return () => ({});
    }
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.outlive = {
    init(scope) {
      shared = scope;
    },
    async get(name) {
      if (!Object.hasOwn(modules, name)) {
        throw new Error(`Outlive has no module ${name}`);
      }
      return modules[name]();
    }
  };
})();
