// Light or dark: the setting of the system until the reader chooses.

function startTheme(redraw = () => {}) {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const showLabel = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`);
  };
  try {
    root.dataset.theme = localStorage.getItem("nlgauge-theme") || "";
  } catch {
    root.dataset.theme = "";
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("nlgauge-theme", root.dataset.theme);
    } catch {
      /* a file may have no storage */
    }
    showLabel();
    redraw();
  });
  system.addEventListener("change", () => {
    showLabel();
    redraw();
  });
  showLabel();
}
