// What a timeline draws, and where it gets it from. Two sources fulfil `Source`: the data that a
// report carries, and the server of `wavescope view`.

/** All times are ns from the trace's first event on; pixel k of a scale covers
 * [floor(k * scale), floor((k + 1) * scale)). A window begins at a whole pixel. */
export interface Viewport {
  /** ns of one device pixel */
  scale: number;
  /** the pixel at the left edge */
  first: number;
  /** device pixels of the drawn width */
  count: number;
}

export interface Colouring {
  id: string;
  title: string;
  labels: string[];
  /** for each label the number of its colour: the CSS variables --s0, --s1, ... */
  series: number[];
}

export type RowKind = "group" | "gpu" | "queue" | "copies" | "markers" | "calls" | "series";

export interface Row {
  id: string;
  kind: RowKind;
  label: string;
  /** what stands below the label, such as "93.2 % busy" */
  detail: string;
  parent: string;
  depth: number;
  /** strips that lie one below the other: `depth` for markers and calls, else 1 */
  planes: number;
  count: number;
  unit: string;
  isFolded: boolean;
  /** of a sampled trace the recorded slices */
  recorded: { start: number[]; end: number[] } | null;
  /** what boxes are rows of: "ops", "markers", "calls" */
  table: string;
}

/** Shares of classes in `count` pixels from `first` on; 255 is the whole pixel. */
export interface Columns {
  first: number;
  count: number;
  /** the classes that occur */
  classes: number[];
  /** [plane][class in `classes`][pixel] */
  shares: Uint8Array;
  /** of a series the mean in each pixel, NaN where unknown; else null */
  means: Float32Array | null;
  /** false: drawn from another scale until the exact ones are there */
  isExact: boolean;
}

/** Ranges that are at least three pixels wide, by depth and start. */
export interface Boxes {
  length: number;
  depth: Uint16Array;
  start: Float64Array;
  duration: Float64Array;
  /** number for `nameOf` */
  name: Int32Array | Uint32Array;
  /** row in the trace's table */
  row: Uint32Array;
  class: Uint8Array;
}

export interface Source {
  /** the last event's end */
  span: number;
  /** of the first event, as decimal text: more digits than a double holds */
  origin: string;
  rows: Row[];
  colourings: Colouring[];
  /** what of a row is seen in the viewport; null while nothing is there */
  columns(row: Row, colouring: number, viewport: Viewport): Columns | null;
  boxes(row: Row, colouring: number, viewport: Viewport): Boxes | null;
  /** a short name for a box; an empty text while it is on its way */
  nameOf(row: Row, name: number): string;
  /** told whenever there is more to draw */
  onChange: (() => void) | null;
}
