import type { ReactNode } from "react";
import { Button } from "../components/ui/button.tsx";
import { setTheme, type Theme, useSession } from "../stores/session.ts";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };

/** Cycles through system, light and dark. */
export function ThemeSwitch(): ReactNode {
  const theme = useSession((session) => session.theme);
  return (
    <Button
      kind="quiet"
      data-testid="theme"
      aria-label={`Theme: ${theme}. Switch to ${NEXT[theme]}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(NEXT[theme])}
      icon={<ThemeIcon theme={theme} />}
    />
  );
}

function ThemeIcon(props: { readonly theme: Theme }): ReactNode {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      aria-hidden="true"
    >
      {props.theme === "dark" ? (
        <path d="M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z" strokeLinejoin="round" />
      ) : (
        <>
          <circle cx="8" cy="8" r={props.theme === "light" ? 3 : 5.5} />
          {props.theme === "light" ? (
            <path
              d="M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1"
              strokeLinecap="round"
            />
          ) : (
            <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" stroke="none" />
          )}
        </>
      )}
    </svg>
  );
}
