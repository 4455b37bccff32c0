import assert from "node:assert/strict";
import test from "node:test";

import { axisStep, duration, position } from "../../src/wavescope/render/html/static/timeline/time_text.js";

test("lengths have four digits or so, in the unit that suits them", () => {
  const spelled = [0, 999, 1000, 12_345, 123_456, 1_234_567, 59e9].map((ns) => duration(ns));
  assert.deepEqual(spelled, ["0 ns", "999 ns", "1.000 us", "12.35 us", "123.5 us", "1.235 ms", "59.00 s"]);
  assert.equal(duration(-1500), "-1.500 us");
  assert.equal(duration(1234.4, "cycles"), "1,234 cycles");
});

test("places have the unit of the largest and digits enough for the step", () => {
  assert.equal(position(1_500_000, 100_000, 2_000_000), "1.5 ms");
  assert.equal(position(1_500_000, 1_000, 2_000_000), "1.500 ms");
  assert.equal(position(500, 1, 999), "500 ns");
  assert.equal(position(5e9, 1e9, 9e9), "5 s");
  assert.equal(position(20_000, 1, 30_000, "cycles"), "20,000 cycles");
});

test("marks of the axis are 1, 2 or 5 apart", () => {
  assert.deepEqual([0.3, 1, 1.1, 3, 5.1, 70, 900].map(axisStep), [0.5, 1, 2, 5, 10, 100, 1000]);
});
