// The page as a whole: traces, timeline, rows, colours, panels and the address, put together.

import { Timeline } from "../timeline/timeline.js";
import { nothingSeen, readAddress } from "./address.js";
import { App } from "./app.js";
import { Arrangement } from "./arrangement.js";
import { ColourChoice } from "./colour_choice.js";
import { Dock } from "./dock.js";
import { tipLines } from "./hover_tip.js";
import { joinedRows } from "./joined_rows.js";
import { JoinedSource, splitId } from "./joined_source.js";
import { LinkKeeping } from "./link_keeping.js";
import { PANELS } from "./panels.js";
import { PointedAt } from "./pointed_at.js";
import { RowLabels } from "./row_labels.js";
import { RowTools } from "./row_tools.js";
import { ServedSource } from "./served_source.js";
import { TileCache } from "./tile_cache.js";
import { describeProgress, describeTraces, describeWindow } from "./view_bar.js";

/** @typedef {import("./types").TraceInfo} TraceInfo */
/** @typedef {import("./address.js").Seen} Seen */
/** @typedef {import("../timeline/types").Hit} Hit */

const TILE_BYTES = 24 * 2 ** 20;
const LEAST_WINDOW = 20;
const FOLDED_SERIES = 12;
/** While a trace is read: how long a picture holds, and how many times as long as it took. */
const LEAST_HOLD_MS = 700;
const HOLD = 4;

/**
 * Elements of the shell by their id.
 * @param {string} id
 * @returns {any}
 */
const part = (id) => document.getElementById(id);

/** @param {number} width CSS pixels of the page */
const labelWidth = (width) => (width < 1400 ? 200 : width < 2600 ? 240 : 300);

export class Viewer {
  /**
   * @param {import("./asking.js").Asking} asking
   * @param {TraceInfo[]} traces
   * @param {(text: string) => void} say
   */
  constructor(asking, traces, say) {
    const cache = new TileCache(TILE_BYTES);
    this.say = say;
    this.source = new JoinedSource(traces.map(({ trace }) => new ServedSource(trace, asking, cache)));
    this.app = new App(asking, this.source, this.pageOfApp());
    this.seen = readAddress(location.hash);
    /** @type {[number, number] | null} a window that is not there yet */
    this.wantedWindow = this.seen.window;
    /** How far down the rows are to be, when they are there; 0: as they are. */
    this.wantedScroll = 0;
    this.isRestoring = false;
    this.updatedAt = 0;
    this.scrolledTo = 0;
    this.state = "";
    /** @type {string[]} rows that were pinned to be seen together */
    this.together = [];
    /** The trace on whose rows the pointer went down. */
    this.pressedTrace = 0;
    this.origin = traces.map(({ first_ns }) => first_ns);
    this.arrangement = new Arrangement();
    this.takeTraces(traces);
    this.app.keeps = { ...this.seen.kept };
    this.links = new LinkKeeping(() => this.nowSeen(), (seen) => this.restore(seen));
    this.stage = /** @type {HTMLElement} */ (document.querySelector("#timeline .stage"));
    this.timeline = this.madeTimeline();
    this.app.timeline = this.timeline;
    this.pointed = new PointedAt({ stage: this.stage, heard: part("heard") }, (hit) => this.linesOf(hit));
    this.labels = new RowLabels(part("labels"), this.arrangement, {
      onChange: () => this.arranged(),
      onFocus: (id) => this.timeline.reveal(id),
      say,
    });
    this.rowTools = new RowTools({ filter: part("row-filter"), menu: part("row-menu") }, this.arrangement, () => this.arranged());
    this.colours = new ColourChoice(
      { select: part("colour-by"), legend: part("legend") }, asking, (id, isChosen) => this.coloured(id, isChosen),
    );
    this.dock = new Dock({ root: part("dock"), splitter: part("splitter") }, PANELS, this.app, () => {
      this.links.jumped();
    });
    this.listen();
    this.restore(this.seen);
    this.update(traces);
  }

