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
    /** @type {WeakMap<Columns, { shift: number, columns: Columns }>} */
    this.shifted = new WeakMap();
    /** @type {WeakMap<Boxes, { shift: number, planes: number, boxes: Boxes }>} */
    this.moved = new WeakMap();
    for (const source of sources) source.onChange = () => this.onChange?.();
  }

  get span() {
    return Math.max(1, ...this.sources.map((source, i) => source.span + this.offsets[i]));
  }

  get origin() {
    return this.sources.length === 1 ? this.sources[0].origin : "0";
  }

  /** Ways to colour that any trace knows. */
  get colourings() {
    /** @type {Map<string, Colouring>} */
    const found = new Map();
    for (const source of this.sources) {
      for (const colouring of source.colourings) {
        const known = found.get(colouring.id);
        if (!known || known.labels.length < colouring.labels.length) found.set(colouring.id, colouring);
      }
    }
    return [...found.values()];
  }

  /** @param {number[]} offsets any; only their differences are seen */
  setOffsets(offsets) {
    const least = Math.min(...offsets);
    this.offsets = this.sources.map((_, i) => (offsets[i] ?? 0) - least);
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
    const shift = Math.round(this.offsets[trace] / viewport.scale);
    const local = shift ? { ...viewport, first: viewport.first - shift } : viewport;
    const columns = source.columns(own, this.ownColouring(source, colouring), local);
    if (!columns || shift === 0) return columns;
    const known = this.shifted.get(columns);
    if (known?.shift === shift) return known.columns;
    const made = { ...columns, first: columns.first + shift };
    this.shifted.set(columns, { shift, columns: made });
    return made;
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
    const shift = this.offsets[trace];
    const pixels = Math.round(shift / viewport.scale);
    const local = pixels ? { ...viewport, first: viewport.first - pixels } : viewport;
    const boxes = source.boxes(own, this.ownColouring(source, colouring), local);
    if (!boxes || (shift === 0 && row.planes >= own.planes)) return boxes;
    const known = this.moved.get(boxes);
    if (known?.shift === shift && known.planes === row.planes) return known.boxes;
    const made = movedBoxes(boxes, shift, row.planes);
    this.moved.set(boxes, { shift, planes: row.planes, boxes: made });
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
 * Boxes later by `shift`, those of the first `planes` depths: a folded row shows its top.
 * @param {Boxes} boxes
 * @param {number} shift
 * @param {number} planes
 * @returns {Boxes}
 */
function movedBoxes(boxes, shift, planes) {
  let length = boxes.length;
  while (length > 0 && boxes.depth[length - 1] >= planes) length -= 1;
  return {
    length,
    depth: boxes.depth.subarray(0, length),
    start: boxes.start.slice(0, length).map((start) => start + shift),
    duration: boxes.duration.subarray(0, length),
    name: boxes.name.subarray(0, length),
    row: boxes.row.subarray(0, length),
    class: boxes.class.subarray(0, length),
  };
}
