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
  /** whether markers and calls have these colours, too; else they are grey */
  coloursHost?: boolean;
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

/** A row as it is to be drawn: order, heights and pins are the page's business. */
export interface DrawnRow {
  row: Row;
  /** in CSS pixels; without it as high as rows of its kind are */
  height?: number;
  /** stays above the rows that scroll */
  isPinned?: boolean;
}

/** Where a row lies now, in CSS pixels from the canvas's top; rows that scrolled out are there, too. */
export interface LaidRow {
  row: Row;
  top: number;
  height: number;
  isPinned: boolean;
}

/** One range of a row. */
export interface Box {
  depth: number;
  start: number;
  duration: number;
  name: number;
  /** row in the trace's table */
  row: number;
  class: number;
}

/** What lies under a point. */
export interface Hit {
  row: Row;
  /** null: only shares are drawn there */
  box: Box | null;
  /** ns */
  time: number;
  /** of markers and calls the strip under the point */
  plane: number;
  /** of the pixel under the point (all its height) each class's share of the time, the largest
   * first; 1 is the whole pixel */
  shares: { class: number; share: number }[];
  /** of a series its mean in the pixel; NaN where unknown; else null */
  value: number | null;
  /** in CSS pixels of the canvas */
  x: number;
  y: number;
}

/** A range somewhere on the timeline, drawn or not: what is selected, an end of an arrow. */
export interface Place {
  rowId: string;
  depth: number;
  start: number;
  duration: number;
}

export interface Arrow {
  from: Place;
  to: Place;
}

/** What a drag does. */
export type DragMode = "pan" | "zoom" | "range";

export interface TimelineOptions {
  /** what is drawn at first; without it all rows of the source */
  rows?: readonly DrawnRow[];
  /** of the time axis; "ns" is spelled as us, ms and s */
  unit?: string;
  /** CSS pixels left of the strips; 0: the page has labels of its own */
  labelWidth?: number;
  /** whether the labels are drawn on the canvas */
  hasLabels?: boolean;
  hasOverview?: boolean;
  /** "grow": the canvas is as high as its rows; "scroll": it fills its parent, rows scroll */
  height?: "grow" | "scroll";
  /** "zoom": the wheel zooms; "page": only with Ctrl, Meta or Shift, so that pages scroll */
  wheel?: "zoom" | "page";
  /** what a drag does while Shift is held (default "zoom") or Alt or Ctrl (default "zoom") */
  shiftDrag?: DragMode;
  altDrag?: DragMode;
  /** what a drag does without a key, default "pan" */
  drag?: DragMode;
  /** the narrowest window, ns */
  least?: number;
  onHover?: (hit: Hit | null) => void;
  /** a click; null: beside all boxes. The box is selected before. */
  onSelect?: (hit: Hit | null) => void;
  /** a range was dragged, or taken away */
  onRange?: (range: { from: number; to: number } | null) => void;
  /** at once whenever the window changes, and when the timeline is made */
  onViewport?: (window: { from: number; to: number }) => void;
  /** rows moved: for labels that the page draws itself */
  onLayout?: (rows: readonly LaidRow[]) => void;
  /** a click on a label that the canvas has drawn */
  onLabel?: (row: Row) => void;
  /** after each frame: how many boxes of ops are seen */
  onDraw?: (boxes: number) => void;
}

/** The class `Timeline` of timeline.js: `new Timeline(figure, source, options)`, where `figure`
 * has an element `.stage` that the canvases are put into, and fulfils this. Whatever changes what
 * is seen is drawn with the next frame. */
export interface TimelineView {
  readonly canvas: HTMLCanvasElement;
  readonly rows: readonly LaidRow[];
  /** the window as asked for; what is drawn begins at the whole pixel next to it */
  readonly window: { from: number; to: number };
  readonly viewport: Viewport;
  readonly selected: Place | null;
  readonly range: { from: number; to: number } | null;

  /** another source, or the same with another span or other rows; the window stays if it can */
  setSource(source: Source): void;
  setRows(rows: readonly DrawnRow[]): void;
  setColouring(colouring: number): void;
  setDrag(mode: DragMode): void;
  /** show [from, to), kept inside of [0, span) */
  show(from: number, to: number): void;
  showAll(): void;
  /** by a factor below 1 into the picture, around a time or the middle */
  zoom(factor: number, at?: number): void;
  /** by a share of the window */
  pan(share: number): void;
  /** the range, else the selected box, with room on both sides */
  zoomToSelection(): void;
  select(place: Place | null): void;
  setRange(range: { from: number; to: number } | null): void;
  /** ranges for whose name this is false are drawn faint; null: none */
  setSearch(isHit: ((row: Row, name: number) => boolean) | null): void;
  /** counts of hits in equal parts of [0, span), marked in the overview; null: none */
  setMarks(bins: ArrayLike<number> | null): void;
  setArrows(arrows: readonly Arrow[]): void;
  /** scroll until the row is seen */
  reveal(rowId: string, depth?: number): void;
  /** what is under a point of the canvas, CSS pixels */
  at(x: number, y: number): Hit | null;
  /** the time at a place of the canvas and back, CSS pixels */
  timeAt(x: number): number;
  xOf(time: number): number;
  /** do what a key stands for; whether it stands for anything */
  key(event: KeyboardEvent): boolean;
  /** draw with the next frame; colours are read again where `isThemeNew` */
  redraw(isThemeNew?: boolean): void;
  /** draw now */
  draw(): void;
  /** end: observers and listeners outside of the canvas are taken away */
  close(): void;
}
