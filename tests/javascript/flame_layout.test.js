import assert from "node:assert/strict";
import test from "node:test";

import { FlameLayout } from "../../src/wavescope/render/html/static/view/flame_layout.js";

// all 100: a 60 (b 50 (d 20)), b 30; 10 are left out.
const LAYOUT = () => new FlameLayout({
  names: ["all", "b", "a", "d"],
  nodes: { parent: [-1, 0, 0, 2, 3], name: [0, 1, 2, 1, 3], value: [100, 30, 60, 50, 20], self: [0, 30, 10, 30, 20], count: [3, 1, 2, 1, 1] },
});

test("the heaviest child lies first, and each child inside of its parent", () => {
  const layout = LAYOUT();
  assert.deepEqual(layout.children[0], [2, 1]);
  assert.deepEqual([0, 1, 2, 3, 4].map((node) => layout.place(node, 0)), [[0, 1], [0.6, 0.9], [0, 0.6], [0, 0.5], [0, 0.2]]);
  assert.deepEqual([...layout.depth], [0, 1, 1, 2, 3]);
  assert.equal(layout.deepest, 3);
});

test("what is focused is as wide as the picture, and so is what it is below", () => {
  const layout = LAYOUT();
  assert.deepEqual(layout.place(0, 3), [0, 1]);
  assert.deepEqual(layout.place(2, 3), [0, 1]);
  assert.deepEqual(layout.place(4, 3), [0, 0.4]);
  assert.deepEqual(layout.place(1, 2), [1, 1.5]);
});

test("a place of the picture is in one box or in none", () => {
  const layout = LAYOUT();
  assert.equal(layout.at(0.7, 0, 0), 0);
  assert.equal(layout.at(0.599, 1, 0), 2);
  assert.equal(layout.at(0.6, 1, 0), 1);
  assert.equal(layout.at(0.9, 1, 0), -1);
  assert.equal(layout.at(0.55, 2, 0), -1);
  assert.equal(layout.at(0.99, 1, 3), 2);
  assert.equal(layout.at(0.39, 3, 3), 4);
  assert.equal(layout.at(0.1, 9, 0), -1);
});

test("time that is found counts once, of what is focused", () => {
  const layout = LAYOUT();
  const isB = (name) => name === "b";
  const whole = layout.found(isB, 0);
  assert.deepEqual([...whole.isFound], [0, 1, 0, 1, 0]);
  assert.deepEqual([whole.count, whole.share], [2, 0.8]);
  assert.equal(layout.found((name) => name === "b" || name === "d", 0).share, 0.8);
  assert.equal(layout.found(isB, 2).share, 50 / 60);
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
