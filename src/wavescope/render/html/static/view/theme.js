// Light, dark, or as the system says; the choice is kept.

const KEY = "wavescope-theme";
const CHOICES = ["", "light", "dark"];
const TITLES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

/** @param {HTMLButtonElement} button */
export function startTheme(button) {
  const root = document.documentElement;
  const tell = () => {
    const chosen = /** @type {keyof typeof TITLES} */ (root.dataset.theme ?? "");
    button.textContent = TITLES[chosen];
  };
  button.addEventListener("click", () => {
    const next = CHOICES[(CHOICES.indexOf(root.dataset.theme ?? "") + 1) % CHOICES.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    keep(next);
    tell();
    document.dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new Event("themechange"));
  });
  tell();
}

/** @param {string} choice */
function keep(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // A browser that keeps nothing has the system's colours next time.
  }
}
