// Draws the roofline in the page's own colours, anew when they change.

const box = /** @type {HTMLElement} */ (document.getElementById("roofline"));
const spec = JSON.parse(document.getElementById("roofline-spec")?.textContent ?? "");
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

/**
 * @param {string} name
 * @param {string} value
 */
const line = (name, value) => {
  const row = document.createElement("div");
  const label = document.createElement("span");
  label.textContent = name;
  row.append(label, ` ${value}`);
  return row;
};

/**
 * Names come from programs: they are set as text, never as markup.
 * @param {unknown} _handler
 * @param {MouseEvent} event
 * @param {unknown} _item
 * @param {Record<string, string> | null} value
 */
const tooltip = (_handler, event, _item, value) => {
  tip.hidden = !value;
  if (!value) return;
  tip.replaceChildren(...Object.entries(value).map(([name, text]) => line(name, text)));
  const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(Math.min(event.clientX + 14, right), 8) + scrollX}px`;
  tip.style.top = `${event.clientY + 14 + scrollY}px`;
};

const colours = () => {
  const style = getComputedStyle(document.body);
  const probe = document.createElement("i");
  document.body.append(probe);
  /** @param {string} name */
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = { text: style.color, soft: read("--soft"), line: read("--line") };
  probe.remove();
  return found;
};

let isNarrow = false;
let drawing = Promise.resolve();
const draw = async () => {
  const { text, soft, line: rule } = colours();
  /** @type {Record<string, string | number>} */
  const words = { labelColor: soft, titleColor: text, symbolBaseFillColor: soft };
  const config = {
    background: "transparent",
    view: { stroke: rule },
    axis: { labelColor: soft, titleColor: text, gridColor: rule, domainColor: soft, tickColor: soft },
    legend: words,
    text: { color: text },
  };
  isNarrow = box.clientWidth < 700;
  if (isNarrow) config.legend = { ...words, orient: "bottom", columns: 2 };
  await vegaEmbed(box, spec, {
    mode: "vega-lite",
    renderer: "svg",
    ast: true,
    actions: false,
    defaultStyle: false,
    tooltip,
    config,
  });
};
const redraw = () => {
  drawing = drawing.then(draw);
};

document.addEventListener("themechange", redraw);
addEventListener("resize", () => {
  if (isNarrow !== box.clientWidth < 700) redraw();
});
redraw();
