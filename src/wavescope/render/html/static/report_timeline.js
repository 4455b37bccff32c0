// The timelines of a page: their tools, what lies under the pointer, rows of tables that lead there.

import { EmbeddedSource } from "./timeline/embedded_source.js";
import { timeWithin } from "./timeline/intervals.js";
import { duration, position } from "./timeline/time_text.js";
import { Timeline } from "./timeline/timeline.js";

/** @typedef {import("./timeline/types").Box} Box */
/** @typedef {import("./timeline/types").Hit} Hit */
/** @typedef {import("./timeline/types").Row} Row */

const STRIPS_WITH_QUEUES = 24;
const TIP_DISTANCE = 14;

class ReportTimeline {
  /**
   * @param {HTMLElement} figure
   * @param {EmbeddedSource} source
   */
  constructor(figure, source) {
    this.figure = figure;
    this.source = source;
    this.unit = figure.dataset.unit ?? "ns";
    this.tip = /** @type {HTMLElement} */ (figure.querySelector(".tip"));
    this.queues = /** @type {HTMLInputElement | null} */ (figure.querySelector(".tools input[type=checkbox]"));
    if (this.queues) this.queues.checked = source.strips.length <= STRIPS_WITH_QUEUES;
    /** @type {boolean[] | null} */
    this.matches = null;
    this.view = new Timeline(figure, source, {
      unit: this.unit,
      rows: this.rows(),
      onHover: (hit) => this.hover(hit),
      onSelect: (hit) => this.hover(hit),
      onViewport: ({ from, to }) => this.tell(from, to),
      onDraw: (boxes) => {
        figure.dataset.boxes = String(boxes);
      },
    });
    this.listen();
    performance.mark("timeline-drawn");
    figure.dataset.ready = "true";
  }

