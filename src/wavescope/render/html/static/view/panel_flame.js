// Time by stack: of GPUs by what launched it, of the host by what it was in.

import { duration } from "../timeline/time_text.js";
import { AskedOfTrace } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { FlameGraph } from "./flame_graph.js";
import { FlameLayout } from "./flame_layout.js";

/** @typedef {import("./types").App} App */

const KEY = "flame";

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
    this.search = element("input", { type: "search", name: "names", placeholder: "Search names", "aria-label": "Search names", oninput: () => this.find() });
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
    const [of, kinds] = [this.of.value, Number(this.kinds.checked)];
    if (this.part.value === "all") return this.app.ask("flame", { trace, of, kinds }, { signal });
    const { range } = this.app;
    if (!range || range.trace !== trace || range.end <= range.start) {
      throw new Error("select a range in the timeline: Shift and drag");
    }
    const [start, end] = [Math.floor(range.start), Math.ceil(range.end)];
    return this.app.ask("flame", { trace, of, kinds, start, end }, { signal });
  }

  /** @param {import("./flame_layout.js").FlameAnswer} answer */
  show(answer) {
    this.layout = new FlameLayout(answer);
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
    if (this.search.value) this.find();
  }

  find() {
    const { layout } = this;
    if (!layout) return;
    const word = this.search.value;
    if (!word) {
      this.hits.textContent = "";
      this.graph.mark(null);
      return;
    }
    const { isFound, count, share } = layout.found(matcher(word), this.graph.focus);
    this.hits.textContent = `${count.toLocaleString("en")} found, ${(100 * share).toFixed(1)} %`;
    this.graph.mark(isFound);
  }
}

/**
 * A regular expression, or, of a text that is none, the text; capitals do not matter.
 * @param {string} word
 * @returns {(name: string) => boolean}
 */
function matcher(word) {
  try {
    const pattern = new RegExp(word, "i");
    return (name) => pattern.test(name);
  } catch {
    const lower = word.toLowerCase();
    return (name) => name.toLowerCase().includes(lower);
  }
}

/** @type {FlamePanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "flame",
  title: "Flame graph",
  hint: "Time by stack: operators, modules, Python",
  key: "b",
  mount(root, app) {
    mounted = new FlamePanel(root, app);
  },
  shown() {
    mounted?.asked.open();
    mounted?.graph.draw();
  },
};
