/** What the page asks of its window: the theme, no frame around it, and a question before it closes. */
import { useJobs } from "../stores/jobs.ts";
import { isActive, useRun } from "../stores/run/run.ts";
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

/**
 * Whether the page is in a frame of another page. If so, it shows only a link that opens it in a new tab, which prevents
 * clickjacking on hosts that send no headers.
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

/** Makes the browser ask before it closes the tab during a run, or while a file is written, which would be lost. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    const writes = Object.values(useJobs.getState()).some(({ kind, state }) => kind.writes && state === "running");
    if (writes || isActive(useRun.getState().state)) event.preventDefault();
  });
}