  /** @returns {import("./app.js").Page} */
  pageOfApp() {
    return {
      onJump: () => this.links.jumped(),
      onMove: () => !this.isRestoring && this.links.moved(),
      reveal: (id) => this.reveal(id),
      bringTogether: (ids) => this.bringTogether(ids),
      openPanel: (id) => {
        if (this.dock.open === id) return;
        this.links.jumped();
        this.dock.show(id);
        this.links.moved();
      },
      setColouring: (id) => this.colours.choose(id, true),
      say: this.say,
    };
  }

  /** @returns {Timeline} */
  madeTimeline() {
    const width = labelWidth(innerWidth);
    document.documentElement.style.setProperty("--labels", `${width}px`);
    return new Timeline(part("timeline"), this.source, {
      rows: [], // until they are arranged: folded ones are not asked for
      labelWidth: width,
      hasLabels: false,
      height: "scroll",
      wheel: "zoom",
      shiftDrag: "range",
      altDrag: "zoom",
      least: LEAST_WINDOW,
      onHover: (hit) => this.pointed?.show(hit),
      onSelect: (hit) => this.clicked(hit),
      onRange: (range) => this.ranged(range),
      onViewport: () => this.moved(),
      onLayout: () => this.laid(),
      onDraw: (boxes) => this.drawn(boxes),
    });
  }

  /**
   * What `api/traces` says now. While traces are read, what was drawn holds for a while: drawing all
   * of it again each time would slow the reading down.
   * @param {TraceInfo[]} traces
   */
  take(traces) {
    const isReading = traces.some(({ is_whole, problem }) => !is_whole && !problem);
    const longest = Math.max(...this.source.sources.map(({ loader }) => loader.lastMs));
    const state = stateOf(traces);
    if (state === this.state) return;
    const isDue = performance.now() - this.updatedAt >= Math.max(LEAST_HOLD_MS, HOLD * longest);
    if (!isReading || isDue || !this.source.hasDrawn) this.update(traces);
    else describeProgress(traces);
  }

  /** @param {TraceInfo[]} traces */
  update(traces) {
    this.updatedAt = performance.now();
    this.state = stateOf(traces);
    const shift = Number(BigInt(this.origin[0]) - BigInt(traces[0].first_ns));
    const { from, to } = this.timeline.window;
    const isEverything = from === 0 && to >= this.source.span;
    this.takeTraces(traces);
    this.origin = traces.map(({ first_ns }) => first_ns);
    this.isRestoring = true;
    this.colours.update(this.source);
    this.arranged();
    this.timeline.setSource(this.source);
    if (shift !== 0 && !isEverything) this.timeline.show(from + shift, to + shift);
    this.showWanted();
    this.scrollAsWanted();
    this.isRestoring = false;
    this.dock.update();
    this.app.tell("traces");
    describeTraces(this.app.traces);
    describeWindow(this.timeline.window);
  }

  /** @param {TraceInfo[]} traces */
  takeTraces(traces) {
    const offsets = this.app.traces.map(({ offset }) => offset);
    this.app.traces = traces.map((info, i) => ({ ...info, offset: offsets[i] ?? this.seen.offsets[i] ?? 0 }));
    this.source.setOffsets(this.app.traces.map(({ offset }) => offset));
    this.source.sources.forEach((source, i) => source.update(this.app.traces[i]));
    this.source.join();
    this.source.rows = joinedRows(this.app.traces);
    this.arrangement.setRows(this.source.rows);
  }

  /** A window of the address is shown as soon as that much was read. */
  showWanted() {
    if (!this.wantedWindow) return;
    const [from, to] = this.wantedWindow;
    const isThere = to <= this.source.span || this.isWhole;
    this.timeline.show(from, to);
    this.wantedWindow = isThere ? null : [from, to];
  }

