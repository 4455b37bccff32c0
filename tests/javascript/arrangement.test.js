import assert from "node:assert/strict";
import test from "node:test";

import { Arrangement } from "../../src/wavescope/render/html/static/view/arrangement.js";

const row = (id, parent = "", more = {}) => ({
  id, parent, label: id.toUpperCase(), kind: "queue", planes: 1, isFolded: false, detail: "", ...more,
});
const arranged = () => {
  const arrangement = new Arrangement();
  arrangement.setRows([
    row("g0", "", { kind: "gpu" }), row("a", "g0"), row("b", "g0"), row("c", "g0"),
    row("g1", "", { kind: "gpu", isFolded: true }), row("d", "g1"), row("p"), row("calls", "p", { planes: 4 }),
  ]);
  return arrangement;
};
const ids = (arrangement) => arrangement.listed().map(({ row: { id } }) => id);

test("rows that are folded at first hide what is below them", () => {
  assert.deepEqual(ids(arranged()), ["g0", "a", "b", "c", "g1", "p", "calls"]);
});

test("folding hides children, once more shows them, and only differences are kept", () => {
  const rows = arranged();
  rows.fold("g0");
  rows.fold("g1");
  assert.deepEqual(ids(rows), ["g0", "g1", "d", "p", "calls"]);
  assert.deepEqual(rows.state().folded, [["g0", true], ["g1", false]]);
  rows.fold("g0");
  rows.fold("g1");
  assert.deepEqual(rows.state().folded, []);
});

test("a row of several depths folds without children, one of a single depth does not", () => {
  const rows = arranged();
  rows.fold("calls");
  rows.fold("a");
  assert.deepEqual(rows.state().folded, [["calls", true]]);
  assert.equal(rows.listed().at(-1).isFolded, true);
});

test("pinned rows come first, in the order of pinning, and leave their place", () => {
  const rows = arranged();
  rows.pin("c");
  rows.pin("d");
  assert.deepEqual(ids(rows), ["c", "d", "g0", "a", "b", "g1", "p", "calls"]);
  rows.move("d", -1);
  assert.deepEqual(ids(rows).slice(0, 2), ["d", "c"]);
  rows.pin("c");
  assert.deepEqual(ids(rows), ["d", "g0", "a", "b", "c", "g1", "p", "calls"]);
});

test("what is below a pinned row stays where it was", () => {
  const rows = arranged();
  rows.pin("g0");
  assert.deepEqual(ids(rows), ["g0", "a", "b", "c", "g1", "p", "calls"]);
  assert.deepEqual(rows.listed().map(({ level }) => level).slice(0, 4), [0, 0, 0, 0]);
});

test("rows move among those with the same parent, past hidden ones, and no further", () => {
  const rows = arranged();
  rows.hide("b");
  assert.equal(rows.move("a", 1), true);
  assert.deepEqual(ids(rows), ["g0", "c", "a", "g1", "p", "calls"]);
  assert.equal(rows.move("c", -1), false);
  rows.showAgain();
  assert.deepEqual(ids(rows), ["g0", "b", "c", "a", "g1", "p", "calls"]);
  assert.equal(rows.moveTo("a", "d"), false);
  rows.moveTo("p", "g0");
  assert.deepEqual(ids(rows), ["p", "calls", "g0", "b", "c", "a", "g1"]);
});

test("rows that come later stand behind those that were moved", () => {
  const rows = arranged();
  rows.moveTo("c", "a");
  rows.setRows([...rows.rows, row("e", "g0")]);
  assert.deepEqual(ids(rows).slice(0, 5), ["g0", "c", "a", "b", "e"]);
});

test("the filter finds words in a row and what it is below of, folded or not", () => {
  const rows = arranged();
  rows.filter = "g1 d";
  assert.deepEqual(ids(rows), ["g1", "d"]);
  rows.filter = "g0";
  assert.deepEqual(ids(rows), ["g0", "a", "b", "c"]);
  rows.filter = " ";
  assert.equal(ids(rows).length, 7);
});

test("to reveal a row unfolds, shows and looks past the filter", () => {
  const rows = arranged();
  rows.hide("g1");
  rows.hide("d");
  rows.filter = "calls";
  rows.reveal("d");
  assert.deepEqual(ids(rows), ["g0", "a", "b", "c", "g1", "d", "p", "calls"]);
});

test("a state is restored as it was, also before its rows are known", () => {
  const rows = arranged();
  rows.pin("b");
  rows.hide("c");
  rows.fold("g1");
  rows.moveTo("p", "g0");
  const again = new Arrangement();
  again.restore(JSON.parse(JSON.stringify(rows.state())));
  again.setRows(rows.rows);
  assert.deepEqual(ids(again), ids(rows));
  assert.deepEqual(again.hiddenRows().map(({ id }) => id), ["c"]);
  again.reset();
  assert.deepEqual(ids(again), ids(arranged()));
});
