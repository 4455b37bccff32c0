import assert from "node:assert/strict";
import test from "node:test";

import { heightOf, Layout } from "../../src/wavescope/render/html/static/timeline/layout.js";

const row = (id, kind, planes = 1) => ({ id, kind, label: id, detail: "", parent: "", depth: planes, planes, count: 0, unit: "", isFolded: false, recorded: null, table: "ops" });
const GPU = { row: row("gpu", "gpu") };
const QUEUE = { row: row("queue", "queue") };
const CALLS = { row: row("calls", "calls", 3) };
const topsOf = (layout) => layout.rows.map((laid) => [laid.row.id, laid.top, laid.height]);

test("rows lie one below the other with gaps by kind", () => {
  const layout = new Layout(42);
  layout.set([CALLS, GPU, QUEUE, { row: row("gpu2", "gpu"), height: 10 }]);

  assert.deepEqual(topsOf(layout), [["calls", 42, 48], ["gpu", 96, 38], ["queue", 137, 20], ["gpu2", 165, 10]]);
  assert.equal(layout.height, 182);
  assert.equal(layout.furthest, 0, "the canvas grows");
});

test("pinned rows stay above the others, which scroll as far as there is anything", () => {
  const layout = new Layout(20);
  layout.room = 80;
  layout.set([QUEUE, { ...GPU, isPinned: true }, CALLS]);
  assert.deepEqual(topsOf(layout), [["gpu", 20, 38], ["queue", 61, 20], ["calls", 83, 48]]);

  assert.equal(layout.scrollTo(30), true);
  assert.deepEqual(topsOf(layout), [["gpu", 20, 38], ["queue", 31, 20], ["calls", 53, 48]]);
  assert.equal(layout.rowAt(35).row.id, "gpu", "what scrolled below a pinned row is not there");
  assert.equal(layout.rowAt(60), null, "nor is what scrolled into its gap");
  assert.equal(layout.rowAt(62).row.id, "calls");
  layout.scrollTo(1000);
  assert.equal(layout.scroll, 141 - 80);
  assert.equal(layout.scrollTo(1000), false);
  layout.scrollTo(-5);
  assert.equal(layout.scroll, 0);
});

test("pinned rows that leave too little room scroll with the others", () => {
  const layout = new Layout(20);
  layout.room = 120;
  layout.set([QUEUE, { row: row("deep", "calls", 5), isPinned: true }]);
  assert.deepEqual(topsOf(layout), [["deep", 20, 80], ["queue", 106, 20]]);
  assert.equal(layout.scrolledTop, 20);

  layout.scrollTo(1000);
  assert.deepEqual(topsOf(layout), [["deep", 8, 80], ["queue", 94, 20]]);
  layout.room = 200;
  layout.place();
  assert.equal(layout.scrolledTop, 106);
});

test("a queue is as high as ops that ran at once need, up to a limit", () => {
  const heights = [1, 2, 5, 64].map((depth) => heightOf({ ...row("queue", "queue"), depth }));

  assert.deepEqual(heights, [20, 28, 70, 160]);
});

test("a row is scrolled into sight as little as possible", () => {
  const layout = new Layout(20);
  layout.room = 100;
  layout.set(Array.from({ length: 20 }, (_, i) => ({ row: row(`q${i}`, "queue"), height: 18 })));
  const topOf = (id) => layout.row(id).top;

  assert.equal(layout.reveal("q1"), false);
  assert.equal(layout.reveal("q10"), true);
  assert.equal(topOf("q10") + 18, 96);
  layout.reveal("q2");
  assert.equal(topOf("q2"), 20);
});

test("of a row that is higher than its room what is meant is scrolled into sight", () => {
  const layout = new Layout(20);
  layout.room = 100;
  layout.set([QUEUE, { row: row("stacks", "calls", 40) }]);
  const middleOf = (depth) => layout.row("stacks").top + 16 * depth + 8;

  layout.reveal("stacks");
  assert.equal(layout.row("stacks").top, 20, "its top");
  layout.reveal("stacks", 30);
  assert.equal(middleOf(30), 96 - 8);
  assert.equal(layout.reveal("stacks", 28), false, "that is there already");
  layout.reveal("stacks", 3);
  assert.equal(middleOf(3), 20 + 8);
});
