// What is worth changing; a click moves the timeline to where it is seen.

import { AskedOfTrace } from "./asked_of_trace.js";
import { element } from "./elements.js";

/** @typedef {import("./types").App} App */
/** @typedef {{ start: number, end: number, rowId: string, row: number | null }} Place */
/**
 * A finding of `wavescope findings --json`, with the place of its evidence.
 * @typedef {object} Finding
 * @property {string} id
 * @property {"problem" | "warning" | "info"} severity
 * @property {string} title
 * @property {string} evidence
 * @property {string} suggestion
 * @property {string} where
 * @property {number | null} gain_percent
 * @property {string} gain_basis
 * @property {string} sql
 * @property {Place | null} place
 */

const SIGNS = { problem: "!!", warning: "!", info: "i" };

class FindingsPanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    this.list = element("ul", { class: "findings" });
    this.asked = new AskedOfTrace(
      app,
      (trace, signal) => app.ask("findings", { trace }, { signal }),
      (answer, trace) => this.show(answer, trace),
    );
    root.append(element("div", { class: "panel-head" }, this.asked.choice, this.asked.said), this.list);
  }

  /**
   * @param {{ findings: Finding[], facts: Record<string, any> }} answer
   * @param {number} trace
   */
  show({ findings, facts }, trace) {
    this.list.replaceChildren(...findings.map((finding) => this.item(finding, trace)));
    if (findings.length) return;
    this.asked.said.textContent = facts.op_count ? "Nothing passed the thresholds: no findings." : "There are no GPU ops in the trace.";
  }

  /**
   * @param {Finding} finding
   * @param {number} trace
   */
  item(finding, trace) {
    const { place, gain_percent: gain } = finding;
    const go = place
      ? element("button", { type: "button", class: "go", text: "Show", title: "Move the timeline to where it is seen", onclick: () => this.goTo(trace, place, finding) })
      : null;
    const head = element(
      "div",
      { class: "head" },
      element("span", { class: "sign", text: SIGNS[finding.severity], title: finding.severity }),
      element("strong", { text: finding.title }),
      finding.where ? element("span", { class: "where", text: finding.where }) : null,
      gain === null ? null : element("span", { class: "gain", text: `up to ${gain.toFixed(1)} %`, title: finding.gain_basis }),
      go,
    );
    return element(
      "li",
      { class: `finding ${finding.severity}`, "data-finding": finding.id },
      head,
      element("p", { text: finding.evidence }),
      finding.suggestion ? element("p", { class: "next", text: finding.suggestion }) : null,
      finding.sql ? element("details", {}, element("summary", { text: "SQL" }), element("pre", { text: finding.sql })) : null,
    );
  }

  /**
   * @param {number} trace
   * @param {Place} place
   * @param {Finding} finding
   */
  goTo(trace, { start, end, rowId, row }, { title }) {
    this.app.setHighlight(trace, null);
    if (rowId) this.app.reveal(trace, rowId);
    this.app.show(trace, start, end);
    const isOp = row !== null && !rowId.startsWith("gpu/");
    if (isOp) this.app.select(trace, "ops", row, { rowId, start, duration: end - start }, false);
    else if (end > start) this.app.selectRange({ trace, start, end });
    this.app.say(title);
  }
}

/** @type {FindingsPanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "findings",
  title: "Findings",
  hint: "What is worth changing, and where it is seen",
  key: "i",
  mount(root, app) {
    mounted = new FindingsPanel(root, app);
  },
  shown() {
    mounted?.asked.open();
  },
};
