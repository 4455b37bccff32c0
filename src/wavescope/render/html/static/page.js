"use strict";
// The button that switches between light, dark and the system's colours.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const next = { auto: "light", light: "dark", dark: "auto" };
  const words = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" };

  const current = () => root.dataset.theme ?? "auto";

  const keep = (theme) => {
    try {
      localStorage.setItem("wavescope-theme", theme);
    } catch {
      // Nothing may be kept: the choice holds until the page is closed.
    }
  };

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
  const links = new Map([...document.querySelectorAll("nav .links a")].map((a) => [a.hash.slice(1), a]));
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
  for (const id of links.keys()) watcher.observe(document.getElementById(id));
})();
