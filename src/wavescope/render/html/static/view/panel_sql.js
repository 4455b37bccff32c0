// Read-only SQL on an opened trace: a statement, its rows, what is wrong with it.

import { element } from "./elements.js";

/** @typedef {import("./types").App} App */
/** @typedef {{ columns: string[], rows: (string | number | null)[][], truncated: boolean, seconds: number }} Answer */

const EXAMPLES = [
  ["Kernels with most time", "SELECT * FROM top LIMIT 20"],
  ["Busy share of each GPU", "SELECT * FROM busy"],
  ["The longest ops", "SELECT * FROM op ORDER BY end - start DESC LIMIT 20"],
  ["Host calls with most time", "SELECT apiName, count(*) AS calls, sum(end - start) AS total_ns\nFROM api GROUP BY apiName ORDER BY total_ns DESC LIMIT 20"],
  ["What tables there are", "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY type, name"],
];

class SqlPanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    /** @type {AbortController | null} */
    this.running = null;
    this.text = element("textarea", { name: "sql", rows: "2", spellcheck: "false", "aria-label": "SQL statement", title: "One SELECT statement; Ctrl+Enter runs it" });
    this.text.value = EXAMPLES[0][1];
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Escape") root.focus(); // from where the page's keys work again
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.run();
    });
    this.button = element("button", { type: "button", text: "Run", title: "Run the statement (Ctrl+Enter)", onclick: () => this.run() });
    this.examples = element(
      "select", { name: "sql-example", "aria-label": "Examples", onchange: () => this.takeExample() },
      element("option", { value: "", text: "Examples" }),
      ...EXAMPLES.map(([name], number) => element("option", { value: String(number), text: name })),
    );
    this.trace = element("select", { name: "sql-trace", "aria-label": "Trace" });
    this.said = element("output", { class: "said" });
    this.error = element("p", { class: "error", role: "alert", hidden: true });
    this.head = element("thead");
    this.body = element("tbody");
    root.append(
      element("div", { class: "sql-editor" }, this.text, element("div", { class: "panel-head" }, this.button, this.examples, this.trace, this.said)),
      this.error,
      element("div", { class: "rows" }, element("table", {}, this.head, this.body)),
    );
    app.onTraces(() => this.update());
    this.update();
  }

  update() {
    const { traces } = this.app;
    this.trace.hidden = traces.length < 2;
    if (this.trace.options.length === traces.length) return;
    this.trace.replaceChildren(...traces.map(({ trace, label }) => element("option", { value: String(trace), text: label })));
  }

  takeExample() {
    const example = EXAMPLES[Number(this.examples.value)];
    if (this.examples.value && example) this.text.value = example[1];
    this.examples.value = "";
    this.text.focus();
  }

  /** Run the statement; one that runs already is given up. */
  async run() {
    this.running?.abort();
    const running = this.running = new AbortController();
    this.said.textContent = "Running…";
    this.error.hidden = true;
    try {
      const options = { body: { sql: this.text.value }, signal: running.signal };
      const answer = /** @type {Answer} */ (await this.app.ask("sql", { trace: Number(this.trace.value || 0) }, options));
      if (this.running === running) this.show(answer);
    } catch (error) {
      if (this.running === running) this.refuse(/** @type {Error & { hint?: string }} */ (error));
    }
  }

  /** @param {Answer} answer */
  show({ columns, rows, truncated, seconds }) {
    const isNumber = columns.map((_, i) => rows.some((row) => isNumeric(row[i])));
    this.head.replaceChildren(element("tr", {}, ...columns.map((name, i) => element("th", { scope: "col", class: isNumber[i] ? "number" : null, text: name }))));
    this.body.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map(cell))));
    const count = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;
    this.said.textContent = `${truncated ? `the first ${count}, there are more` : count}, ${seconds.toFixed(2)} s`;
  }

  /** @param {Error & { hint?: string }} error */
  refuse({ message, hint }) {
    this.said.textContent = "";
    this.error.textContent = hint ? `${message} (${hint})` : message;
    this.error.hidden = false;
    this.head.replaceChildren();
    this.body.replaceChildren();
  }
}

/** @param {string | number | null} value */
function cell(value) {
  if (value === null) return element("td", { class: "none", text: "NULL" });
  if (isNumeric(value)) return element("td", { class: "number", text: String(value) });
  return element("td", {}, element("div", { class: "value", text: String(value) }));
}

/**
 * Whole numbers that a page would round come as text.
 * @param {string | number | null} value
 */
function isNumeric(value) {
  return typeof value === "number" || /^-?\d{16,19}$/.test(value ?? "");
}

/** @type {SqlPanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "sql",
  title: "SQL",
  hint: "Ask the trace with SQL, read-only",
  key: "q",
  mount(root, app) {
    mounted = new SqlPanel(root, app);
  },
  shown() {
    mounted?.text.focus();
  },
};
