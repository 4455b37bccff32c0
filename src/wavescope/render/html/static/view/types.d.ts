// What panels of the viewer build on: the app they belong to, and what they are themselves.
//
// Times of a trace are ns from its first event on (`first_ns` of the trace). Traces lie in one
// timeline with one axis; `offset` of a trace says where on the axis its first event is.

import type { Colouring, Row } from "../timeline/types";

/** One opened trace as `api/traces` says, looked up again while it is being read. */
export interface TraceInfo {
  trace: number;
  label: string;
  file: string;
  format: string;
  /** time of the first event as decimal text: more digits than a double holds */
  first_ns: string;
  span_ns: number;
  version: number;
  /** how much was read, 0 to 1 */
  share: number;
  is_whole: boolean;
  /** why reading ended before the end, else empty */
  problem: string;
  notes: string[];
  rows: Row[];
  colourings: { id: string; title: string }[];
  /** ns on the axis of its first event */
  offset: number;
}

/** A range of a trace's table: an op, a marker, a call. */
export interface Selected {
  trace: number;
  /** "ops", "markers" or "calls" */
  table: string;
  row: number;
  /** the timeline's row it lies in; empty while unknown */
  rowId: string;
  start: number;
  duration: number;
}

/** Half-open, in times of the trace. */
export interface Range {
  trace: number;
  start: number;
  end: number;
}

export interface Arrow {
  from: { trace: number; rowId: string; time: number; depth?: number };
  to: { trace: number; rowId: string; time: number; depth?: number };
}

export type Stop = () => void;

export interface AskOptions {
  /** sent as JSON by POST; else GET */
  body?: unknown;
  signal?: AbortSignal;
}

export interface App {
  readonly traces: TraceInfo[];
  readonly selected: Selected | null;
  readonly range: Range | null;
  /** id of the colouring in use */
  readonly colouring: string;

  /** The JSON answer of `api/NAME`; throws an `AnswerError` with `message` and `hint`. */
  ask<Answer = any>(
    name: string,
    parameters?: Record<string, string | number | boolean>,
    options?: AskOptions,
  ): Promise<Answer>;
  /** The address of `api/NAME` with these parameters, for a link that saves a file. */
  address(name: string, parameters?: Record<string, string | number | boolean>): string;

  /** Select an op, marker or call: everybody in `onSelect` is told. Where `place` is not given it
   * is asked for; `isShown` (the default) moves the window to it if it is out of sight. */
  select(
    trace: number,
    table: string,
    row: number,
    place?: { rowId: string; start: number; duration: number },
    isShown?: boolean,
  ): void;
  /** Nothing is selected any more. */
  unselect(): void;
  /** Select a range of time in a trace; null: none. */
  selectRange(range: Range | null): void;
  /** Move the window to this part of a trace, with a little room around it. */
  show(trace: number, start: number, end: number): void;
  /** Unfold what hides the row, show it and scroll to it. */
  reveal(trace: number, rowId: string): void;
  /** The same for several rows, so that all are in sight at once. */
  bringTogether(rows: { trace: number; rowId: string }[]): void;
  /** What the window shows of a trace, clipped to it. */
  window(trace: number): Range;
  /** Where on the axis the first event of each trace is: for aligning. */
  setOffsets(offsets: number[]): void;
  setColouring(id: string): void;
  /** Open the dock at a panel. */
  openPanel(id: string): void;

  /** Arrows over the timeline, of one owner (a panel's id); an empty list takes them away. */
  setArrows(owner: string, arrows: Arrow[]): void;
  /** Marks in the overview: how much there is in each of n equal parts of the trace's span. */
  setMarks(owner: string, trace: number, bins: number[]): void;
  /** Names (codes) whose boxes stand out, the others are dimmed; null: all alike. */
  setHighlight(trace: number, codes: Set<number> | null): void;
  /** One short line at the bottom, also read aloud. */
  say(text: string): void;

  /** What a panel keeps in the page's address under its key: short texts only. */
  keep(key: string, value: string): void;
  kept(key: string): string;

  /** Called when it changes; each returns what ends the calls. */
  onSelect(told: (selected: Selected | null) => void): Stop;
  onRange(told: (range: Range | null) => void): Stop;
  /** More of a trace was read, or its offset changed. */
  onTraces(told: () => void): Stop;
  /** The window moved: at most once a frame. */
  onWindow(told: () => void): Stop;
}

/** A tab of the dock: `export const panel = {...}` in `panel_NAME.js`, listed in `panels.js`. */
export interface Panel {
  id: string;
  title: string;
  /** what the tab says when it is pointed at */
  hint?: string;
  /** Called once, when the tab is opened for the first time or the panel has to listen from the
   * start (`isEarly`). The element is the panel's own; text of traces goes in by textContent. */
  mount(element: HTMLElement, app: App): void;
  isEarly?: boolean;
  /** Each time the tab comes into sight, after `mount`. */
  shown?(): void;
  /** Whether the tab is there at all, asked when traces are known; for comparing: two traces. */
  isFor?(app: App): boolean;
  /** A key that opens the panel, without Ctrl, when no field is being typed in. */
  key?: string;
}
