// The app that panels belong to: what is selected, where to look, and what the server says.

import { duration } from "../timeline/time_text.js";
import { joinedId, splitId } from "./joined_source.js";
import { depthOf } from "./box_search.js";

/** @typedef {import("./types").App} AppInterface */
/** @typedef {import("./types").TraceInfo} TraceInfo */
/** @typedef {import("./types").Selected} Selected */
/** @typedef {import("./types").Range} Range */
/** @typedef {import("./types").Arrow} Arrow */
/** @typedef {import("../timeline/timeline.js").Timeline} Timeline */

/**
 * What the app cannot do alone.
 * @typedef {object} Page
 * @property {() => void} onJump something else will be looked at
 * @property {() => void} onMove the address has to follow
 * @property {(id: string) => void} reveal show a row of the joined timeline
 * @property {(ids: string[]) => void} bringTogether show rows of it at once
 * @property {(id: string) => void} openPanel
 * @property {(id: string) => void} setColouring
 * @property {(text: string) => void} say
 */

const MARKS = 2048;
const ROOM = 0.15;
const LEAST_ROOM = 200;

/** @implements {AppInterface} */
export class App {
  /**
   * @param {import("./asking.js").Asking} asking
   * @param {import("./joined_source.js").JoinedSource} source
   * @param {Page} page
   */
  constructor(asking, source, page) {
    this.asking = asking;
    this.source = source;
    this.page = page;
    /** @type {TraceInfo[]} */
    this.traces = [];
    /** @type {Timeline | null} */
    this.timeline = null;
    /** @type {Selected | null} */
    this.selected = null;
    /** @type {Range | null} */
    this.range = null;
    this.colouring = "";
    /** @type {Record<string, string>} */
    this.keeps = {};
    /** @type {Map<string, Arrow[]>} */
    this.arrows = new Map();
    /** @type {Map<string, { trace: number, bins: number[] }>} */
    this.marks = new Map();
    /** @type {Map<number, Set<number>>} */
    this.highlights = new Map();
    this.listeners = { select: new Set(), range: new Set(), traces: new Set(), window: new Set() };
    this.isFrameWaiting = false;
    this.asked = 0;
    /** Whether the timeline scrolls to the selected range when it is known how deep it lies. */
    this.isDepthAwaited = false;
  }

  /** @type {AppInterface["ask"]} */
  ask(name, parameters, options) {
    return this.asking.json(name, parameters, options);
  }

  /** @type {AppInterface["address"]} */
  address(name, parameters) {
    return this.asking.address(name, parameters);
  }

  /** @type {AppInterface["select"]} */
  select(trace, table, row, place, isShown = true) {
    this.page.onJump();
    const selected = { trace, table, row, rowId: "", start: 0, duration: 0, ...place };
    this.asked += 1;
    if (place) this.selectPlace(selected, isShown);
    else this.askForPlace(selected, isShown, this.asked);
  }

  /**
   * @param {Selected} selected
   * @param {boolean} isShown
   * @param {number} asked
   */
  async askForPlace(selected, isShown, asked) {
    const { trace, table, row } = selected;
    try {
      const { rowId, start, duration: length } = await this.asking.json("details", { trace, table, row });
      if (asked === this.asked) this.selectPlace({ ...selected, rowId, start, duration: length }, isShown);
    } catch (error) {
      if (asked === this.asked) this.say(/** @type {Error} */ (error).message);
    }
  }

  /**
   * @param {Selected} selected
   * @param {boolean} isShown
   */
  selectPlace(selected, isShown) {
    this.selected = selected;
    this.isDepthAwaited = isShown;
    if (isShown) {
      this.reveal(selected.trace, selected.rowId);
      const { start, end } = this.window(selected.trace);
      const stop = selected.start + selected.duration;
      const isTiny = selected.duration < (end - start) / 500;
      if (selected.start >= end || stop <= start || isTiny) this.showAround(selected);
    }
    this.drawSelection();
    this.tell("select", selected);
    this.page.onMove();
  }

  /** @param {Selected} selected */
  showAround({ trace, start, duration: length }) {
    const room = Math.max(LEAST_ROOM, 5 * length);
    const offset = this.source.offsets[trace] ?? 0;
    this.timeline?.show(start - room + offset, start + length + room + offset);
  }

  unselect() {
    this.asked += 1;
    if (!this.selected) return;
    this.selected = null;
    this.drawSelection();
    this.tell("select", null);
    this.page.onMove();
  }

  /** @type {AppInterface["selectRange"]} */
  selectRange(range) {
    this.range = range;
    this.drawSelection();
    this.tell("range", range);
    if (range) this.say(`${duration(range.end - range.start)} are selected`);
    this.page.onMove();
  }

  /** @type {AppInterface["show"]} */
  show(trace, start, end) {
    this.page.onJump();
    const offset = this.source.offsets[trace] ?? 0;
    const room = Math.max(LEAST_ROOM, ROOM * (end - start));
    this.timeline?.show(start - room + offset, end + room + offset);
  }

  /** @type {AppInterface["reveal"]} */
  reveal(trace, rowId) {
    if (rowId) this.page.reveal(joinedId(trace, rowId));
  }

  /** @type {AppInterface["bringTogether"]} */
  bringTogether(rows) {
    this.page.bringTogether(rows.map(({ trace, rowId }) => joinedId(trace, rowId)));
  }

  /** @type {AppInterface["window"]} */
  window(trace) {
    const { from, to } = this.timeline?.window ?? { from: 0, to: 1 };
    const offset = this.source.offsets[trace] ?? 0;
    const span = this.source.sources[trace]?.span ?? 1;
    const start = Math.min(span, Math.max(0, from - offset));
    return { trace, start, end: Math.min(span, Math.max(start, to - offset)) };
  }

