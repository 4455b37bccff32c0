// The tabs below the timeline: one for each panel, mounted when it is first seen.

import { element } from "./elements.js";

/** @typedef {import("./types").Panel} Panel */
/** @typedef {import("./types").App} App */

const LEAST = 90;
const STEP = 40;

export class Dock {
  /**
   * @param {{ root: HTMLElement, splitter: HTMLElement }} parts
   * @param {Panel[]} panels
   * @param {App} app
   * @param {() => void} onJump told before another panel is opened
   */
  constructor({ root, splitter }, panels, app, onJump) {
    this.root = root;
    this.splitter = splitter;
    this.panels = panels;
    this.app = app;
    this.onJump = onJump;
    this.open = "";
    /** @type {Map<string, HTMLElement>} */
    this.bodies = new Map();
    /** @type {Map<string, HTMLButtonElement>} */
    this.tabs = new Map();
    this.list = element("div", { role: "tablist", class: "tabs", "aria-label": "Panels" });
    this.side = element("button", { type: "button", class: "quiet", text: "Beside", "aria-pressed": "false", title: "Put the panels beside the timeline or below it" });
    this.fold = element("button", { type: "button", class: "quiet", text: "Close", title: "Close the panels (Esc)" });
    this.content = element("div", { class: "bodies" });
    root.replaceChildren(element("div", { class: "dock-head" }, this.list, this.side, this.fold), this.content);
    this.fill();
    this.listen();
    this.show("");
  }

  fill() {
    for (const panel of this.panels) {
      const tab = element("button", {
        type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`,
        text: panel.title, title: hintOf(panel), tabindex: "-1",
      });
      const body = element("div", {
        role: "tabpanel", id: `panel-${panel.id}`, class: "panel", "aria-labelledby": `tab-${panel.id}`, tabindex: "0", hidden: true,
      });
      this.tabs.set(panel.id, tab);
      this.list.append(tab);
      this.content.append(body);
      tab.addEventListener("click", () => this.toggle(panel.id));
      if (panel.isEarly) this.mount(panel, body);
    }
  }

  /** Which tabs there are may depend on the traces. */
  update() {
    for (const panel of this.panels) {
      const tab = this.tabs.get(panel.id);
      if (tab) tab.hidden = !this.has(panel);
    }
  }

  /** @param {Panel | undefined} panel */
  has(panel) {
    return panel !== undefined && (panel.isFor?.(this.app) ?? true);
  }

  /**
   * @param {Panel} panel
   * @param {HTMLElement} body
   */
  mount(panel, body) {
    this.bodies.set(panel.id, body);
    panel.mount(body, this.app);
  }

  /** @param {string} id */
  toggle(id) {
    this.onJump();
    this.show(this.open === id ? "" : id);
  }

  /** @param {string} id empty: none */
  show(id) {
    const panel = this.panels.find((other) => other.id === id && this.has(other));
    this.open = panel ? id : "";
    this.root.classList.toggle("closed", !panel);
    this.splitter.hidden = !panel;
    this.fold.hidden = !panel;
    this.side.hidden = !panel;
    const firstTab = this.open || this.panels[0]?.id;
    for (const [other, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(other === this.open));
      tab.tabIndex = other === firstTab ? 0 : -1;
    }
    for (const body of this.content.children) /** @type {HTMLElement} */ (body).hidden = body.id !== `panel-${this.open}`;
    if (!panel) return;
    if (!this.bodies.has(id)) this.mount(panel, /** @type {HTMLElement} */ (this.content.querySelector(`#panel-${id}`)));
    panel.shown?.();
  }

  listen() {
    this.fold.addEventListener("click", () => this.toggle(this.open));
    this.side.addEventListener("click", () => this.putBeside(!document.body.classList.contains("beside")));
    this.list.addEventListener("keydown", (event) => this.tabKey(event));
    this.splitter.addEventListener("keydown", (event) => this.splitKey(event));
    this.splitter.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.splitter.setPointerCapture(event.pointerId);
      const move = (/** @type {PointerEvent} */ moved) => this.resizeTo(moved.clientX, moved.clientY);
      this.splitter.addEventListener("pointermove", move);
      const end = () => this.splitter.removeEventListener("pointermove", move);
      this.splitter.addEventListener("pointerup", end, { once: true });
      this.splitter.addEventListener("pointercancel", end, { once: true });
    });
  }

  /** @param {boolean} isBeside */
  putBeside(isBeside) {
    document.body.classList.toggle("beside", isBeside);
    this.side.setAttribute("aria-pressed", String(isBeside));
    this.splitter.setAttribute("aria-orientation", isBeside ? "vertical" : "horizontal");
    this.root.style.flexBasis = "";
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  resizeTo(x, y) {
    const bounds = this.root.getBoundingClientRect();
    const isBeside = document.body.classList.contains("beside");
    this.resize(isBeside ? bounds.right - x : bounds.bottom - y);
  }

  /** @param {number} size */
  resize(size) {
    const isBeside = document.body.classList.contains("beside");
    const most = (isBeside ? innerWidth : innerHeight) * 0.75;
    this.root.style.flexBasis = `${Math.round(Math.max(LEAST, Math.min(most, size)))}px`;
  }

  /** @param {KeyboardEvent} event */
  splitKey(event) {
    const isBeside = document.body.classList.contains("beside");
    const size = isBeside ? this.root.offsetWidth : this.root.offsetHeight;
    /** @type {Record<string, number>} */
    const steps = isBeside ? { ArrowLeft: STEP, ArrowRight: -STEP } : { ArrowUp: STEP, ArrowDown: -STEP };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.resize(size + steps[event.key]);
  }

  /** @param {KeyboardEvent} event */
  tabKey(event) {
    const shown = [...this.tabs.values()].filter((tab) => !tab.hidden);
    const at = shown.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const targets = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shown.length - 1 };
    if (at < 0 || !(event.key in targets)) return;
    event.preventDefault();
    event.stopPropagation();
    shown[(targets[event.key] + shown.length) % shown.length].focus();
  }
}

/** @param {Panel} panel */
function hintOf(panel) {
  const key = panel.key ? ` (${panel.key})` : "";
  return `${panel.hint ?? panel.title}${key}`;
}
