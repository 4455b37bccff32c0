// The tabs of the dock, in their order: one import and one entry for each panel.

/** @type {import("./types").Panel[]} */
export const PANELS = [];
