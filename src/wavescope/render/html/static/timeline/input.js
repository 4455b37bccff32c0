// What a reader does with a timeline: wheel, drags, clicks and keys.

import { OVERVIEW } from "./layout.js";
import { stepAlong, stepRows } from "./stepping.js";

/** @typedef {import("./types").DragMode} DragMode */
/** @typedef {import("./timeline.js").Timeline} Timeline */
/**
 * A pointer that is held down.
 * @typedef {object} Held
 * @property {number} x
 * @property {number} y
 * @property {number} first
 * @property {number} scroll
 * @property {number} grip ns from the window's middle to where it is held in the overview
 * @property {DragMode | "overview" | "label"} mode
 * @property {boolean} isMoved
 */

const STILL = 3; // CSS pixels that a hand moves while it clicks
const LINE = 16;
const PAN = 0.25;

/** @param {Timeline} view @returns {Record<string, () => void>} */
const actions = (view) => ({
  w: () => view.zoom(0.5),
  "+": () => view.zoom(0.5),
  "=": () => view.zoom(0.5),
  s: () => view.zoom(2),
  "-": () => view.zoom(2),
  a: () => view.pan(-PAN),
  ArrowLeft: () => view.pan(-PAN),
  d: () => view.pan(PAN),
  ArrowRight: () => view.pan(PAN),
  Home: () => view.showAll(),
  f: () => view.zoomToSelection(),
  Escape: () => view.deselect(),
  ",": () => stepAlong(view, -1),
  ".": () => stepAlong(view, 1),
  j: () => stepRows(view, 1),
  k: () => stepRows(view, -1),
});

/** @param {Timeline} view @returns {Record<string, () => void>} */
const scrollActions = (view) => ({
  ArrowUp: () => view.scrollBy(-3 * LINE),
  ArrowDown: () => view.scrollBy(3 * LINE),
  PageUp: () => view.scrollBy(-view.layout.room / 2),
  PageDown: () => view.scrollBy(view.layout.room / 2),
});

/**
 * Whether the key did something.
 * @param {Timeline} view
 * @param {KeyboardEvent} event
 */
export const pressKey = (view, event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const all = view.layout.room === Infinity ? actions(view) : { ...actions(view), ...scrollActions(view) };
  if (!Object.hasOwn(all, name)) return false;
  event.preventDefault();
  all[name]();
  return true;
};

/** @param {Timeline} view @param {WheelEvent} event */
const turnWheel = (view, event) => {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
  const across = event.deltaX * unit;
  const down = event.deltaY * unit;
  const isSideways = Math.abs(across) > Math.abs(down);
  const isZooming = view.options.wheel === "zoom";
  const hasKey = event.ctrlKey || event.metaKey;
  const isPan = isSideways ? !event.shiftKey || isZooming : isZooming && event.shiftKey;
  if (!hasKey && isPan) {
    event.preventDefault();
    view.moveBy((isSideways ? across : down) * view.ratio);
  } else if (hasKey || (isZooming ? event.offsetX >= view.left && !event.altKey : event.shiftKey)) {
    event.preventDefault();
    view.zoom(1.2 ** Math.max(-3, Math.min(3, (down || across) / 50)), view.timeAt(event.offsetX));
  } else if (view.layout.furthest > 0) {
    event.preventDefault();
    view.scrollBy(down);
  }
};

/** @param {Timeline} view @param {MouseEvent} event @returns {Held["mode"]} */
const modeOf = (view, event) => {
  if (view.options.hasOverview && event.offsetY < OVERVIEW) return "overview";
  if (event.offsetX < view.left) return "label";
  if (event.shiftKey) return view.options.shiftDrag;
  return event.altKey || event.ctrlKey ? view.options.altDrag : view.options.drag;
};

/**
 * The window moves with the pointer from where it is taken; beside it, its middle comes there.
 * @param {Timeline} view
 * @param {number} x
 */
const gripAt = (view, x) => {
  const { from, to } = view.window;
  const at = view.overviewTime(x);
  return at >= from && at <= to ? at - (from + to) / 2 : 0;
};

/** @param {Timeline} view @param {Held} held @param {PointerEvent} event */
const drag = (view, held, event) => {
  const { offsetX: x, offsetY: y } = event;
  if (held.mode === "overview") {
    view.centre(view.overviewTime(x) - held.grip);
    return;
  }
  held.isMoved ||= Math.abs(x - held.x) + Math.abs(y - held.y) > STILL;
  if (!held.isMoved) return;
  if (held.mode === "zoom" || held.mode === "range") view.setDragged([held.x, x]);
  else {
    if (held.mode === "pan") view.moveFrom(held.first, (held.x - x) * view.ratio);
    view.scrollTo(held.scroll + held.y - y);
  }
};

/** @param {Timeline} view @param {Held} held */
const release = (view, held) => {
  const dragged = view.dragged;
  view.setDragged(null);
  if (!held.isMoved) {
    if (held.mode === "label") view.clickLabel(held.y);
    else if (held.mode !== "overview") view.click(held.x, held.y);
  } else if (dragged) {
    const from = view.timeAt(Math.min(...dragged));
    const to = view.timeAt(Math.max(...dragged));
    if (held.mode === "zoom") view.show(from, to);
    else view.chooseRange(from, to);
  }
};

/**
 * Act on what happens to the timeline's canvas.
 * @param {Timeline} view
 */
export const listen = (view) => {
  const { canvas } = view;
  /** @type {Held | null} */
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const mode = modeOf(view, event);
    const grip = gripAt(view, event.offsetX);
    held = { x: event.offsetX, y: event.offsetY, first: view.shown.first, scroll: view.layout.scroll, grip, mode, isMoved: false };
    canvas.setPointerCapture(event.pointerId);
    if (mode === "overview") view.centre(view.overviewTime(event.offsetX) - grip);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) {
      canvas.classList.toggle("overview", modeOf(view, event) === "overview");
      view.hover(event.offsetX, event.offsetY);
      return;
    }
    view.options.onHover?.(null);
    drag(view, held, event);
  });
  canvas.addEventListener("pointerup", () => {
    if (held) release(view, held);
    held = null;
  });
  canvas.addEventListener("pointercancel", () => {
    held = null;
    view.setDragged(null);
  });
  canvas.addEventListener("pointerleave", () => view.options.onHover?.(null));
  canvas.addEventListener("dblclick", (event) => {
    if (event.offsetX >= view.left && modeOf(view, event) !== "overview") view.zoom(PAN, view.timeAt(event.offsetX));
  });
  canvas.addEventListener("wheel", (event) => turnWheel(view, event), { passive: false });
  canvas.addEventListener("keydown", (event) => pressKey(view, event));
};
