// What is known of the selected op, call or marker, and the way to what belongs to it.

import { duration } from "../timeline/time_text.js";
import { element } from "./elements.js";
import { copyText, openFor } from "./panel_focus.js";
import { exactText, valueText } from "./value_text.js";
import { isTyping } from "./view_keys.js";

/** @typedef {import("./types").App} App */
/** @typedef {import("./types").Selected} Selected */
/** @typedef {{ table: string, row: number, rowId: string, depth?: number, start: number, duration: number, what: string, name: string }} Link */
/**
 * @typedef {object} Details
 * @property {string} title
 * @property {string} table
 * @property {number} row
 * @property {{ name: string, value: string | number, unit?: string }[]} facts
 * @property {Record<string, unknown>} arguments
 * @property {Link[]} links
 * @property {Link | null} previous
 * @property {Link | null} next
 * @property {number} start
 * @property {number} duration
 * @property {string} rowId
 * @property {number} depth
 */

const MOST_ARROWS = 20;
const MOST_BACK = 50;
/** @type {Record<string, string>} */
const HEADINGS = { launch: "Launched by", parent: "Called by", op: "Launched", marker: "In" };

class DetailsPanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {Details | null} */
    this.details = null;
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {Selected | null} */
    this.current = null;
    /** @type {Selected[]} */
    this.passed = [];
    this.isGoingBack = false;
    this.title = element("h3", { class: "details-title", text: "Nothing is selected" });
    this.back = this.button("Back", "What was selected before", () => this.goBack());
    this.previous = this.button("[ Previous", "The same kernel before on this GPU ([)", () => this.goTo(this.details?.previous));
    this.next = this.button("Next ]", "The same kernel after on this GPU (])", () => this.goTo(this.details?.next));
    this.launch = this.button("Launch", "The call that launched it, or the first op that it launched (L)", () => this.goTo(this.counterpart()));
    this.zoom = this.button("Zoom", "Zoom to it (F)", () => this.zoomTo());
    this.copy = this.button("Copy", "Copy all of this as text", () => copyText(app, this.text()));
    this.facts = element("dl", { class: "facts" });
    this.links = element("div", { class: "details-links" });
    this.values = element("dl", { class: "facts" });
    this.valuesTitle = element("h4", { text: "Arguments", hidden: true });
    this.error = element("p", { class: "error", role: "alert", hidden: true });
    root.append(
      element("div", { class: "panel-head" }, this.title, this.back, this.previous, this.next, this.launch, this.zoom, this.copy),
      this.error,
      element("div", { class: "details-parts" }, this.facts, element("div", {}, this.links, this.valuesTitle, this.values)),
    );
    app.onSelect((selected) => this.select(selected));
    document.addEventListener("keydown", (event) => this.key(event));
    this.draw();
    if (app.selected) this.select(app.selected);
  }

  /**
   * @param {string} text
   * @param {string} title
   * @param {() => void} onclick
   */
  button(text, title, onclick) {
    return element("button", { type: "button", text, title, onclick });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const { details } = this;
    const places = { "[": details?.previous, "]": details?.next, l: this.counterpart() };
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!details || !Object.hasOwn(places, key)) return;
    event.preventDefault();
    const place = places[/** @type {keyof places} */ (key)];
    if (place) this.goTo(place);
    else this.app.say(key === "l" ? "Nothing is linked to it in the trace" : "There is no other one on this GPU");
  }

  /** @param {Selected | null} selected */
  async select(selected) {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    if (this.current && selected && !this.isGoingBack && !isSame(this.current, selected)) {
      this.passed.push(this.current);
      if (this.passed.length > MOST_BACK) this.passed.shift();
    }
    this.isGoingBack = false;
    this.current = selected;
    if (!selected) {
      this.details = null;
      this.draw();
      return;
    }
    openFor(this.app, this.root, "details");
    try {
      const { trace, table, row } = selected;
      const details = /** @type {Details} */ (await this.app.ask("details", { trace, table, row }, { signal: asking.signal }));
      if (this.asking !== asking) return;
      this.details = details;
      this.error.hidden = true;
    } catch (error) {
      if (this.asking !== asking) return;
      this.details = null;
      this.error.textContent = /** @type {Error} */ (error).message;
      this.error.hidden = false;
    }
    this.draw();
  }

  /** Of an op its launch, of a launch its first op. */
  counterpart() {
    return this.details?.links.find(({ what }) => what === "launch" || what === "op");
  }

  /** @param {Link | null | undefined} place */
  goTo(place) {
    if (!place || !this.current) return;
    const { table, row, rowId, start, duration: length } = place;
    this.app.select(this.current.trace, table, row, { rowId, start, duration: length });
  }

  goBack() {
    const before = this.passed.pop();
    if (!before) return;
    this.isGoingBack = true;
    this.app.select(before.trace, before.table, before.row, before);
  }

  zoomTo() {
    const { details, current } = this;
    if (details && current) this.app.show(current.trace, details.start, details.start + details.duration);
  }

  draw() {
    const { details } = this;
    this.title.textContent = details?.title ?? (this.current ? "" : "Nothing is selected: click an op, a call or a marker");
    this.back.disabled = this.passed.length === 0;
    this.previous.disabled = !details?.previous;
    this.next.disabled = !details?.next;
    this.launch.disabled = !this.counterpart();
    for (const button of [this.zoom, this.copy]) button.disabled = !details;
    this.facts.replaceChildren(...(details?.facts ?? []).map(({ name, value, unit }) => element(
      "div", {}, element("dt", { text: name }),
      element("dd", { text: factText(value, unit), title: exactText(value, unit), "data-fact": name }),
    )));
    const values = Object.entries(details?.arguments ?? {});
    this.valuesTitle.hidden = values.length === 0;
    this.values.replaceChildren(...values.map(([name, value]) => element(
      "div", {}, element("dt", { text: name }),
      element("dd", { text: typeof value === "string" ? value : JSON.stringify(value) }),
    )));
    this.drawLinks();
    this.drawArrows();
  }

  drawLinks() {
    /** @type {Map<string, Link[]>} */
    const groups = new Map();
    for (const link of this.details?.links ?? []) groups.set(link.what, [...(groups.get(link.what) ?? []), link]);
    this.links.replaceChildren(...[...groups].flatMap(([what, links]) => [
      element("h4", { text: HEADINGS[what] ?? what }),
      element("ul", {}, ...links.map((link) => element("li", {}, this.linkButton(link)))),
    ]));
  }

  /** @param {Link} link */
  linkButton(link) {
    return element(
      "button", { type: "button", class: "link", title: link.name, "data-link": `${link.table}/${link.row}`, onclick: () => this.goTo(link) },
      element("span", { text: link.name }), element("small", { text: duration(link.duration) }),
    );
  }

  /** From launches to what they launched. */
  drawArrows() {
    const { details, current, app } = this;
    /** @type {import("./types").Arrow[]} */
    const arrows = [];
    if (details && current) {
      const { trace } = current;
      const own = { trace, rowId: details.rowId, depth: details.depth, time: details.start };
      for (const link of details.links) {
        const other = { trace, rowId: link.rowId, depth: link.depth ?? 0, time: link.start };
        if (!link.rowId || !details.rowId || arrows.length >= MOST_ARROWS) continue;
        if (link.what === "launch") arrows.push({ from: other, to: own });
        if (link.what === "op") arrows.push({ from: own, to: other });
      }
    }
    app.setArrows("details", arrows);
  }

  /** All of it as lines of text. */
  text() {
    const { details } = this;
    if (!details) return "";
    const facts = details.facts.map(({ name, value, unit }) => `${name}: ${exactText(value, unit)}`);
    const values = Object.entries(details.arguments).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    return [...facts, ...values].join("\n");
  }
}

/**
 * @param {string | number} value
 * @param {string} [unit]
 */
function factText(value, unit) {
  if (unit !== "ns" || typeof value !== "number") return unit === "ns" ? `${value} ns` : valueText(value, unit);
  return value < 1000 ? `${value} ns` : `${duration(value)} (${value.toLocaleString("en")} ns)`;
}

/**
 * @param {Selected} a
 * @param {Selected} b
 */
const isSame = (a, b) => a.trace === b.trace && a.table === b.table && a.row === b.row;

/** @type {import("./types").Panel} */
export const panel = {
  id: "details",
  title: "Details",
  hint: "What is known of the selected op, call or marker",
  isEarly: true,
  mount(root, app) {
    new DetailsPanel(root, app);
  },
};
