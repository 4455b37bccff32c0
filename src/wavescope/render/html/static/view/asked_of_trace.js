// What a panel asks of one whole trace: when it can be had, once, and again when something changes.

import { element } from "./elements.js";

/** @typedef {import("./types").App} App */
/** @typedef {(trace: number, signal: AbortSignal) => Promise<any>} Ask */
/** @typedef {(answer: any, trace: number) => void} Show */

export const STILL_READING = "This comes when the whole trace is read.";

export class AskedOfTrace {
  /**
   * @param {App} app
   * @param {Ask} ask null instead of an answer: there is nothing to ask now
   * @param {Show} show
   */
  constructor(app, ask, show) {
    this.app = app;
    this.askFor = ask;
    this.show = show;
    this.isShown = false;
    this.isAnswered = false;
    /** @type {AbortController | null} */
    this.running = null;
    this.choice = element("select", { name: "trace", "aria-label": "Trace", hidden: true, onchange: () => this.again() });
    this.said = element("output", { class: "said" });
    app.onTraces(() => this.update());
    this.update();
  }

  get trace() {
    return Number(this.choice.value || 0);
  }

  /** The panel came into sight. */
  open() {
    this.isShown = true;
    this.update();
  }

  update() {
    const { traces } = this.app;
    if (this.choice.options.length !== traces.length) {
      this.choice.replaceChildren(...traces.map(({ trace, label }) => element("option", { value: String(trace), text: label })));
      this.choice.hidden = traces.length < 2;
    }
    if (!this.isShown || this.isAnswered || this.running) return;
    const info = traces[this.trace];
    // Of one that cannot be read the server says why.
    if (info?.is_whole || info?.problem) this.again();
    else this.said.textContent = STILL_READING;
  }

  /** Ask anew: of another trace, or with other parameters. */
  async again() {
    this.running?.abort();
    const asked = new AbortController();
    this.running = asked;
    const { trace } = this;
    this.said.textContent = "…";
    try {
      const answer = await this.askFor(trace, asked.signal);
      if (this.running !== asked) return;
      this.isAnswered = true;
      this.said.textContent = "";
      if (answer !== null) this.show(answer, trace);
    } catch (error) {
      if (this.running !== asked) return;
      const { message, hint, status } = /** @type {Error & { hint?: string, status?: number }} */ (error);
      this.isAnswered = status !== undefined && status !== 503;
      this.said.textContent = hint ? `${message}: ${hint}` : message;
    } finally {
      if (this.running === asked) this.running = null;
    }
  }
}

/**
 * The rows of a table of a result, by the names of its columns.
 * @param {{ tables: { name: string, columns: { name: string }[], rows: any[][] }[] }} result
 * @param {string} name
 * @returns {Record<string, any>[]}
 */
export function recordsOf(result, name) {
  const table = result.tables.find((each) => each.name === name);
  if (!table) return [];
  const names = table.columns.map((column) => column.name);
  return table.rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value])));
}

/**
 * A row, or another element, that does something when it is clicked or Enter is pressed on it.
 * @param {HTMLElement} target
 * @param {() => void} act
 */
export function makeClickable(target, act) {
  target.tabIndex = 0;
  target.addEventListener("click", act);
  target.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target !== target) return;
    event.preventDefault();
    act();
  });
}

/**
 * Whether it is the one of a list that is looked at.
 * @param {Element} item
 * @param {boolean} isCurrent
 */
export function markCurrent(item, isCurrent) {
  if (isCurrent) item.setAttribute("aria-current", "true");
  else item.removeAttribute("aria-current");
}
