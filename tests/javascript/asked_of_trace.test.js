import assert from "node:assert/strict";
import test from "node:test";

import { recordsOf } from "../../src/wavescope/render/html/static/view/asked_of_trace.js";

test("rows of a result are known by the names of its columns", () => {
  const result = { tables: [{ name: "a", columns: [{ name: "x" }, { name: "y" }], rows: [[1, 2], [3, null]] }] };
  assert.deepEqual(recordsOf(result, "a"), [{ x: 1, y: 2 }, { x: 3, y: null }]);
  assert.deepEqual(recordsOf(result, "b"), []);
});
