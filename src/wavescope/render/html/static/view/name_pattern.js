// A regular expression that finds one name alone.

const LONGEST_PATTERN = 1000;
/** Characters of a name that a search looks at. */
const LONGEST_MATCHED = 4096;
/** Of a name that is too long for a pattern: characters at either end. */
const END = 200;

/** @param {string[]} characters */
const escaped = (characters) =>
  characters.join("").replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r");

/**
 * Of a very long name both ends count, and how much is between them.
 * @param {string} name
 */
export function patternOf(name) {
  const characters = [...name].slice(0, LONGEST_MATCHED);
  const whole = `^${escaped(characters)}$`;
  if (whole.length <= LONGEST_PATTERN) return whole;
  const between = characters.length - 2 * END;
  return `^${escaped(characters.slice(0, END))}(?s:.{${between}})${escaped(characters.slice(-END))}$`;
}
