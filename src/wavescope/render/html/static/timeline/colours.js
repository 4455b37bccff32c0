// The page's colours, as a canvas and as pixels take them.

/** @typedef {import("./types").Colouring} Colouring */
/**
 * @typedef {object} Palette
 * @property {string[]} classes
 * @property {Uint32Array} classPixels
 * @property {Uint32Array} faintPixels of what a search did not find
 * @property {string[]} classTexts what is written on a class's colour
 * @property {string} ground
 * @property {string} idle
 * @property {number} idlePixel
 * @property {string} text
 * @property {string} soft
 * @property {string} line
 * @property {number} linePixel
 * @property {string} accent
 * @property {string} series
 * @property {string[]} marker
 * @property {number} markerPixel
 * @property {number} faintMarkerPixel
 * @property {string} font
 */

/** How strong the colours of what a search did not find are. */
export const FAINT = 0.25;

/** @param {string} colour */
const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);

/**
 * A colour as pixels of a canvas hold it, mixed with another where it is to be faint.
 * @param {string} colour
 * @param {number} [strength]
 * @param {string} [other]
 */
export const pixelOf = (colour, strength = 1, other = colour) => {
  const to = channels(other);
  const [r, g, b] = channels(colour).map((value, i) => Math.round(value * strength + to[i] * (1 - strength)));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
};

/** Brightness, from 0 to 1, above which the dark text has the greater contrast of the two. */
const AS_LEGIBLE = 0.198;

/**
 * How bright a colour is, as contrasts of the web's guidelines are computed.
 * @param {string} colour
 */
const brightness = (colour) => {
  const [r, g, b] = channels(colour).map((value) => ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

/**
 * Dark or light, whichever is read more easily.
 * @param {string} colour
 */
export const textOn = (colour) => (brightness(colour) > AS_LEGIBLE ? "#14171d" : "#ffffff");

/**
 * The colours that hold now inside of `element`.
 * @param {HTMLElement} element
 * @param {Colouring | undefined} colouring
 * @returns {Palette}
 */
export const paletteOf = (element, colouring) => {
  const probe = document.createElement("i");
  probe.hidden = true;
  element.append(probe);
  /** @param {string} name */
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const classes = (colouring?.series ?? []).map((number) => read(`--s${number}`));
  const [idle, line, markerA, markerB] = ["--idle", "--line", "--marker-a", "--marker-b"].map(read);
  const ground = read("--panel");
  const found = {
    classes,
    classPixels: Uint32Array.from(classes, (colour) => pixelOf(colour)),
    faintPixels: Uint32Array.from(classes, (colour) => pixelOf(colour, FAINT, idle)),
    classTexts: classes.map(textOn),
    ground,
    idle,
    idlePixel: pixelOf(idle),
    text: read("--text"),
    soft: read("--soft"),
    line,
    linePixel: pixelOf(line),
    accent: read("--accent"),
    series: read("--s0"),
    marker: [markerA, markerB],
    markerPixel: pixelOf(markerB),
    faintMarkerPixel: pixelOf(markerB, FAINT, ground),
    font: getComputedStyle(element).getPropertyValue("--sans").trim() || "sans-serif",
  };
  probe.remove();
  return found;
};
