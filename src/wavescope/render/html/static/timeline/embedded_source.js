// The source of a report: everything is in the page.

import { firstAbove } from "./intervals.js";
import { unpacked, unpackedTimes } from "./packed_columns.js";
import { levelFor, shareBetween, shareLevels } from "./share_levels.js";

/** @typedef {import("./types").Boxes} Boxes */
/** @typedef {import("./types").Columns} Columns */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Source} Source */
/** @typedef {import("./types").Viewport} Viewport */
/** @typedef {import("./packed_columns.js").PackedColumn} PackedColumn */
/** @typedef {import("./packed_columns.js").Column} Column */
/**
 * A strip of the page: a GPU (queue null) or one of its queues.
 * @typedef {object} Strip
 * @property {string} [label]
 * @property {number} gpu
 * @property {number | null} queue
 * @property {string} name
 * @property {number} ops
 * @property {number | null} busy percents
 * @property {{start: number[], end: number[]}} [recorded]
 */
/**
 * What a page carries of a timeline.
 * @typedef {object} PackedTimeline
 * @property {string} origin
 * @property {number} span
 * @property {number} bin ns
 * @property {number} bins
 * @property {{labels: string[], series: number[]}[]} colourings
 * @property {PackedColumn[]} shares of each colouring: strip by strip, class by class, bin by bin
 * @property {Strip[]} strips
 * @property {{names: string[], strip: PackedColumn, start: PackedColumn, duration: PackedColumn,
 *   name: PackedColumn, classes: PackedColumn[]}} ops
 * @property {{lanes: {process: number, thread: number, depth: number}[], names: string[],
 *   lane: PackedColumn, depth: PackedColumn, start: PackedColumn, duration: PackedColumn,
 *   name: PackedColumn}} markers
 */
/**
 * Ranges by group and start.
 * @typedef {object} Ranges
 * @property {string[]} names
 * @property {Float64Array} start
 * @property {Column} duration
 * @property {Column} name
 * @property {Column | null} depth
 * @property {Column[]} classes of each colouring
 * @property {Uint32Array} first where each group begins
 * @property {Float64Array} latest the latest end up to each range of its group
 */
/**
 * What was asked last of a row: a timeline asks for the same until it moves.
 * @typedef {object} Kept
 * @property {number} scale
 * @property {Map<number, Columns>} columns by colouring and first pixel
 * @property {Map<number, Boxes>} boxes
 */

const SMALLEST_BOX = 3;
const MOST_KEPT = 64;
const COLOURINGS = 16; // fewer than this: numbers of blocks and colourings share a key

/**
 * Where each group begins, and the latest end up to each range.
 * @param {Column} groups
 * @param {number} count
 * @param {Float64Array} starts
 * @param {Column} durations
 */
export const grouped = (groups, count, starts, durations) => {
  const first = new Uint32Array(count + 1);
  for (const group of groups) first[group + 1] += 1;
  for (let i = 0; i < count; i += 1) first[i + 1] += first[i];
  const latest = new Float64Array(starts.length);
  for (let i = 0; i < starts.length; i += 1) {
    const end = starts[i] + durations[i];
    latest[i] = i > 0 && groups[i] === groups[i - 1] ? Math.max(latest[i - 1], end) : end;
  }
  return { first, latest };
};

/**
 * Some tools number queues by their address: its last digits are enough to tell them apart.
 * @param {number} number
 */
const queueName = (number) => (number < 1e5 ? `queue ${number}` : `queue …${number.toString(16).slice(-6)}`);

/** @param {Strip} strip */
const labelOf = (strip) =>
  strip.label ?? (strip.queue === null ? `GPU ${strip.gpu}` : strip.name || queueName(strip.queue));

/** @param {Strip} strip */
const detailOf = (strip) => {
  if (strip.queue !== null || strip.busy === null) return "";
  return `${strip.recorded ? "\u2248 " : ""}${strip.busy.toFixed(1)} % busy`;
};

/**
 * @param {Strip} strip
 * @returns {Row}
 */
