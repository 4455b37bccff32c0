// One sequence of colours for all measures: from what is near the page's ground to what stands out.
// Its brightness only falls (or, in the dark, only rises), so it is read without telling hues apart.

/** Equal steps of perceived brightness, pale yellow to deep purple. */
export const STOPS = ["#fdf8dd", "#fadf9c", "#fdbd69", "#fd9149", "#ed634b", "#cc3964", "#9a2172", "#611c6f", "#2f1653"];

/** @param {string} colour as #rrggbb */
export const channelsOf = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/**
 * Red, green and blue of each of `count` shades, from the least value to the greatest.
 * @param {boolean} isDark
 * @param {number} [count]
 */
export const shades = (isDark, count = 256) => {
  const stops = (isDark ? [...STOPS].reverse() : STOPS).map(channelsOf);
  const found = new Uint8ClampedArray(3 * count);
  for (let i = 0; i < count; i += 1) {
    const at = (i / (count - 1)) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    for (let part = 0; part < 3; part += 1) {
      found[3 * i + part] = stops[below][part] + (at - below) * (stops[below + 1][part] - stops[below][part]);
    }
  }
  return found;
};

/** Whether the page is shown in its dark colours. */
export const isDark = () => {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
