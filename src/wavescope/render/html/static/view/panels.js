// The tabs of the dock, in their order: one import and one entry for each panel.

import { panel as compare } from "./panel_compare.js";
import { panel as findings } from "./panel_findings.js";
import { panel as flame } from "./panel_flame.js";
import { panel as kernels } from "./panel_kernels.js";
import { panel as details } from "./panel_details.js";
import { panel as range } from "./panel_range.js";
import { panel as save } from "./panel_save.js";
import { panel as search } from "./panel_search.js";
import { panel as sql } from "./panel_sql.js";
import { panel as steps } from "./panel_steps.js";

/** @type {import("./types").Panel[]} */
export const PANELS = [details, range, search, kernels, flame, findings, steps, compare, sql, save];
