import assert from "node:assert/strict";
import test from "node:test";
import zlib from "node:zlib";

import { EmbeddedSource } from "../../src/wavescope/render/html/static/timeline/embedded_source.js";
import { levelFor, shareBetween, shareLevels } from "../../src/wavescope/render/html/static/timeline/share_levels.js";

const packed = (values, bytes = 1) => {
  const planes = Buffer.alloc(values.length * bytes);
  values.forEach((value, i) => {
    for (let place = 0; place < bytes; place += 1) planes[place * values.length + i] = Math.floor(value / 256 ** place) % 256;
  });
  return { bytes, length: values.length, data: zlib.deflateSync(planes).toString("base64") };
};

/** Two strips of 4 bins of 100 ns, two classes; ops of the queue, markers of one thread. */
const page = () => ({
  origin: "1000",
  span: 400,
  bin: 100,
  bins: 4,
  colourings: [{ labels: ["a", "b"], series: [3, 1] }],
  shares: [packed([100, 50, 0, 0, 0, 25, 0, 1, 0, 10, 20, 30, 0, 0, 0, 0])],
  strips: [
    { gpu: 0, queue: null, name: "", ops: 3, busy: 44, recorded: { start: [0], end: [400] } },
    { gpu: 0, queue: 7_000_000, name: "", ops: 3, busy: 10 },
  ],
  ops: {
    names: ["gemm", "add"],
    strip: packed([1, 1, 1]),
    start: packed([10, 100, 200], 2),
    duration: packed([40, 300, 5], 2),
    name: packed([0, 1, 0]),
    classes: [packed([0, 1, 0])],
  },
  markers: {
    lanes: [{ process: 0, thread: 9, depth: 2 }],
    names: ["step", "inner"],
    lane: packed([0, 0]),
    depth: packed([0, 1]),
    start: packed([0, 100], 2),
    duration: packed([400, 30], 2),
    name: packed([0, 1]),
  },
});

test("rows are markers, GPUs and queues with their words", async () => {
  const source = await EmbeddedSource.load(page());

  const told = source.rows.map((row) => [row.id, row.kind, row.label, row.detail, row.planes]);
  assert.deepEqual(told, [
    ["markers/0/9", "markers", "thread 9", "", 2],
    ["gpu/0", "gpu", "GPU 0", "≈ 44.0 % busy", 1],
    ["queue/0/7000000", "queue", "queue …6acfc0", "", 1],
  ]);
  assert.deepEqual([source.span, source.origin], [400, "1000"]);
});

test("pixels have the time-weighted shares of bins, of 255", async () => {
  const source = await EmbeddedSource.load(page());
  const [, gpu] = source.rows;

  const { classes, shares, isExact } = source.columns(gpu, 0, { scale: 150, first: 0, count: 3 });

  assert.deepEqual(classes, [0, 1]);
  assert.equal(isExact, true);
  // class a: 150 of [100 %, 50 %, 0], b: 25 % of the second bin, 1 % of the fourth
  const of255 = (percent) => Math.max(1, Math.round((255 * percent) / 100));
  assert.deepEqual([...shares], [of255((100 * 100 + 50 * 50) / 150), of255((50 * 50) / 150), 0, of255((25 * 50) / 150), of255((25 * 50) / 150), of255((1 * 100) / 150)]);
  const beyond = source.columns(gpu, 0, { scale: 150, first: 3, count: 2 });
  assert.deepEqual([...beyond.shares], [0, 0, 0, 0]);
});

test("zoomed in a pixel has its bin's share", async () => {
  const source = await EmbeddedSource.load(page());
  const { shares } = source.columns(source.rows[1], 0, { scale: 10, first: 9, count: 2 });

  assert.deepEqual([...shares], [255, 128, 0, 64]);
});

test("boxes are ranges of three pixels and more that touch the window", async () => {
  const source = await EmbeddedSource.load(page());
  const queue = source.rows[2];

  const told = (viewport) => {
    const boxes = source.boxes(queue, 0, viewport);
    return Array.from({ length: boxes.length }, (_, i) => [boxes.start[i], boxes.duration[i], source.nameOf(queue, boxes.name[i]), boxes.class[i], boxes.row[i]]);
  };
  assert.deepEqual(told({ scale: 10, first: 0, count: 40 }), [[10, 40, "gemm", 0, 0], [110, 300, "add", 1, 1]]);
  assert.deepEqual(told({ scale: 1, first: 200, count: 200 }), [[110, 300, "add", 1, 1], [310, 5, "gemm", 0, 2]]);
  assert.deepEqual(told({ scale: 14, first: 0, count: 7 }), []);
  assert.equal(source.boxes(source.rows[1], 0, { scale: 1, first: 0, count: 400 }).length, 0, "the GPU's are in its queue");
});

test("markers have a plane for each depth, with exact shares", async () => {
  const source = await EmbeddedSource.load(page());
  const markers = source.rows[0];

  const { shares, classes } = source.columns(markers, 0, { scale: 20, first: 4, count: 4 });

  assert.deepEqual(classes, [0]);
  assert.deepEqual([...shares], [255, 255, 255, 255, 0, 255, 128, 0]);
  const boxes = source.boxes(markers, 0, { scale: 10, first: 0, count: 40 });
  assert.deepEqual([[...boxes.depth], [...boxes.start], [...boxes.name]], [[0, 1], [0, 100], [0, 1]]);
});

test("what was asked before is the same object, until the scale is another", async () => {
  const source = await EmbeddedSource.load(page());
  const [, gpu] = source.rows;
  const viewport = { scale: 10, first: 0, count: 4 };
  const before = source.columns(gpu, 0, viewport);

  assert.equal(source.columns(gpu, 0, { ...viewport }), before);
  assert.notEqual(source.columns(gpu, 0, { ...viewport, scale: 11 }), before);
});

test("each level has half the bins of the one before and the same time", () => {
  const finest = Uint8Array.from({ length: 2 * 1500 }, (_, i) => (i * 7) % 101);
  const levels = shareLevels(finest, 2, 1500, 10);

  assert.deepEqual(levels.map((level) => [level.bins, level.bin]), [[1500, 10], [750, 20], [375, 40]]);
  for (const number of [0, 1]) {
    const whole = shareBetween(levels[0], number, 0, 15_000);
    for (const level of levels) assert.ok(Math.abs(shareBetween(level, number, 0, 15_000) - whole) < 1e-3);
  }
  assert.deepEqual([5, 10, 19, 20, 39, 40, 1e6].map((width) => levelFor(levels, width).bin), [10, 10, 10, 20, 20, 40, 40]);
});
