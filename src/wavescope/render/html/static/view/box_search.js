// Where in its row a range is drawn.

import { TILE } from "./tile_cache.js";

/**
 * How deep in its row a selected range lies; -1 where what is drawn does not tell.
 * @param {import("../timeline/timeline.js").Timeline} timeline
 * @param {import("./joined_source.js").JoinedSource} source
 * @param {string} rowId
 * @param {import("./types").Selected} selected
 * @param {number} offset
 */
export function depthOf(timeline, source, rowId, selected, offset) {
  const laid = timeline.rows.find(({ row }) => row.id === rowId);
  const { scale, first, count } = timeline.viewport;
  const number = Math.floor((selected.start + offset) / scale / TILE);
  const isSeen = (number + 1) * TILE > first && number * TILE < first + count;
  if (!laid || !isSeen) return -1;
  const boxes = source.boxes(laid.row, timeline.colouring, { scale, first: number * TILE, count: TILE });
  const at = boxes ? boxes.row.subarray(0, boxes.length).indexOf(selected.row) : -1;
  return boxes && at >= 0 ? boxes.depth[at] : -1;
}
