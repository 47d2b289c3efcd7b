/** Range of steps that the charts of one name show; null for all. */
export interface SharedZoom {
  range: readonly [number, number] | null;
  readonly listeners: Set<() => void>;
}

const zooms = new Map<string, SharedZoom>();

/** The shared zoom of all charts of a name. */
export function sharedZoom(name: string): SharedZoom {
  const known = zooms.get(name);
  if (known !== undefined) return known;
  const zoom: SharedZoom = { range: null, listeners: new Set() };
  zooms.set(name, zoom);
  return zoom;
}

/** Zooms all charts of a name; null resets the zoom. */
export function setSharedZoom(name: string, range: readonly [number, number] | null): void {
  const zoom = sharedZoom(name);
  zoom.range = range;
  for (const changed of zoom.listeners) changed();
}
