import assert from "node:assert/strict";
import test from "node:test";

import { PANELS } from "../../src/wavescope/render/html/static/view/panels.js";

/** Keys that do something else wherever nobody types: moving, rows, colours, links of what is selected. */
const TAKEN = [..."wasdfmrtgcjkl,.?[]"];

test("every panel has an id and a key of its own, if any", () => {
  const ids = PANELS.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const keys = PANELS.flatMap(({ key }) => (key ? [key] : []));
  assert.equal(new Set([...keys, ...TAKEN]).size, keys.length + TAKEN.length);
});
