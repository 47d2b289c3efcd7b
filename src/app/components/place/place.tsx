import { type ComponentType, lazy, type ReactNode, Suspense, useState } from "react";
import { useClipFrame } from "../mask/frame-store.ts";
import { ErrorBoundary } from "../ui/panel/panel.tsx";
import type { Places, PluginPanel } from "./page-plugin.ts";

type Shown = ComponentType<object>;

let all: readonly (PluginPanel & { readonly Lazy: Shown })[] = [];

/** Panels whose code is here; React waits before it shows a lazy one, also then. */
const loaded = new WeakMap<PluginPanel["load"], Shown>();

/** Sets the panels of the plug-ins; called once at page start. Panels use components that have places themselves. */
export function providePanels(panels: readonly PluginPanel[]): void {
  all = panels.map((panel) => ({ ...panel, Lazy: lazy(panel.load as () => Promise<{ default: Shown }>) }));
}

/** Loads the code of the panels at some places; one that cannot be loaded fails when it is shown. */
export async function loadPanels(at: readonly (keyof Places)[]): Promise<void> {
  const wanted = all.filter((panel) => at.includes(panel.at));
  await Promise.allSettled(wanted.map(async ({ load }) => loaded.set(load, (await load()).default as Shown)));
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

/** The panels of the plug-ins for a place, in the order of their list. */
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
    : own.map(({ plugin, load, Lazy }) => (
        <ErrorBoundary key={plugin}>
          <Suspense fallback={waiting}>
            <OnePanel load={load} Lazy={Lazy} given={props.given} />
          </Suspense>
        </ErrorBoundary>
      ));
}

/** A panel stays of the kind that it was when it came. */
function OnePanel(props: {
  readonly load: PluginPanel["load"];
  readonly Lazy: Shown;
  readonly given: object;
}): ReactNode {
  const [Panel] = useState(() => loaded.get(props.load) ?? props.Lazy);
  return <Panel {...props.given} />;
}
