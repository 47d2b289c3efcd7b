import { type ComponentType, type ReactNode, Suspense } from "react";
import { useClipFrame } from "../mask/frame-store.ts";
import { ErrorBoundary } from "../ui/panel/panel.tsx";
import type { Places, PluginPanel } from "./page-plugin.ts";

let all: readonly PluginPanel[] = [];

/** Sets the panels of the plug-ins; called once at page start. Panels use components that have places themselves. */
export function providePanels(panels: readonly PluginPanel[]): void {
  all = panels;
}

/** Whether a plug-in has a panel for this place. */
export function hasPanels(at: keyof Places): boolean {
  return all.some((panel) => panel.at === at);
}

/** What plug-ins show below a figure of a row with several frames; nothing for a picture. */
export function FramePanels(props: Places["frames"]): ReactNode {
  const frame = useClipFrame(props.rowId, props.imageId, props.given, props.frames);
  return frame !== undefined && <PluginPanels at="frames" given={props} />;
}

/** The panels of the plug-ins for a place, in the order of their list; each is loaded when it is first shown. */
export function PluginPanels<P extends keyof Places>(props: {
  readonly at: P;
  readonly given: Places[P];
  /** Shows nothing while a panel is loaded. */
  readonly quiet?: boolean;
  /** Shown while a panel is loaded, and where no plug-in has one. */
  readonly instead?: ReactNode;
}): ReactNode {
  const waiting = props.instead ?? (props.quiet === true ? null : <p className="muted">Loading…</p>);
  const own = all.filter(({ at }) => at === props.at);
  return own.length === 0
    ? props.instead
    : own.map(({ plugin, Panel }) => {
        const Shown = Panel as ComponentType<Places[P]>;
        return (
          <ErrorBoundary key={plugin}>
            <Suspense fallback={waiting}>
              <Shown {...props.given} />
            </Suspense>
          </ErrorBoundary>
        );
      });
}
