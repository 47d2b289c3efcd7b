import { useSyncExternalStore } from "react";
import { navigate, routeStore } from "../../stores/route.ts";
import type { Axis } from "../../stores/route-text.ts";
import { axisText } from "./axis.ts";

type Range = readonly [from: number, to: number];

/** Range of steps that the charts of one name show; null for all. */
export interface SharedZoom {
  range: Range | null;
  readonly listeners: Set<() => void>;
}

const zooms = new Map<string, SharedZoom>();

/** The shared zoom of all charts of a name; at first that of the address. */
export function sharedZoom(name: string): SharedZoom {
  const known = zooms.get(name);
  if (known !== undefined) return known;
  const zoom: SharedZoom = { range: zoomOf(routeStore.getState().zoom, name), listeners: new Set() };
  zooms.set(name, zoom);
  return zoom;
}

/** Zooms all charts of a name and writes the range into the address; null resets the zoom. */
export function setSharedZoom(name: string, range: Range | null): void {
  const zoom = sharedZoom(name);
  zoom.range = range;
  navigate({ zoom: range === null ? null : `${range.map((step) => step.toFixed(1)).join("-")}@${name}` });
  for (const changed of zoom.listeners) changed();
}

/** What the charts of a name are zoomed to, such as "12–40"; null for all. */
export function useZoomText(name: string, axis: Axis): string | null {
  return useSyncExternalStore(
    (changed) => {
      const { listeners } = sharedZoom(name);
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => {
      const { range } = sharedZoom(name);
      if (range === null) return null;
      const [from, to] = [Math.ceil(range[0]), Math.floor(range[1])];
      return `${axisText(axis, from)}–${axisText(axis, to)}`;
    },
  );
}

/** The range in the address if it is of these charts: other runs have other steps. */
export function zoomOf(text: string | null, name: string): Range | null {
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)@(.*)$/.exec(text ?? "");
  if (found === null || found[3] !== name) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from < to ? [from, to] : null;
}
