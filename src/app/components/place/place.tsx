import { type ComponentType, type ReactNode, Suspense } from "react";
import { PANELS } from "../../../plugins/panels.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import type { Places } from "./page-plugin.ts";

/** Whether a plug-in has a panel for this place. */
export function hasPanels(at: keyof Places): boolean {
  return PANELS.some((panel) => panel.at === at);
}

/** The panels of the plug-ins for a place, in the order of their list; each is loaded when it is first shown. */
export function PluginPanels<P extends keyof Places>(props: { readonly at: P; readonly given: Places[P] }): ReactNode {
  return PANELS.filter(({ at }) => at === props.at).map(({ plugin, Panel }) => {
    const Shown = Panel as ComponentType<Places[P]>;
    return (
      <ErrorBoundary key={plugin}>
        <Suspense fallback={<p className="muted">Loading…</p>}>
          <Shown {...props.given} />
        </Suspense>
      </ErrorBoundary>
    );
  });
}
