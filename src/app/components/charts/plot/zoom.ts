/** The range that the charts of a name show. It is part of the address. */
import { navigate, useRoute } from "../../../stores/route.ts";
import type { Axis } from "../../../stores/route-text.ts";
import { axisText } from "./axis.ts";

type Range = readonly [from: number, to: number];

/** Zooms all charts of a name; null resets the zoom. */
export function setZoom(name: string, range: Range | null): void {
  navigate({ zoom: range === null ? null : `${range.map((place) => place.toFixed(2)).join("-")}@${name}` });
}

/** What the charts of a name are zoomed to, such as "12–40"; null for all. */
export function useZoomText(name: string, axis: Axis): string | null {
  const range = zoomOf(
    useRoute((route) => route.zoom),
    name,
  );
  return range === null ? null : `${axisText(axis, Math.ceil(range[0]))}–${axisText(axis, Math.floor(range[1]))}`;
}

/** The range in the address if it belongs to these charts: other runs have other steps. */
export function zoomOf(text: string | null, name: string): Range | null {
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)@(.*)$/.exec(text ?? "");
  if (found === null || found[3] !== name) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from < to ? [from, to] : null;
}
