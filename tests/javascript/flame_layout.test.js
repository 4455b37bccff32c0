import assert from "node:assert/strict";
import test from "node:test";

import { FlameLayout } from "../../src/wavescope/render/html/static/view/flame_layout.js";

// all 128: a 64 (b 32 (d 16)), b 32; 32 are left out.
const LAYOUT = () => new FlameLayout({
  names: ["all", "b", "a", "d"],
  nodes: { parent: [-1, 0, 0, 2, 3], name: [0, 1, 2, 1, 3], value: [128, 32, 64, 32, 16], self: [0, 32, 32, 16, 16], count: [3, 1, 2, 1, 1] },
});

test("the heaviest child lies first, and each child inside of its parent", () => {
  const layout = LAYOUT();
  assert.deepEqual(layout.children[0], [2, 1]);
  assert.deepEqual([0, 1, 2, 3, 4].map((node) => layout.place(node, 0)), [[0, 1], [0.5, 0.75], [0, 0.5], [0, 0.25], [0, 0.125]]);
  assert.deepEqual([...layout.depth], [0, 1, 1, 2, 3]);
  assert.equal(layout.deepest, 3);
});

test("what is focused is as wide as the picture, and so is what it is below", () => {
  const layout = LAYOUT();
  assert.deepEqual(layout.place(0, 3), [0, 1]);
  assert.deepEqual(layout.place(2, 3), [0, 1]);
  assert.deepEqual(layout.place(4, 3), [0, 0.5]);
  assert.deepEqual(layout.place(1, 2), [1, 1.5]);
});

test("a place of the picture is in one box or in none", () => {
  const layout = LAYOUT();
  assert.equal(layout.at(0.7, 0, 0), 0);
  assert.equal(layout.at(0.499, 1, 0), 2);
  assert.equal(layout.at(0.5, 1, 0), 1);
  assert.equal(layout.at(0.75, 1, 0), -1);
  assert.equal(layout.at(0.3, 2, 0), -1);
  assert.equal(layout.at(0.99, 1, 3), 2);
  assert.equal(layout.at(0.49, 3, 3), 4);
  assert.equal(layout.at(0.1, 9, 0), -1);
});

test("time that is found counts once, of what is focused", () => {
  const layout = LAYOUT();
  const isB = (name) => name === "b";
  const whole = layout.found(isB, 0);
  assert.deepEqual([...whole.isFound], [0, 1, 0, 1, 0]);
  assert.deepEqual([whole.count, whole.share], [2, 0.5]);
  assert.equal(layout.found((name) => name === "b" || name === "d", 0).share, 0.5);
  assert.equal(layout.found(isB, 2).share, 0.5);
  // Inside of what is found everything is.
  assert.equal(layout.found(isB, 4).share, 1);
  assert.equal(layout.found(() => false, 0).share, 0);
});

test("a tree of nothing has a root without time", () => {
  const layout = new FlameLayout({ names: ["all"], nodes: { parent: [-1], name: [0], value: [0], self: [0], count: [0] } });
  assert.deepEqual(layout.place(0, 0), [0, 1]);
  assert.equal(layout.at(0.5, 0, 0), 0);
  assert.equal(layout.found(() => true, 0).share, 0);
});
