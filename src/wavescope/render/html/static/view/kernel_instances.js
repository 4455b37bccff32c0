// Every instance of one kernel: a list, the one before and the one after, marks in the timeline.

import { duration, position } from "../timeline/time_text.js";
import { makeClickable, markCurrent } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { histogramPicture } from "./kernel_histogram.js";

/** @typedef {import("./types").App} App */
/**
 * What `api/kernel` answers.
 * @typedef {object} Instances
 * @property {string} name
 * @property {number} total
 * @property {number} total_ns
 * @property {number} from
 * @property {number[]} rows
 * @property {number[]} start
 * @property {number[]} duration
 * @property {string[]} rowId
 * @property {{ edges_ns: number[], counts: number[][] }} histogram
 * @property {number[]} bins
 * @property {number[]} codes
 */

const OWNER = "kernels";
const SHOWN = 300;

export class KernelInstances {
  /**
   * @param {App} app
   * @param {() => void} onClose
   */
  constructor(app, onClose) {
    this.app = app;
    this.trace = 0;
    this.name = "";
    /** @type {Instances | null} */
    this.answer = null;
    this.chosen = -1;
    this.asking = 0;
    this.title = element("bdi", { class: "kernel-name" });
    this.order = element("select", { name: "order", "aria-label": "Order of instances", onchange: () => this.ask(0) }, element("option", { value: "first", text: "by time" }), element("option", { value: "longest", text: "longest first" }));
    this.before = element("button", { type: "button", text: "Previous", title: "The instance before", onclick: () => this.step(-1) });
    this.after = element("button", { type: "button", text: "Next", title: "The instance after", onclick: () => this.step(1) });
    this.close = element("button", { type: "button", class: "quiet", text: "Close", title: "Back to all kernels, without marks", onclick: () => this.clear(onClose) });
    this.said = element("output", { class: "said" });
    this.picture = element("div", { class: "instance-histogram" });
    this.list = element("ol", { class: "instances" });
    this.more = element("button", { type: "button", class: "quiet", text: "More", hidden: true, onclick: () => this.fill(true) });
    this.element = element(
      "div",
      { class: "kernel-instances", hidden: true },
      element("div", { class: "panel-head" }, this.title, this.order, this.before, this.after, this.close),
      this.said,
      this.picture,
      this.list,
      this.more,
    );
  }

  /**
   * @param {number} trace
   * @param {string} name
   */
  show(trace, name) {
    if (trace !== this.trace) this.unmark();
    this.trace = trace;
    this.name = name;
    this.element.hidden = false;
    this.title.textContent = name;
    this.chosen = -1;
    this.ask(0);
  }

  /** @param {() => void} [then] */
  clear(then = () => {}) {
    this.asking += 1;
    this.answer = null;
    this.element.hidden = true;
    this.unmark();
    then();
  }

  unmark() {
    this.app.setMarks(OWNER, this.trace, []);
    this.app.setHighlight(this.trace, null);
  }

  /** @param {number} from */
  async ask(from) {
    this.asking += 1;
    const { asking } = this;
    this.said.textContent = "…";
    try {
      const answer = await this.app.ask("kernel", { trace: this.trace, name: this.name, from, order: this.order.value });
      if (asking !== this.asking) return;
      this.answer = answer;
      this.tell();
    } catch (error) {
      if (asking === this.asking) this.said.textContent = /** @type {Error} */ (error).message;
    }
  }

  tell() {
    const answer = /** @type {Instances} */ (this.answer);
    this.said.textContent = `${counted(answer.total)}, ${duration(answer.total_ns)}`;
    this.picture.replaceChildren(histogramPicture(answer.histogram.counts[0] ?? [], answer.histogram.edges_ns, { width: 260, height: 60 }));
    this.app.setMarks(OWNER, this.trace, answer.bins);
    this.app.setHighlight(this.trace, new Set(answer.codes));
    this.fill(false);
  }

  /** @param {boolean} isMore */
  fill(isMore) {
    const { rows } = /** @type {Instances} */ (this.answer);
    const from = isMore ? this.list.childElementCount : 0;
    const until = Math.min(rows.length, Math.max(from + SHOWN, this.chosen - this.first + 1));
    const items = [];
    for (let at = from; at < until; at += 1) items.push(this.item(at));
    if (isMore) this.list.append(...items);
    else this.list.replaceChildren(...items);
    this.more.hidden = until >= rows.length;
    this.outline();
  }

  get first() {
    return this.answer?.from ?? 0;
  }

  /** @param {number} at in the answer */
  item(at) {
    const { start, duration: lengths, rowId } = /** @type {Instances} */ (this.answer);
    const span = Math.max(1, this.app.traces[this.trace].span_ns);
    const made = element("li", { value: String(this.first + at + 1), text: `${position(start[at], 100, span)}, ${duration(lengths[at])}, ${this.rowText(rowId[at])}` });
    makeClickable(made, () => this.choose(this.first + at));
    return made;
  }

  /** @param {string} id */
  rowText(id) {
    const { rows } = this.app.traces[this.trace];
    const row = rows.find((each) => each.id === id);
    const parent = rows.find((each) => each.id === row?.parent);
    return row ? [parent?.label, row.label].filter(Boolean).join(", ") : id;
  }

  /**
   * The instance before or after the chosen one, from all instances.
   * @param {1 | -1} direction
   */
  async step(direction) {
    if (!this.answer) return;
    const { total } = this.answer;
    const next = this.chosen < 0 ? (direction > 0 ? 0 : total - 1) : this.chosen + direction;
    if (next < 0 || next >= total) {
      this.app.say(direction > 0 ? "This is the last instance." : "This is the first instance.");
      return;
    }
    const page = this.answer.rows.length;
    if (next < this.first || next >= this.first + page) {
      await this.ask(direction > 0 ? next : Math.max(0, next - page + 1));
    }
    this.choose(next);
  }

  /** @param {number} number among all instances */
  choose(number) {
    const { answer } = this;
    const at = number - this.first;
    if (!answer || at < 0 || at >= answer.rows.length) return;
    this.chosen = number;
    if (at >= this.list.childElementCount) this.fill(false);
    this.outline();
    const place = { rowId: answer.rowId[at], start: answer.start[at], duration: answer.duration[at] };
    if (place.rowId) this.app.reveal(this.trace, place.rowId);
    this.app.select(this.trace, "ops", answer.rows[at], place);
    this.said.textContent = `${(number + 1).toLocaleString("en")} of ${counted(answer.total)}, ${duration(answer.total_ns)}`;
  }

  outline() {
    for (const [at, item] of [...this.list.children].entries()) {
      const isChosen = this.first + at === this.chosen;
      markCurrent(item, isChosen);
      if (isChosen) item.scrollIntoView({ block: "nearest" });
    }
  }
}

/** @param {number} count */
const counted = (count) => `${count.toLocaleString("en")} instance${count === 1 ? "" : "s"}`;
