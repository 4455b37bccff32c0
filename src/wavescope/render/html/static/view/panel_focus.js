// Which panel answers what happens in the timeline, without taking another away from its user.

/** @typedef {import("./types").App} App */

/**
 * Open a panel for what was just done in the timeline. A panel that is being used stays.
 * @param {App} app
 * @param {HTMLElement} element the panel's own
 * @param {string} id
 */
export function openFor(app, element, id) {
  if (!element.hidden) return;
  const open = element.parentElement?.querySelector(":scope > .panel:not([hidden])");
  const at = document.activeElement;
  const isInTimeline = at !== null && at !== document.body && !element.closest("#dock")?.contains(at);
  if (!open || isInTimeline) app.openPanel(id);
}

/**
 * Put text where it can be pasted from.
 * @param {App} app
 * @param {string} text
 */
export async function copyText(app, text) {
  try {
    await navigator.clipboard.writeText(text);
    app.say("Copied");
  } catch {
    app.say("The browser does not allow copying here");
  }
}
