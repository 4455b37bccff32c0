// Several traces as one timeline: their rows one below the other, their times on one axis.

/** @typedef {import("../timeline/types").Source} Source */
/** @typedef {import("../timeline/types").Row} Row */
/** @typedef {import("../timeline/types").Viewport} Viewport */
/** @typedef {import("../timeline/types").Columns} Columns */
/** @typedef {import("../timeline/types").Boxes} Boxes */
/** @typedef {import("../timeline/types").Colouring} Colouring */
/** @typedef {import("./served_source.js").ServedSource} ServedSource */

/**
 * The row's id in the joined timeline.
 * @param {number} trace
 * @param {string} id
 */
export function joinedId(trace, id) {
  return `${trace}:${id}`;
}

/**
 * The trace and the row's id in it.
 * @param {string} id
 * @returns {[number, string]}
 */
export function splitId(id) {
  const colon = id.indexOf(":");
  return [Number(id.slice(0, colon)), id.slice(colon + 1)];
}

/** @implements {Source} */
export class JoinedSource {
  /** @param {ServedSource[]} sources in the order of the traces */
  constructor(sources) {
    this.sources = sources;
    /** @type {number[]} where on the axis each trace begins; the least is 0 */
    this.offsets = sources.map(() => 0);
    /** @type {Row[]} what is shown */
    this.rows = [];
    /** @type {(() => void) | null} */
    this.onChange = null;
    /** @type {Colouring[]} */
    this.colourings = [];
    /** @type {Map<string, number[]>[]} of each trace and colouring the joined numbers of its classes */
    this.classMaps = sources.map(() => new Map());
    /** @type {WeakMap<Columns | Boxes, { key: string, made: any }>} as they are in the joined timeline */
    this.mapped = new WeakMap();
    /** @type {Map<string, Set<number>>} by colouring the classes that were there to draw */
    this.classesSeen = new Map();
    /** Whether anything was there to draw. */
    this.hasDrawn = false;
    for (const source of sources) source.onChange = () => this.onChange?.();
  }

  get span() {
    return Math.max(1, ...this.sources.map((source, i) => source.span + this.offsets[i]));
  }

  get origin() {
    return this.sources.length === 1 ? this.sources[0].origin : "0";
  }

  /**
   * Labels of a colouring of one trace are there: those of all traces get numbers of their own.
   * @param {number} trace
   * @param {string} id
   * @param {string[]} labels
   * @param {number[]} series
   */
  setLabels(trace, id, labels, series) {
    const own = this.sources[trace].colourings.find((colouring) => colouring.id === id);
    if (!own) return;
    Object.assign(own, { labels, series });
    this.join();
  }

  /** Ways to colour that any trace knows, after one of them changed. */
  join() {
    /** @type {Map<string, Colouring>} */
    const found = new Map();
    this.classMaps = this.sources.map(() => new Map());
    this.sources.forEach((source, trace) => {
      for (const { id, title, labels, series } of source.colourings) {
        const joined = found.get(id) ?? { id, title, labels: [], series: [], coloursHost: true };
        found.set(id, joined);
        this.classMaps[trace].set(id, labels.map((label, i) => numberOf(joined, label, series[i])));
      }
    });
    this.colourings = [...found.values()];
    this.mapped = new WeakMap();
    this.classesSeen.clear();
  }

  /** @param {number[]} offsets any; only their differences are seen */
  setOffsets(offsets) {
    const least = Math.min(...offsets);
    this.offsets = this.sources.map((_, i) => Math.round((offsets[i] ?? 0) - least)); // pixels are of whole ns
    this.sources.forEach((source, i) => (source.offset = this.offsets[i]));
  }

