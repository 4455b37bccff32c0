// Time by stack: of GPUs by what launched it, of the host by what it was in.

import { duration } from "../timeline/time_text.js";
import { AskedOfTrace } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { FlameGraph } from "./flame_graph.js";
import { FlameLayout } from "./flame_layout.js";

/** @typedef {import("./types").App} App */

const KEY = "flame";
const PAUSE_MS = 150;

class FlamePanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    this.root = root;
    const [of, part, kinds] = app.kept(KEY).split(".");
    this.of = this.choice("Which time", [["gpu", "GPU time"], ["host", "Host time"]], of);
    this.part = this.choice("Of what", [["all", "whole trace"], ["range", "selected range"]], part);
    this.kinds = element("input", { type: "checkbox", name: "kinds", onchange: () => this.changed() });
    this.kinds.checked = kinds === "kinds";
    this.search = element("input", { type: "search", name: "names", placeholder: "Search names", "aria-label": "Search names", maxlength: "900", oninput: () => this.later() });
    this.timer = 0;
    this.searching = 0;
    /** @type {Set<number> | null} Of the layout's names those that are found. */
    this.names = null;
    this.hits = element("output", { class: "hits" });
    this.reset = element("button", { type: "button", text: "Reset", title: "Show everything (Esc)", hidden: true, onclick: () => this.graph.setFocus(0) });
    this.focused = element("output", { class: "focused" });
    this.notes = element("p", { class: "note", hidden: true });
    this.graph = new FlameGraph((node) => this.tellFocus(node));
    this.asked = new AskedOfTrace(app, (trace, signal) => this.ask(trace, signal), (answer) => this.show(answer));
    root.classList.add("flame-panel");
    root.append(
      element("div", { class: "panel-head" }, this.asked.choice, this.of, this.part, element("label", { title: "Block_1 and Block_2 are Block" }, this.kinds, " modules of a kind together"), this.search, this.hits, this.reset, this.focused, this.asked.said),
      this.notes,
      element("div", { class: "flame-scroll" }, this.graph.element),
    );
    app.onRange(() => this.rangeChanged());
  }

  /**
   * @param {string} label
   * @param {[string, string][]} options
   * @param {string | undefined} chosen
   */
  choice(label, options, chosen) {
    const made = element("select", { name: options[0][0], "aria-label": label, onchange: () => this.changed() }, ...options.map(([value, text]) => element("option", { value, text })));
    if (options.some(([value]) => value === chosen)) made.value = /** @type {string} */ (chosen);
    return made;
  }

  changed() {
    const kept = `${this.of.value}.${this.part.value}${this.kinds.checked ? ".kinds" : ""}`;
    this.app.keep(KEY, kept === "gpu.all" ? "" : kept);
    this.asked.again();
  }

  rangeChanged() {
    if (this.part.value !== "range" || !this.asked.isShown) return;
    if (this.root.hidden) this.asked.isAnswered = false; // asked when it is seen again
    else this.asked.again();
  }

  /**
   * @param {number} trace
   * @param {AbortSignal} signal
   */
  async ask(trace, signal) {
    const asked = this.parameters(trace);
    const answer = await this.app.ask("flame", asked, { signal });
    return { ...answer, asked };
  }

  /**
   * @param {number} trace
   * @returns {import("./asking.js").Parameters}
   */
  parameters(trace) {
    const [of, kinds] = [this.of.value, Number(this.kinds.checked)];
    if (this.part.value === "all") return { trace, of, kinds };
    const { range } = this.app;
    if (!range || range.trace !== trace || range.end <= range.start) {
      this.clear();
      throw new Error("select a range in the timeline: Shift and drag");
    }
    return { trace, of, kinds, start: Math.floor(range.start), end: Math.ceil(range.end) };
  }

  /** Nothing is left of what was shown: it is not what is asked for. */
  clear() {
    this.layout = undefined;
    this.notes.hidden = true;
    this.reset.hidden = true;
    for (const output of [this.hits, this.focused]) output.textContent = "";
    this.graph.clear();
  }

  /** @param {import("./flame_layout.js").FlameAnswer & { asked: import("./asking.js").Parameters }} answer */
  show(answer) {
    this.layout = new FlameLayout(answer);
    this.shown = answer.asked;
    this.names = null;
    this.graph.show(this.layout);
    const left = answer.left_out ? `${answer.left_out.toLocaleString("en")} thin paths are not drawn; they are in the totals.` : "";
    const words = [answer.sampled, left].filter(Boolean).join(" ");
    this.notes.textContent = words;
    this.notes.hidden = !words;
    this.find();
  }

  /** @param {number} node */
  tellFocus(node) {
    const { layout } = this;
    if (!layout) return;
    this.reset.hidden = node === 0;
    const share = layout.value(0) ? (100 * layout.value(node)) / layout.value(0) : 0;
    this.focused.textContent = `${layout.name(node)}: ${duration(layout.value(node))}, ${share.toFixed(1)} %`;
    this.tellFound();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(), PAUSE_MS);
  }

  /** The server looks for names: a pattern that takes forever would stop the page. */
  async find() {
    clearTimeout(this.timer);
    const { layout, shown } = this;
    const [searching, pattern] = [++this.searching, this.search.value];
    this.names = null;
    if (!layout || !shown || !pattern) return this.tellFound();
    try {
      const names = isPattern(pattern)
        ? (await this.app.ask("flame_search", { ...shown, pattern })).hits
        : namesWith(pattern, layout.names);
      if (searching === this.searching) this.names = new Set(names);
    } catch (error) {
      if (searching !== this.searching) return;
      this.hits.textContent = /** @type {Error} */ (error).message;
      this.graph.mark(null);
    }
    if (searching === this.searching && this.names) this.tellFound();
  }

  tellFound() {
    const { layout, names } = this;
    if (!layout) return;
    if (!names) {
      this.hits.textContent = "";
      this.graph.mark(null);
      return;
    }
    const { isFound, count, share } = layout.found((_, place) => names.has(place), this.graph.focus);
    this.hits.textContent = `${count.toLocaleString("en")} found, ${(100 * share).toFixed(1)} %`;
    this.graph.mark(isFound);
  }
}

/**
 * Whether it is a regular expression; what is none is looked for as it is.
 * @param {string} text
 */
function isPattern(text) {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}

/**
 * @param {string} text capitals do not matter
 * @param {string[]} names
 */
function namesWith(text, names) {
  const lower = text.toLowerCase();
  return names.flatMap((name, place) => (name.toLowerCase().includes(lower) ? [place] : []));
}

/** @type {FlamePanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "flame",
  title: "Flame graph",
  hint: "Time by stack: operators, modules, Python",
  key: "u",
  mount(root, app) {
    mounted = new FlamePanel(root, app);
  },
  shown() {
    mounted?.asked.open();
    mounted?.graph.draw();
  },
};
