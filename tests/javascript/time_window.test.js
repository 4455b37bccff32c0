import assert from "node:assert/strict";
import test from "node:test";

import { BLOCK, TimeWindow } from "../../src/wavescope/render/html/static/timeline/time_window.js";

const pixelsOf = (shown) => [shown.from, shown.to, shown.first, shown.scale];

test("at first everything is shown", () => {
  assert.deepEqual(pixelsOf(new TimeWindow(1000, 100)), [0, 1000, 0, 10]);
});

test("a zoom keeps the time under the pointer where it is", () => {
  const shown = new TimeWindow(1000, 100);
  const before = shown.pixelOf(250);

  shown.zoom(0.5, 250);

  assert.deepEqual(pixelsOf(shown), [125, 625, 25, 5]);
  assert.equal(shown.pixelOf(250), before);
});

test("a zoom out of the edge ends at all there is", () => {
  const shown = new TimeWindow(1000, 100);
  shown.show(100, 300);

  shown.zoom(3, 100);

  assert.deepEqual(pixelsOf(shown), [100, 700, 17, 6]);
  shown.zoom(100, 100);
  assert.deepEqual(pixelsOf(shown), [0, 1000, 0, 10]);
});

test("a window is never narrower than the least, nor wider than everything", () => {
  const shown = new TimeWindow(1000, 100, 50);
  shown.show(990, 991);
  assert.deepEqual(pixelsOf(shown), [950, 1000, 1900, 0.5]);
  const short = new TimeWindow(30, 100, 50);
  short.show(10, 11);
  assert.deepEqual(pixelsOf(short), [0, 30, 0, 0.3]);
});

test("what is asked for is kept, what is drawn begins at the nearest whole pixel", () => {
  const shown = new TimeWindow(1000, 100);
  shown.show(123, 323);

  assert.deepEqual(pixelsOf(shown), [123, 323, 62, 2]);
  assert.equal(shown.timeAt(0), 124);
  assert.equal(shown.pixelOf(124), 0);
});

test("moving by pixels moves by whole ones and keeps the scale, at any scale", () => {
  for (const [span, count, length] of [[1e9, 1227, 1e7 / 3], [1e13, 3840, 123.456], [39_539, 1227, 39_539 / 7]]) {
    const shown = new TimeWindow(span, count);
    shown.show(span / 3, span / 3 + length);
    const { scale, first } = shown;
    for (const pixels of [1, -7, 512, 100.4, -1000]) {
      shown.moveBy(first, pixels);
      assert.equal(shown.scale, scale);
      assert.equal(shown.first, first + Math.round(pixels));
      assert.equal(shown.from, shown.first * scale, "the window begins at a whole pixel");
    }
  }
});

test("moving stops at both ends", () => {
  const shown = new TimeWindow(1000, 100);
  shown.show(400, 600);
  shown.moveBy(shown.first, -1000);
  assert.deepEqual(pixelsOf(shown), [0, 200, 0, 2]);
  shown.moveTo(5000);
  assert.deepEqual(pixelsOf(shown), [800, 1000, 400, 2]);
});

test("another width shows the same time", () => {
  const shown = new TimeWindow(1000, 100);
  shown.show(200, 400);
  shown.resize(50);
  assert.deepEqual(pixelsOf(shown), [200, 400, 50, 4]);
});

test("a trace that grows stays where it is, or whole where it was whole", () => {
  const whole = new TimeWindow(1000, 100);
  whole.grow(2000);
  assert.deepEqual(pixelsOf(whole), [0, 2000, 0, 20]);
  whole.show(100, 300);
  whole.grow(4000);
  assert.deepEqual(pixelsOf(whole), [100, 300, 50, 2]);
});

test("blocks are numbered from time 0 on", () => {
  const shown = new TimeWindow(1e6, 1000);
  shown.show(5e5, 5e5 + 1000);
  assert.equal(shown.blockAt(0), Math.floor(5e5 / BLOCK));
  assert.equal(shown.blockAt(BLOCK), shown.blockAt(0) + 1);
});