  /** Whether all that was drawn in the last frame was exact. */
  get isSettled() {
    return this.sources.every((source) => source.isSettled);
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   */
  columns(row, colouring, viewport) {
    const [trace, own] = this.own(row);
    const source = this.sources[trace];
    if (!own) return null;
    const columns = source.columns(own, this.ownColouring(source, colouring), viewport);
    if (!columns) return null;
    this.hasDrawn = true;
    this.note(trace, colouring, columns);
    const classes = this.classMap(trace, colouring);
    if (!classes) return columns;
    return this.once(columns, "", () => ({ ...columns, classes: columns.classes.map((number) => classes[number] ?? number) }));
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   */
  boxes(row, colouring, viewport) {
    const [trace, own] = this.own(row);
    const source = this.sources[trace];
    if (!own) return null;
    const boxes = source.boxes(own, this.ownColouring(source, colouring), viewport);
    const classes = this.classMap(trace, colouring);
    const planes = row.planes < own.planes ? row.planes : Infinity;
    if (!boxes || (planes === Infinity && !classes)) return boxes;
    return this.once(boxes, `${planes}`, () => joinedBoxes(boxes, planes, classes));
  }

  /**
   * Which classes were there to draw, for a legend of just those.
   * @param {number} trace
   * @param {number} colouring
   * @param {Columns} columns
   */
  note(trace, colouring, columns) {
    const classes = this.classMap(trace, colouring);
    const id = this.colourings[colouring]?.id ?? "";
    const seen = this.classesSeen.get(id) ?? new Set();
    for (const number of columns.classes) seen.add(classes?.[number] ?? number);
    this.classesSeen.set(id, seen);
  }

  /**
   * The joined numbers of a trace's classes; null: they are its own.
   * @param {number} trace
   * @param {number} colouring
   */
  classMap(trace, colouring) {
    if (this.sources.length === 1) return null;
    return this.classMaps[trace].get(this.colourings[colouring]?.id ?? "") ?? null;
  }

  /**
   * What is made of columns or boxes, the same as long as they are.
   * @template {Columns | Boxes} T
   * @param {T} from
   * @param {string} key
   * @param {() => T} make
   * @returns {T}
   */
  once(from, key, make) {
    const known = this.mapped.get(from);
    if (known?.key === key) return known.made;
    const made = make();
    this.mapped.set(from, { key, made });
    return made;
  }

  /**
   * @param {Row} row
   * @param {number} name
   */
  nameOf(row, name) {
    const [trace] = splitId(row.id);
    return this.sources[trace]?.nameOf(row, name) ?? "";
  }

  /**
   * @param {Row} row
   * @returns {[number, Row | undefined]}
   */
  own(row) {
    const [trace, id] = splitId(row.id);
    return [trace, this.sources[trace]?.rowById.get(id)];
  }

  /**
   * @param {ServedSource} source
   * @param {number} colouring
   */
  ownColouring(source, colouring) {
    const wanted = this.colourings[colouring]?.id;
    return Math.max(0, source.colourings.findIndex(({ id }) => id === wanted));
  }
}

/**
 * The number of a label, a new one where it is not known yet.
 * @param {Colouring} joined
 * @param {string} label
 * @param {number} series
 */
function numberOf(joined, label, series) {
  const known = joined.labels.indexOf(label);
  if (known >= 0) return known;
  joined.series.push(series);
  return joined.labels.push(label) - 1;
}

/**
 * Boxes of the first `planes` depths (a folded row shows its top), with joined numbers of classes.
 * @param {Boxes} boxes
 * @param {number} planes
 * @param {number[] | null} classes
 * @returns {Boxes}
 */
function joinedBoxes(boxes, planes, classes) {
  let length = boxes.length;
  while (length > 0 && boxes.depth[length - 1] >= planes) length -= 1;
  const cut = boxes.class.slice(0, length);
  return {
    length,
    depth: boxes.depth.subarray(0, length),
    start: boxes.start.subarray(0, length),
    duration: boxes.duration.subarray(0, length),
    name: boxes.name.subarray(0, length),
    row: boxes.row.subarray(0, length),
    class: classes ? cut.map((number) => classes[number] ?? number) : cut,
  };
}
