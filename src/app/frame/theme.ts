import { useSession } from "../stores/session.ts";

/** Sets `data-theme` on the root to the user's choice, or to the system theme. */
export function followTheme(): void {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const { theme } = useSession.getState();
    document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  };
  apply();
  dark.addEventListener("change", apply);
  useSession.subscribe((now, before) => {
    if (now.theme !== before.theme) apply();
  });
}

/** Prevents clickjacking on hosts that send no headers: the page does not run inside a frame of another page. */

/**
 * Whether the page is in a frame. If so, it shows only a link that opens it in a new tab.
 * @param root element of the page
 */
export function refuseFrame(root: HTMLElement | null): boolean {
  if (window.top === window.self) return false;
  const link = document.createElement("a");
  link.href = location.href;
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = "Open sa2va-lab in a new tab; it does not run inside another page";
  root?.replaceChildren(link);
  return true;
}