const rowOfStrip = (strip) => ({
  id: strip.queue === null ? `gpu/${strip.gpu}` : `queue/${strip.gpu}/${strip.queue}`,
  kind: strip.queue === null ? "gpu" : "queue",
  label: labelOf(strip),
  detail: detailOf(strip),
  parent: strip.queue === null ? "" : `gpu/${strip.gpu}`,
  depth: 1,
  planes: 1,
  count: strip.ops,
  unit: "",
  isFolded: false,
  recorded: strip.recorded ?? null,
  table: "ops",
});

/**
 * @param {PackedTimeline["markers"]["lanes"][0]} lane
 * @returns {Row}
 */
const rowOfLane = (lane) => ({
  id: `markers/${lane.process}/${lane.thread}`,
  kind: "markers",
  label: lane.thread < 0 ? "markers" : `thread ${lane.thread}`,
  detail: "",
  parent: "",
  depth: lane.depth,
  planes: lane.depth,
  count: 0,
  unit: "",
  isFolded: false,
  recorded: null,
  table: "markers",
});

/** @implements {Source} */
export class EmbeddedSource {
  /**
   * @param {PackedTimeline} data
   * @param {Uint8Array[]} shares
   * @param {Ranges} ops
   * @param {Ranges} markers
   */
  constructor(data, shares, ops, markers) {
    this.data = data;
    this.shares = shares;
    this.ops = ops;
    this.markers = markers;
    this.span = data.span;
    this.origin = data.origin;
    this.strips = data.strips;
    this.colourings = data.colourings.map((by, i) => ({ ...by, id: String(i), title: "" }));
    /** @type {(() => void) | null} */
    this.onChange = null;
    this.rows = [...data.markers.lanes.map(rowOfLane), ...data.strips.map(rowOfStrip)];
    /** @type {Map<string, number>} */
    this.numbers = new Map();
    this.rows.forEach((row, i) => this.numbers.set(row.id, i < data.markers.lanes.length ? i : i - data.markers.lanes.length));
    /** @type {Map<string, Kept>} */
    this.kept = new Map();
    /** @type {Map<number, import("./share_levels.js").Level[]>} */
    this.levels = new Map();
  }

  /**
   * @param {PackedTimeline} data
   */
  static async load(data) {
    const { ops, markers } = data;
    const [shares, classes, strip, duration, name, lane, depth, markerDuration, markerName] = await Promise.all([
      Promise.all(data.shares.map(unpacked)),
      Promise.all(ops.classes.map(unpacked)),
      ...[ops.strip, ops.duration, ops.name].map(unpacked),
      ...[markers.lane, markers.depth, markers.duration, markers.name].map(unpacked),
    ]);
    const start = await unpackedTimes(ops.start, strip);
    const markerStart = await unpackedTimes(markers.start, lane);
    return new EmbeddedSource(
      data,
      /** @type {Uint8Array[]} */ (shares),
      { names: ops.names, start, duration, name, depth: null, classes, ...grouped(strip, data.strips.length, start, duration) },
      {
        names: markers.names,
        start: markerStart,
        duration: markerDuration,
        name: markerName,
        depth,
        classes: [],
        ...grouped(lane, markers.lanes.length, markerStart, markerDuration),
      },
    );
  }

  /** @param {Row} row */
  strip(row) {
    return this.strips[this.numberOf(row)];
  }

  /** @param {Row} row */
  numberOf(row) {
    return /** @type {number} */ (this.numbers.get(row.id));
  }

