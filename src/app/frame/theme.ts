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
