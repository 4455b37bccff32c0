// Keys that work wherever nobody types, and what they do in words.

/** @typedef {{ keys: string, does: string }} KeyHelp */

/** @type {KeyHelp[]} */
export const KEY_HELP = [
  { keys: "W S", does: "zoom in, zoom out" },
  { keys: "A D", does: "move left, right" },
  { keys: "↑ ↓", does: "scroll the rows" },
  { keys: "Home", does: "show everything" },
  { keys: "F", does: "zoom to what is selected" },
  { keys: ", .", does: "select the box before, after in its row" },
  { keys: "J K", does: "select the nearest box in the row below, above" },
  { keys: "[ ]", does: "the same kernel before, after" },
  { keys: "L", does: "from an op to its launch, from a launch to its op" },
  { keys: "/", does: "search names; Enter: next hit, Shift+Enter: the one before" },
  { keys: "Esc", does: "select nothing, close the panels" },
  { keys: "Wheel", does: "zoom; with Shift move; on the labels scroll the rows" },
  { keys: "Drag", does: "move; with Shift select a range, with Alt zoom into it" },
  { keys: "M", does: "what dragging does: move, select or zoom" },
  { keys: "R", does: "go to the rows: ↑ ↓ choose, ← → fold, P pins, H hides, Alt+↑ ↓ moves" },
  { keys: "G", does: "look for rows" },
  { keys: "T", does: "go to the timeline" },
  { keys: "C", does: "colour by something else" },
  { keys: "?", does: "this list" },
];

/** @param {EventTarget | null} target */
export function isTyping(target) {
  const at = /** @type {HTMLElement | null} */ (target);
  return Boolean(at?.closest?.("input, textarea, select, [contenteditable], dialog"));
}

/**
 * @param {Record<string, () => void>} actions by key
 * @param {(event: KeyboardEvent) => boolean} otherwise
 */
export function listenToKeys(actions, otherwise) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (Object.hasOwn(actions, key)) actions[key]();
    else if (!otherwise(event)) return;
    event.preventDefault();
  });
}
