// The tabs of the dock, in their order: one import and one entry for each panel.

import { panel as compare } from "./panel_compare.js";
import { panel as details } from "./panel_details.js";
import { panel as range } from "./panel_range.js";
import { panel as save } from "./panel_save.js";
import { panel as search } from "./panel_search.js";
import { panel as sql } from "./panel_sql.js";

/** @type {import("./types").Panel[]} */
export const PANELS = [details, range, search, compare, sql, save];