  /** @type {AppInterface["setOffsets"]} */
  setOffsets(offsets) {
    this.traces.forEach((info) => (info.offset = offsets[info.trace] ?? 0));
    this.source.setOffsets(this.traces.map((info) => info.offset));
    this.timeline?.setSource(this.source);
    this.drawSelection();
    this.drawArrows();
    this.drawMarks();
    this.tell("traces");
    this.page.onMove();
  }

  /** @type {AppInterface["setColouring"]} */
  setColouring(id) {
    this.page.setColouring(id);
  }

  /** @type {AppInterface["openPanel"]} */
  openPanel(id) {
    this.page.openPanel(id);
  }

  /** @type {AppInterface["setArrows"]} */
  setArrows(owner, arrows) {
    if (arrows.length) this.arrows.set(owner, arrows);
    else this.arrows.delete(owner);
    this.drawArrows();
  }

  /** @type {AppInterface["setMarks"]} */
  setMarks(owner, trace, bins) {
    if (bins.length) this.marks.set(`${owner}\n${trace}`, { trace, bins });
    else this.marks.delete(`${owner}\n${trace}`);
    this.drawMarks();
  }

  /** @type {AppInterface["setHighlight"]} */
  setHighlight(trace, codes) {
    if (codes) this.highlights.set(trace, codes);
    else this.highlights.delete(trace);
    const { highlights } = this;
    this.timeline?.setSearch(
      highlights.size ? (row, name) => highlights.get(splitId(row.id)[0])?.has(name) ?? true : null,
    );
  }

  /** @type {AppInterface["say"]} */
  say(text) {
    this.page.say(text);
  }

  /** @type {AppInterface["keep"]} */
  keep(key, value) {
    if (this.kept(key) === value) return;
    if (value) this.keeps[key] = value;
    else delete this.keeps[key];
    this.page.onMove();
  }

  /** @type {AppInterface["kept"]} */
  kept(key) {
    return this.keeps[key] ?? "";
  }

  /** @type {AppInterface["onSelect"]} */
  onSelect(told) {
    return this.listen("select", told);
  }

  /** @type {AppInterface["onRange"]} */
  onRange(told) {
    return this.listen("range", told);
  }

  /** @type {AppInterface["onTraces"]} */
  onTraces(told) {
    return this.listen("traces", told);
  }

  /** @type {AppInterface["onWindow"]} */
  onWindow(told) {
    return this.listen("window", told);
  }

  /**
   * @param {keyof App["listeners"]} what
   * @param {(value: any) => void} told
   */
  listen(what, told) {
    this.listeners[what].add(told);
    return () => void this.listeners[what].delete(told);
  }

  /**
   * @param {keyof App["listeners"]} what
   * @param {unknown} [value]
   */
  tell(what, value) {
    for (const told of [...this.listeners[what]]) told(value);
  }

  /** The window moved: listeners are told once with the next frame. */
  windowMoved() {
    if (this.isFrameWaiting) return;
    this.isFrameWaiting = true;
    requestAnimationFrame(() => {
      this.isFrameWaiting = false;
      this.tell("window");
    });
  }

  /** What is selected, as the timeline marks it. */
  drawSelection() {
    const { timeline, selected, range, source } = this;
    if (!timeline) return;
    if (selected?.rowId) {
      const { trace, start, duration: length } = selected;
      const rowId = joinedId(trace, selected.rowId);
      const offset = source.offsets[trace] ?? 0;
      const depth = depthOf(timeline, source, rowId, selected, offset);
      timeline.select({ rowId, depth: Math.max(0, depth), start: start + offset, duration: length });
    } else timeline.select(null);
    const offset = range ? source.offsets[range.trace] ?? 0 : 0;
    timeline.setRange(range ? { from: range.start + offset, to: range.end + offset } : null);
  }

  /** A frame was drawn: now it may be known how deep the selected range lies. */
  frameDrawn() {
    const { timeline, selected } = this;
    if (!timeline?.selected || !selected) return;
    const { rowId, depth: before } = timeline.selected;
    const depth = depthOf(timeline, this.source, rowId, selected, this.source.offsets[selected.trace] ?? 0);
    if (depth < 0) return;
    if (depth !== before) timeline.select({ ...timeline.selected, depth });
    if (!this.isDepthAwaited) return;
    this.isDepthAwaited = false;
    timeline.reveal(rowId, depth);
  }

  drawArrows() {
    const place = (/** @type {Arrow["from"]} */ { trace, rowId, time, depth }) => ({
      rowId: joinedId(trace, rowId),
      depth: depth ?? 0,
      start: time + (this.source.offsets[trace] ?? 0),
      duration: 0,
    });
    const arrows = [...this.arrows.values()].flat();
    this.timeline?.setArrows(arrows.map(({ from, to }) => ({ from: place(from), to: place(to) })));
  }

  /** Marks of all owners in equal parts of the axis. */
  drawMarks() {
    if (this.marks.size === 0) {
      this.timeline?.setMarks(null);
      return;
    }
    const found = new Float64Array(MARKS);
    for (const { trace, bins } of this.marks.values()) {
      const [offset, span] = [this.source.offsets[trace] ?? 0, this.source.sources[trace]?.span ?? 1];
      bins.forEach((count, i) => {
        if (!count) return;
        const at = (offset + ((i + 0.5) / bins.length) * span) / this.source.span;
        found[Math.min(MARKS - 1, Math.floor(at * MARKS))] += count;
      });
    }
    this.timeline?.setMarks(found);
  }
}
