import type { ReactNode } from "react";
import { linkTo, openScreen, useRoute } from "../stores/route.ts";
import styles from "./rail.module.css";
import { SCREEN_LIST } from "./screens.tsx";

/** Navigation between the screens: at the left, or at the bottom of a narrow window. */
export function Rail(): ReactNode {
  const current = useRoute((route) => route.screen);
  return (
    <nav className={`column-flex p-2 surface gap-2px ${styles.rail}`} aria-label="Screens">
      {SCREEN_LIST.map(({ id, label, icon }) => (
        <a
          key={id}
          className={`row muted medium round-m ${styles.link}`}
          href={linkTo({ screen: id })}
          data-testid={`nav-${id}`}
          {...(id === current ? { "aria-current": "page" as const } : {})}
          onClick={(event) => {
            // A click with a modifier opens a new tab.
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            openScreen(id);
          }}
        >
          {icon}
          <span>{label}</span>
        </a>
      ))}
    </nav>
  );
}