  /**
   * @param {Row} row
   * @param {number} name
   */
  nameOf(row, name) {
    return (row.table === "ops" ? this.ops : this.markers).names[name] || "?";
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   */
  columns(row, colouring, viewport) {
    const { columns } = this.keptOf(row, viewport);
    const key = viewport.first * COLOURINGS + colouring;
    let found = columns.get(key);
    if (!found) {
      found = row.table === "ops" ? this.stripColumns(row, colouring, viewport) : this.markerColumns(row, viewport);
      columns.set(key, found);
    }
    return found;
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   */
  boxes(row, colouring, viewport) {
    const { boxes } = this.keptOf(row, viewport);
    const key = viewport.first * COLOURINGS + colouring;
    let found = boxes.get(key);
    if (!found) {
      const ranges = row.table === "ops" ? this.ops : this.markers;
      found = this.widest(ranges, this.numberOf(row), colouring, viewport);
      boxes.set(key, found);
    }
    return found;
  }

  /**
   * @param {Row} row
   * @param {Viewport} viewport
   */
  keptOf(row, { scale }) {
    let kept = this.kept.get(row.id);
    if (!kept || kept.scale !== scale || kept.columns.size > MOST_KEPT) {
      kept = { scale, columns: new Map(), boxes: new Map() };
      this.kept.set(row.id, kept);
    }
    return kept;
  }

  /**
   * The shares of a strip in the bins that are as wide as `width` ns or narrower.
   * @param {Row} row
   * @param {number} colouring
   * @param {number} width
   */
  level(row, colouring, width) {
    const number = this.numberOf(row);
    const key = number * COLOURINGS + colouring;
    let levels = this.levels.get(key);
    if (!levels) {
      const count = this.colourings[colouring].labels.length;
      const size = count * this.data.bins;
      const finest = this.shares[colouring].subarray(number * size, (number + 1) * size);
      levels = shareLevels(finest, count, this.data.bins, this.data.bin);
      this.levels.set(key, levels);
    }
    return levelFor(levels, width);
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   * @returns {Columns}
   */
  stripColumns(row, colouring, { scale, first, count }) {
    const level = this.level(row, colouring, scale);
    const classes = this.colourings[colouring].labels.map((_, c) => c);
    const shares = new Uint8Array(classes.length * count);
    for (const c of classes) {
      for (let x = 0; x < count; x += 1) {
        const from = (first + x) * scale;
        const share = from < this.span ? shareBetween(level, c, from, from + scale) : 0;
        if (share > 0) shares[c * count + x] = Math.max(1, Math.min(255, Math.round((255 * share) / 100)));
      }
    }
    return { first, count, classes, shares, means: null, isExact: true };
  }

  /**
   * @param {Row} row
   * @param {Viewport} viewport
   * @returns {Columns}
   */
  markerColumns(row, { scale, first, count }) {
    const times = new Float32Array(row.planes * count);
    const { start, duration, depth } = this.markers;
    const from = first * scale;
    const to = from + count * scale;
    for (const i of this.within(this.markers, this.numberOf(row), from, to)) {
      const end = start[i] + duration[i];
      const plane = /** @type {Column} */ (depth)[i] * count;
      const last = Math.min(count - 1, Math.ceil(end / scale) - 1 - first);
      for (let x = Math.max(0, Math.floor(start[i] / scale) - first); x <= last; x += 1) {
        const left = (first + x) * scale;
        times[plane + x] += Math.max(0, Math.min(end, left + scale) - Math.max(start[i], left));
      }
    }
    const shares = Uint8Array.from(times, (time) => (time > 0 ? Math.max(1, Math.min(255, Math.round((255 * time) / scale))) : 0));
    return { first, count, classes: [0], shares, means: null, isExact: true };
  }

  /**
   * Those of a group that touch [from, to).
   * @param {Ranges} ranges
   * @param {number} group
   * @param {number} from
   * @param {number} to
   */
  *within(ranges, group, from, to) {
    const { first, latest, start, duration } = ranges;
    const stop = first[group + 1];
    for (let i = firstAbove(latest, first[group], stop, from); i < stop && start[i] < to; i += 1) {
      if (start[i] + duration[i] > from) yield i;
    }
  }

  /**
   * Those that are wide enough to be boxes.
   * @param {Ranges} ranges
   * @param {number} group
   * @param {number} colouring
   * @param {Viewport} viewport
   * @returns {Boxes}
   */
  widest(ranges, group, colouring, { scale, first, count }) {
    /** @type {number[]} */
    const found = [];
    for (const i of this.within(ranges, group, first * scale, (first + count) * scale)) {
      if (ranges.duration[i] >= SMALLEST_BOX * scale) found.push(i);
    }
    /** @param {ArrayLike<number> | null | undefined} values */
    const taken = (values) => found.map((i) => (values ? values[i] : 0));
    return {
      length: found.length,
      depth: Uint16Array.from(taken(ranges.depth)),
      start: Float64Array.from(taken(ranges.start)),
      duration: Float64Array.from(taken(ranges.duration)),
      name: Uint32Array.from(taken(ranges.name)),
      row: Uint32Array.from(found),
      class: Uint8Array.from(taken(ranges.classes[colouring])),
    };
  }
}
