// Questions to the server, and whether it answers at all.

/** What a server refuses, in its own words. */
export class AnswerError extends Error {
  /**
   * @param {string} message
   * @param {string} hint
   * @param {number} status
   */
  constructor(message, hint, status) {
    super(message);
    this.name = "AnswerError";
    this.hint = hint;
    this.status = status;
  }
}

/** @typedef {Record<string, string | number | boolean>} Parameters */

export class Asking {
  /**
   * @param {string} base the page's own address
   * @param {typeof fetch} fetcher
   */
  constructor(base, fetcher = (...request) => fetch(...request)) {
    this.base = base;
    this.fetcher = fetcher;
    /** Whether the last question was answered, however. */
    this.isUp = true;
    /** @type {(isUp: boolean) => void} */
    this.onState = () => {};
  }

  /**
   * @param {string} name
   * @param {Parameters} parameters
   */
  address(name, parameters = {}) {
    const address = new URL(`api/${name}`, this.base);
    for (const [key, value] of Object.entries(parameters)) address.searchParams.set(key, String(value));
    return address.href;
  }

  /**
   * @param {string} name
   * @param {Parameters} [parameters]
   * @param {import("./types").AskOptions} [options]
   * @returns {Promise<any>}
   */
  async json(name, parameters, options) {
    return (await this.answer(name, parameters, options)).json();
  }

  /**
   * @param {string} name
   * @param {Parameters} [parameters]
   * @param {import("./types").AskOptions} [options]
   * @returns {Promise<ArrayBuffer>}
   */
  async bytes(name, parameters, options) {
    return (await this.answer(name, parameters, options)).arrayBuffer();
  }

  /**
   * @param {string} name
   * @param {Parameters} [parameters]
   * @param {import("./types").AskOptions} [options]
   */
  async answer(name, parameters, options) {
    const { body, signal } = options ?? {};
    const sent = body === undefined
      ? { signal }
      : { signal, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let response;
    try {
      response = await this.fetcher(this.address(name, parameters), { ...sent, cache: "no-store" });
    } catch (error) {
      if (/** @type {Error} */ (error).name !== "AbortError") this.become(false);
      throw error;
    }
    this.become(true);
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /** @param {boolean} isUp */
  become(isUp) {
    if (this.isUp === isUp) return;
    this.isUp = isUp;
    this.onState(isUp);
  }
}

/** @param {Response} response */
async function refusal(response) {
  try {
    const { error, hint } = await response.json();
    return new AnswerError(String(error), String(hint ?? ""), response.status);
  } catch {
    return new AnswerError(`the server answers ${response.status}`, "", response.status);
  }
}
