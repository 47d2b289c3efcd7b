export type Theme = "light" | "dark";

/** Line colours, the same hue order in both themes; contrast of at least 3:1, distinguishable with colour blindness. */
export const LINE_COLOURS: Readonly<Record<Theme, readonly string[]>> = {
  light: ["#0050D0", "#E8590C", "#0CA678", "#C26BB8", "#7A0018", "#0B4F4A"],
  dark: ["#4F8DFF", "#FF7A2E", "#1EC28B", "#D98AE0", "#FFF0B3", "#9A6B5B"],
};

/** The active theme: the page's choice, else the system's. */
export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Calls back when the page or the system changes the theme; returns the function that stops it. */
export function onThemeChange(changed: () => void): () => void {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  query.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    query.removeEventListener("change", changed);
  };
}
