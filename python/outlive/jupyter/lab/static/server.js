/**
 * What Outlive's server extension knows about a kernel. A server without it is asked once and
 * then never again: that is a page of someone who did not run `outlive setup jupyter`.
 */

/**
 * @typedef {{guarded: boolean, use: number, budget: number, headroom: number, source: string,
 *   peak: number, short: boolean, run: string}} Status
 * @typedef {{bytes: number, place: string, text: string | null}} Holder
 */

export class Server {
  #connection;
  #join;
  #settings;
  #absent = false;

  /**
   * @param {import('./shared.js').Lab} lab
   * @param {any} settings of JupyterLab's connection to its server
   */
  constructor(lab, settings) {
    this.#connection = lab.services.ServerConnection;
    this.#join = lab.coreutils.URLExt.join;
    this.#settings = settings;
  }

  /** Whether the server turned out to have no extension of ours. */
  get isAbsent() {
    return this.#absent;
  }

  /** @returns {Promise<Status | null>} */
  status(kernel) {
    return this.#ask(kernel, 'status');
  }

  /** @returns {Promise<Holder[]>} */
  async holders(kernel) {
    const answer = await this.#ask(kernel, 'holders');
    return Array.isArray(answer?.holders) ? answer.holders : [];
  }

  /** @returns {Promise<import('./verdict.js').Message | null>} */
  verdict(kernel) {
    return this.#ask(kernel, 'verdict');
  }

  /** Nothing when there is nothing to say, whatever the reason: it is asked again soon. */
  async #ask(kernel, what) {
    if (this.#absent) {
      return null;
    }
    const path = ['outlive/kernels', encodeURIComponent(kernel), what];
    const address = this.#join(this.#settings.baseUrl, ...path);
    try {
      const answer = await this.#connection.makeRequest(address, {}, this.#settings);
      // Our own answers are JSON, also "no such kernel"; the server's page for unknown addresses
      // is HTML.
      const isOurs = (answer.headers.get('Content-Type') ?? '').includes('json');
      this.#absent = answer.status === 404 && !isOurs;
      return answer.ok && isOurs ? await answer.json() : null;
    } catch {
      return null;
    }
  }
}
