// Elements made by hand: text is text, whatever a trace calls its kernels.

/** Browsers complain of those that have neither an id nor a name. */
const FIELDS = ["input", "select", "textarea"];

/**
 * An element with attributes, listeners (`onclick` and the like, functions) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes] `class`, `text`, `on...`, properties of boolean value, else attributes
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else made.setAttribute(name, String(value));
  }
  if (FIELDS.includes(tag) && !made.id && !made.hasAttribute("name")) made.setAttribute("name", "field");
  made.append(...children.flatMap((child) => child ?? []));
  return made;
}
