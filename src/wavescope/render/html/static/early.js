"use strict";
// Before anything is shown: scripts run here, and the reader's own choice of colours holds.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  try {
    const theme = localStorage.getItem("wavescope-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Pages from a mail may keep nothing; the system's colours are used.
  }
})();
