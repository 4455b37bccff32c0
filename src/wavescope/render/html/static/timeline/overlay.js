// What lies above the rows: the selected box, a range of time, arrows between boxes.

import { lanesOf } from "./boxes.js";

/** @typedef {import("./types").Arrow} Arrow */
/** @typedef {import("./types").LaidRow} LaidRow */
/** @typedef {import("./types").Place} Place */
/** @typedef {import("./frame_parts.js").Frame} Frame */
/** @typedef {(time: number) => number} ToX */
/** @typedef {(rowId: string) => LaidRow | null} FindRow */

const HEAD = 6;
const LEAST = 3;
const FAR = 4000; // beyond both sides nobody sees where a line goes

/**
 * A place's box on the canvas; null where its row is not drawn.
 * @param {Place} place @param {FindRow} find @param {ToX} toX
 */
export const boxOf = (place, find, toX) => {
  const laid = find(place.rowId);
  if (!laid) return null;
  const lanes = lanesOf(laid.row);
  const tall = laid.height / lanes;
  const depth = Math.min(place.depth, lanes - 1);
  const left = toX(place.start);
  return { left, right: Math.max(left + LEAST, toX(place.start + place.duration)), top: laid.top + depth * tall, height: tall };
};

/** @param {Frame} frame @param {Place} place @param {FindRow} find @param {ToX} toX */
export const drawSelected = (frame, place, find, toX) => {
  const box = boxOf(place, find, toX);
  if (!box || box.right < frame.left || box.left > frame.width) return;
  const { pen, palette } = frame;
  const left = Math.max(frame.left - 4, box.left);
  const right = Math.min(frame.width + 4, box.right);
  pen.strokeStyle = palette.text;
  pen.lineWidth = 2;
  pen.strokeRect(left, box.top + 1, Math.max(LEAST, right - left), Math.max(2, box.height - 2));
};

/** @param {Frame} frame @param {number} from @param {number} to CSS pixels @param {number} top */
export const drawRange = (frame, from, to, top) => {
  const { pen, palette, height } = frame;
  const left = Math.max(frame.left, Math.min(from, to));
  const right = Math.min(frame.width, Math.max(from, to));
  if (right < left) return;
  pen.fillStyle = palette.accent;
  pen.globalAlpha = 0.2;
  pen.fillRect(left, top, right - left, height - top);
  pen.globalAlpha = 1;
  pen.fillRect(left, top, 1, height - top);
  pen.fillRect(right - 1, top, 1, height - top);
};

/**
 * From the end of one box to the start of the other, or where they overlap from start to start.
 * @param {Frame} frame @param {Arrow} arrow @param {FindRow} find @param {ToX} toX
 */
export const drawArrow = (frame, arrow, find, toX) => {
  const from = boxOf(arrow.from, find, toX);
  const to = boxOf(arrow.to, find, toX);
  if (!from || !to) return;
  const { pen, palette } = frame;
  const inside = (/** @type {number} */ x) => Math.max(-FAR, Math.min(frame.width + FAR, x));
  const startX = inside(Math.min(from.right, Math.max(from.left, to.left)));
  const startY = from.top + from.height / 2;
  const endX = inside(to.left);
  const endY = to.top + to.height / 2;
  const bend = Math.max(24, Math.min(160, Math.abs(endX - startX) / 2));
  pen.strokeStyle = palette.accent;
  pen.fillStyle = palette.accent;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(startX, startY);
  pen.bezierCurveTo(startX + bend, startY, endX - bend, endY, endX - HEAD, endY);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(endX, endY);
  pen.lineTo(endX - HEAD, endY - HEAD / 2);
  pen.lineTo(endX - HEAD, endY + HEAD / 2);
  pen.fill();
};
