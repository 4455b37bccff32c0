// From box to box without a pointer.

import { boxAt, isNested } from "./boxes.js";

/** @typedef {import("./types").Box} Box */
/** @typedef {import("./types").LaidRow} LaidRow */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./timeline.js").Timeline} Timeline */

/**
 * The boxes of a row in the window and in the blocks beside it.
 * @param {Timeline} view
 * @param {Row} row
 */
const boxesNear = (view, row) => {
  const { scale, count } = view.shown;
  const last = view.shown.blockAt(count - 1) + 1;
  /** @type {Map<number, Box>} */
  const found = new Map();
  for (let number = Math.max(0, view.shown.blockAt(0) - 1); number <= last; number += 1) {
    const { boxes } = view.pictures.seen(row, scale, number);
    for (let i = 0; boxes && i < boxes.length; i += 1) found.set(boxes.row[i], boxAt(boxes, i));
  }
  return [...found.values()];
};

/** @param {Box} box @param {number} time */
const distance = (box, time) => Math.max(box.start - time, time - box.start - box.duration, 0);

/**
 * The box that is nearest to a time; of those that cover it the deepest.
 * @param {Box[]} boxes
 * @param {number} time
 */
const nearest = (boxes, time) => {
  const [first, ...others] = boxes;
  if (!first) return null;
  return others.reduce((best, box) => {
    const closer = distance(best, time) - distance(box, time);
    return closer > 0 || (closer === 0 && box.depth > best.depth) ? box : best;
  }, first);
};

/** @param {Timeline} view @param {LaidRow} laid @param {Box} box */
const choose = (view, laid, box) => {
  const { row } = laid;
  const { from, to, length } = view.shown;
  view.select({ rowId: row.id, depth: box.depth, start: box.start, duration: box.duration });
  view.reveal(row.id, box.depth);
  if (box.start < from || box.start + Math.min(box.duration, length / 2) > to) {
    view.moved(() => view.shown.moveTo(box.start - length / 4));
  }
  const plane = isNested(row) ? box.depth : 0;
  view.options.onSelect?.({ row, box, time: box.start, plane, shares: [], value: null, x: view.xOf(box.start), y: laid.top });
};

/**
 * Select the next box of the selected one's row (direction 1) or the one before it (-1).
 * @param {Timeline} view
 * @param {1 | -1} direction
 */
export const stepAlong = (view, direction) => {
  const { selected } = view;
  const laid = selected && view.layout.row(selected.rowId);
  if (!selected || !laid) {
    stepRows(view, 1);
    return;
  }
  const ahead = boxesNear(view, laid.row).filter(
    (box) => box.depth === selected.depth && direction * (box.start - selected.start) > 0,
  );
  const [first, ...others] = ahead;
  if (!first) return;
  choose(view, laid, others.reduce((best, box) => (direction * (best.start - box.start) > 0 ? box : best), first));
};

/**
 * Select the nearest box in the next row that has any, below (1) or above (-1).
 * @param {Timeline} view
 * @param {1 | -1} direction
 */
export const stepRows = (view, direction) => {
  const { selected, rows, shown } = view;
  const time = selected ? selected.start + Math.min(selected.duration, shown.length) / 2 : (shown.from + shown.to) / 2;
  let place = selected ? rows.findIndex((laid) => laid.row.id === selected.rowId) : -1;
  if (place < 0 && direction < 0) place = rows.length;
  for (place += direction; place >= 0 && place < rows.length; place += direction) {
    const box = nearest(boxesNear(view, rows[place].row), time);
    if (box) {
      choose(view, rows[place], box);
      return;
    }
  }
};