  /** Rows of the address may come later. */
  scrollAsWanted() {
    if (!this.wantedScroll) return;
    this.timeline.draw(); // a panel that was just opened takes some of the room
    this.timeline.scrollTo(this.wantedScroll);
    if (this.isWhole || this.timeline.layout.scroll >= this.wantedScroll) this.wantedScroll = 0;
  }

  get isWhole() {
    return this.app.traces.every(({ is_whole, problem }) => is_whole || problem !== "");
  }

  /** Rows were folded, hidden, pinned, moved or looked for. */
  arranged() {
    const listed = this.arrangement.listed();
    this.labels.set(listed);
    this.timeline.setRows(
      listed.map(({ row, isFolded, isPinned }) => ({
        row: isFolded && row.planes > 1 ? { ...row, planes: 1 } : row,
        height: isFolded && row.kind === "series" ? FOLDED_SERIES : undefined,
        isPinned,
      })),
    );
    this.rowTools.update();
    if (!this.isRestoring) this.links.moved();
    this.changed();
  }

  /** @param {string} id */
  reveal(id) {
    this.arrangement.reveal(id);
    if (this.arrangement.canFold(id) && !this.arrangement.children.has(id)) this.arrangement.fold(id, false);
    this.arranged();
    this.timeline.reveal(id);
  }

  /**
   * Show rows at once: where there is no room for what lies between them they are pinned, and those
   * that were pinned for that before are not any more.
   * @param {string[]} ids
   */
  bringTogether(ids) {
    const { arrangement, timeline } = this;
    arrangement.pinned = arrangement.pinned.filter((id) => !this.together.includes(id));
    this.together = [];
    for (const id of ids) this.reveal(id);
    if (ids.every((id) => timeline.layout.isInSight(id))) return;
    this.together = ids.filter((id) => !arrangement.pinned.includes(id));
    for (const id of this.together) arrangement.pin(id);
    this.arranged();
  }

  /**
   * @param {string} id
   * @param {boolean} isChosen
   */
  coloured(id, isChosen) {
    this.app.colouring = id;
    this.timeline.setColouring(this.colours.number);
    this.changed();
    if (isChosen) this.links.moved();
  }

  moved() {
    if (!this.timeline) return;
    this.pointed?.hide();
    this.changed();
    if (!this.isRestoring) {
      this.wantedWindow = null;
      this.links.moved();
    }
    describeWindow(this.timeline.window);
    this.app.windowMoved();
  }

  laid() {
    if (!this.timeline) return;
    const { layout, rows } = this.timeline;
    this.labels?.lay(rows, layout.scrolledTop);
    if (layout.scroll === this.scrolledTo) return;
    this.scrolledTo = layout.scroll;
    this.pointed?.hide();
    if (!this.isRestoring) this.links.moved();
  }

  /** What is drawn is not what is to be seen. */
  changed() {
    document.documentElement.dataset.whole = "false";
  }

  /**
   * After each frame.
   * @param {number} boxes
   */
  drawn(boxes) {
    if (!this.timeline) return;
    part("timeline").dataset.boxes = String(boxes);
    this.app.frameDrawn();
    this.pointed?.tellNames();
    this.colours?.draw();
    queueMicrotask(() => this.tellState());
  }

  /** What tests and benchmarks wait for. */
  tellState() {
    const { dataset } = document.documentElement;
    const hasNothing = this.isWhole && !this.source.rows.some(({ kind }) => kind !== "group");
    if (this.source.hasDrawn || hasNothing) dataset.drawn = "true";
    const isExact = this.isWhole && this.source.isSettled && !this.timeline.pending && !this.wantedWindow;
    dataset.whole = String(isExact);
  }

  /** @param {Hit} hit @returns {string[]} */
  linesOf(hit) {
    const name = hit.box ? this.source.sources[splitId(hit.row.id)[0]].wholeNameOf(hit.row, hit.box.name) : "";
    const colouring = this.source.colourings[this.colours.number];
    return tipLines(hit, name, colouring, this.timeline.viewport.scale);
  }

