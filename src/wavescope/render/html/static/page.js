// The button that switches between light, dark and the system's colours.

const root = document.documentElement;
const button = /** @type {HTMLElement} */ (document.getElementById("theme"));
/** @type {Record<string, string>} */
const next = { auto: "light", light: "dark", dark: "auto" };
/** @type {Record<string, string>} */
const words = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" };

const current = () => root.dataset.theme ?? "auto";

/** @param {string} theme */
const keep = (theme) => {
  try {
    localStorage.setItem("wavescope-theme", theme);
  } catch {
    // Nothing may be kept: the choice holds until the page is closed.
  }
};

/** @param {string} theme */
const show = (theme) => {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  button.textContent = words[theme];
  document.dispatchEvent(new CustomEvent("themechange"));
};

button.addEventListener("click", () => {
  const theme = next[current()];
  keep(theme);
  show(theme);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(current()));
show(current());

// Paper is white, whatever the screen is.
addEventListener("beforeprint", () => {
  const before = current();
  show("light");
  addEventListener("afterprint", () => show(before), { once: true });
});

// The navigation marks the section that is being read.
const anchors = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("nav .links a"));
const links = new Map([...anchors].map((a) => [a.hash.slice(1), a]));
const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const link = links.get(entry.target.id);
      if (!link || !entry.isIntersecting) continue;
      for (const other of links.values()) other.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
    }
  },
  { rootMargin: "-15% 0px -75% 0px" },
);
for (const id of links.keys()) {
  const section = document.getElementById(id);
  if (section) watcher.observe(section);
}