  rows() {
    const hasQueues = this.queues?.checked ?? true;
    return this.source.rows.filter((row) => hasQueues || row.kind !== "queue").map((row) => ({ row }));
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  tell(from, to) {
    const place = (/** @type {number} */ ns) => position(ns, (to - from) / 1000, to, this.unit);
    const told = /** @type {HTMLElement} */ (this.figure.querySelector("output.window"));
    told.textContent = `${place(from)} to ${place(to)} (${duration(to - from, this.unit)})`;
    this.tip.hidden = true;
    this.figure.dataset.from = String(Math.round(from));
    this.figure.dataset.to = String(Math.round(to));
  }

  listen() {
    const { figure, view } = this;
    /** @type {Record<string, () => void>} */
    const act = { in: () => view.zoom(0.5), out: () => view.zoom(2), all: () => view.showAll() };
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (figure.querySelectorAll("[data-act]"))) {
      button.addEventListener("click", act[button.dataset.act ?? ""]);
    }
    const colour = figure.querySelector("select");
    colour?.addEventListener("change", () => this.colourBy(colour.value));
    this.queues?.addEventListener("change", () => view.setRows(this.rows()));
    const search = /** @type {HTMLInputElement} */ (figure.querySelector("input[type=search]"));
    search.addEventListener("input", () => this.find(search.value));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next();
    });
  }

  /** @param {string} number */
  colourBy(number) {
    this.view.setColouring(Number(number));
    for (const legend of /** @type {NodeListOf<HTMLElement>} */ (this.figure.querySelectorAll("[data-colouring]"))) {
      legend.hidden = legend.dataset.colouring !== number;
    }
  }

  /** @param {string} text */
  find(text) {
    const word = text.trim().toLowerCase();
    const { ops } = this.source;
    const matches = word ? ops.names.map((name) => name.toLowerCase().includes(word)) : null;
    this.matches = matches;
    this.view.setSearch(matches && ((row, name) => row.table !== "ops" || matches[name]));
    const told = /** @type {HTMLElement} */ (this.figure.querySelector("output.matches"));
    told.textContent = matches ? this.countOf(matches) : "";
  }

  /** @param {boolean[]} matches */
  countOf(matches) {
    const { ops } = this.source;
    let count = 0;
    let total = 0;
    for (let i = 0; i < ops.name.length; i += 1) {
      if (!matches[ops.name[i]]) continue;
      count += 1;
      total += ops.duration[i];
    }
    return `${count.toLocaleString("en")} ops, ${duration(total, this.unit)}`;
  }

  /** Show the next match after the middle of the window; after the last the first. */
  next() {
    if (!this.matches) return;
    const { ops } = this.source;
    const { from, to } = this.view.window;
    const middle = (from + to) / 2;
    const centreOf = (/** @type {number} */ i) => ops.start[i] + ops.duration[i] / 2;
    let best = -1;
    let first = -1;
    for (let i = 0; i < ops.name.length; i += 1) {
      if (!this.matches[ops.name[i]]) continue;
      if (centreOf(i) > middle + 1 && (best < 0 || ops.start[i] < ops.start[best])) best = i;
      if (first < 0 || ops.start[i] < ops.start[first]) first = i;
    }
    const found = best >= 0 ? best : first;
    if (found < 0) return;
    const half = Math.min((to - from) / 2, ops.duration[found] * 10);
    this.view.show(centreOf(found) - half, centreOf(found) + half);
  }

  /** @param {Hit | null} hit */
  hover(hit) {
    const lines = hit && this.linesOf(hit);
    this.tip.hidden = !lines;
    if (!hit || !lines) return;
    const parts = lines.map((line, i) => {
      const part = document.createElement(i === 0 ? "strong" : "span");
      part.textContent = line;
      return part;
    });
    this.tip.replaceChildren(...parts);
    const left = Math.min(hit.x + TIP_DISTANCE, this.view.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${hit.y + TIP_DISTANCE + 4}px`;
  }

  /**
   * @param {Hit} hit
   * @returns {string[] | null}
   */
  linesOf({ row, box, time }) {
    if (row.table === "ops") return box ? this.opLines(row, box) : this.shareLines(row, time);
    return box && [this.source.nameOf(row, box.name), this.when(box), `marker of ${row.label}`];
  }

  /** @param {Box} box */
  when(box) {
    return `${duration(box.duration, this.unit)} from ${duration(box.start, this.unit)}`;
  }

  /**
   * @param {Row} row
   * @param {Box} box
   */
  opLines(row, box) {
    const { source } = this;
    const classes = source.colourings.map((by, c) => by.labels[source.ops.classes[c][box.row]]);
    return [source.nameOf(row, box.name), this.when(box), `${this.placeOf(row)} · ${classes.join(" · ")}`];
  }

  /**
   * @param {Row} row
   * @param {number} time
   */
  shareLines(row, time) {
    const { colouring, shown } = this.view;
    const level = this.source.level(row, colouring, shown.scale);
    const bin = Math.min(level.bins - 1, Math.max(0, Math.floor(time / level.bin)));
    const shares = this.source.colourings[colouring].labels
      .map((label, c) => ({ label, share: level.values[c * level.bins + bin] }))
      .filter(({ share }) => share > 0)
      .sort((a, b) => b.share - a.share);
    const busy = Math.min(100, shares.reduce((sum, { share }) => sum + share, 0));
    const seen = row.recorded && (100 * timeWithin(row.recorded, bin * level.bin, (bin + 1) * level.bin)) / level.bin;
    const words = seen === null ? `${busy.toFixed(0)} % busy` : `${seen.toFixed(0)} % recorded`;
    return [
      `${this.placeOf(row)}: ${words}`,
      `in ${duration(level.bin, this.unit)} from ${duration(bin * level.bin, this.unit)}`,
      ...shares.map(({ label, share }) => `${share.toFixed(0)} % ${label}`),
    ];
  }

  /** @param {Row} row */
  placeOf(row) {
    const strip = this.source.strip(row);
    if (strip.label) return strip.name || row.label;
    return strip.queue === null ? row.label : `GPU ${strip.gpu}, ${row.label}`;
  }
}

/** @type {Map<string, Promise<ReportTimeline>>} */
const timelines = new Map();
for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".timeline"))) {
  const id = figure.dataset.source ?? "";
  const data = JSON.parse(document.getElementById(id)?.textContent ?? "");
  timelines.set(id, EmbeddedSource.load(data).then((source) => new ReportTimeline(figure, source)));
}

// Rows of tables lead to their place on the timeline.
for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-zoom]"))) {
  button.addEventListener("click", async () => {
    const timeline = await timelines.get(button.dataset.timeline ?? "");
    if (!timeline) return;
    const [from, to] = (button.dataset.zoom ?? "").split(" ").map(Number);
    const margin = Math.max(500, (to - from) * 0.5);
    timeline.view.show(from - margin, to + margin);
    timeline.figure.scrollIntoView({ block: "center", behavior: "auto" });
    timeline.view.canvas.focus({ preventScroll: true });
  });
}