  /** @param {Hit | null} hit */
  clicked(hit) {
    if (!hit?.box) {
      this.app.unselect();
      return;
    }
    const [trace, rowId] = splitId(hit.row.id);
    const { start, duration: length, row } = hit.box;
    const place = { rowId, start: start - this.source.offsets[trace], duration: length };
    this.app.select(trace, hit.row.table, row, place, false);
    this.pointed.say(hit);
  }

  /** @param {{ from: number, to: number } | null} range */
  ranged(range) {
    if (!range) {
      this.app.selectRange(null);
      return;
    }
    const trace = this.pressedTrace;
    const offset = this.source.offsets[trace];
    const { span } = this.source.sources[trace];
    const start = Math.round(Math.max(0, range.from - offset));
    const end = Math.round(Math.min(span, range.to - offset));
    this.app.selectRange(end > start ? { trace, start, end } : null);
  }

  /** @returns {Seen} */
  nowSeen() {
    const { app, timeline } = this;
    const { from, to } = timeline.window;
    const isEverything = from === 0 && to === this.source.span;
    const { selected, range } = app;
    return {
      ...nothingSeen(),
      window: this.wantedWindow ?? (isEverything ? null : [from, to]),
      by: app.colouring === this.source.colourings[0]?.id ? "" : app.colouring,
      rows: this.arrangement.state(),
      find: this.arrangement.filter,
      scrolled: this.wantedScroll || timeline.layout.scroll,
      selected: selected && { trace: selected.trace, table: selected.table, row: selected.row },
      range,
      panel: this.dock.open,
      offsets: app.traces.map(({ offset }) => offset),
      kept: app.keeps,
    };
  }

  /**
   * Show what an address says.
   * @param {Seen} seen
   */
  restore(seen) {
    this.isRestoring = true;
    const { app } = this;
    this.arrangement.restore(seen.rows);
    this.arrangement.filter = seen.find;
    app.keeps = { ...seen.kept };
    app.setOffsets(app.traces.map((_, i) => seen.offsets[i] ?? 0));
    this.colours.id = seen.by;
    this.colours.update(this.source);
    this.arranged();
    this.wantedWindow = seen.window;
    if (seen.window) this.showWanted();
    else this.timeline.showAll();
    this.dock.show(seen.panel);
    this.wantedScroll = seen.scrolled;
    this.timeline.scrollTo(seen.scrolled);
    this.scrollAsWanted();
    this.restoreSelection(seen);
    this.isRestoring = false;
  }

  /** @param {Seen} seen */
  restoreSelection({ selected, range }) {
    const { app } = this;
    const isSameRange = JSON.stringify(app.range) === JSON.stringify(range);
    if (!isSameRange && (!range || range.trace < app.traces.length)) app.selectRange(range);
    if (!selected) app.unselect();
    else if (selected.trace < app.traces.length && !isSame(app.selected, selected)) {
      app.asked += 1;
      app.askForPlace({ ...selected, rowId: "", start: 0, duration: 0 }, false, app.asked);
    }
  }

  listen() {
    this.timeline.canvas.addEventListener("pointerdown", (event) => {
      const row = this.timeline.layout.rowAt(event.offsetY)?.row;
      this.pressedTrace = row ? splitId(row.id)[0] : 0;
    }, { capture: true });
    part("labels").addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      event.preventDefault();
      this.timeline.scrollBy(event.deltaY);
    }, { passive: false });
  }
}

/**
 * @param {import("./types").Selected | null} now
 * @param {{ trace: number, table: string, row: number }} wanted
 */
function isSame(now, wanted) {
  return now !== null && now.trace === wanted.trace && now.table === wanted.table && now.row === wanted.row;
}

/**
 * What differs when there is anything new to show.
 * @param {TraceInfo[]} traces
 */
function stateOf(traces) {
  return JSON.stringify(
    traces.map(({ version, share, is_whole, problem, first_ns, span_ns, notes, colourings }) => [
      version, share, is_whole, problem, first_ns, span_ns, notes, colourings,
    ]),
  );
}
