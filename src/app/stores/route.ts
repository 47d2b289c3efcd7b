/**
 * What is looked at, kept in the URL's hash: `#screen=train&step=12&rollout=…`. One table of typed keys drives reading
 * and writing; unknown keys are ignored, bad values fall back. Settings that differ from the preset stand beside them.
 */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { configDifference, parseConfig } from "../../engine/config/parse.ts";
import { presetConfig } from "../../engine/config/presets.ts";
import { SETTINGS } from "../../engine/config/table.ts";
import { addProblem, isPreset, sessionStore } from "./session.ts";

export const SCREENS = ["data", "setup", "train", "rollouts", "runs"] as const;
export type Screen = (typeof SCREENS)[number];

export interface Route {
  readonly screen: Screen;
  /** Run looked at; null is the run of this page. */
  readonly run: string | null;
  /** Runs compared, beside `run`. */
  readonly compare: readonly string[];
  readonly step: number | null;
  /** RolloutRecord.id. */
  readonly rollout: string | null;
  /** Group within the step, such as "1-0": loop and group number. */
  readonly group: string | null;
  /** RegionSample.id. */
  readonly row: string | null;
  /** Names of the visible mask layers; null is the screen's own choice. */
  readonly layers: readonly string[] | null;
  /** Smoothing of curves, 0..0.999. */
  readonly smooth: number;
  /** Horizontal axis of curves. */
  readonly x: "step" | "time";
}

interface Key<T> {
  readonly fallback: T;
  /** The value, or undefined when the text is not one. */
  readonly read: (text: string) => T | undefined;
  readonly write: (value: T) => string;
}

const text: Key<string | null> = { fallback: null, read: (value) => value || undefined, write: String };
const list = (value: string): readonly string[] => value.split(",").filter(Boolean);

const KEYS: { readonly [K in keyof Route]: Key<Route[K]> } = {
  screen: { fallback: "data", read: (value) => SCREENS.find((screen) => screen === value), write: String },
  run: text,
  compare: { fallback: [], read: list, write: (value) => value.join(",") },
  step: {
    fallback: null,
    read: (value) => (/^\d{1,9}$/.test(value) ? Number(value) : undefined),
    write: String,
  },
  rollout: text,
  group: text,
  row: text,
  layers: { fallback: null, read: list, write: (value) => (value ?? []).join(",") },
  smooth: {
    fallback: 0.6,
    read: (value) => (Number(value) >= 0 && Number(value) <= 0.999 ? Number(value) : undefined),
    write: String,
  },
  x: { fallback: "step", read: (value) => (value === "step" || value === "time" ? value : undefined), write: String },
};

const NAMES = Object.keys(KEYS) as (keyof Route)[];

const FALLBACK = Object.fromEntries(NAMES.map((name) => [name, KEYS[name].fallback])) as unknown as Route;

export const routeStore = createStore<Route>()(() => FALLBACK);

/** Reads a part of the route and follows it. */
export function useRoute<T>(select: (route: Route) => T): T {
  return useStore(routeStore, select);
}

/** Route in a hash such as `#screen=train&step=12`. */
export function parseRoute(hash: string): Route {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const read = <K extends keyof Route>(name: K): Route[K] => {
    const value = params.get(name);
    const key: Key<Route[K]> = KEYS[name];
    return value === null ? key.fallback : (key.read(value) ?? key.fallback);
  };
  return Object.fromEntries(NAMES.map((name) => [name, read(name)])) as unknown as Route;
}

/** Hash of a route and of the settings that differ from their preset; defaults are left out. */
export function formatRoute(route: Route, settings: Readonly<Record<string, unknown>>, preset: string): string {
  const params = new URLSearchParams();
  const add = <K extends keyof Route>(name: K): void => {
    const key: Key<Route[K]> = KEYS[name];
    const written = key.write(route[name]);
    if (name === "screen" || written !== key.write(key.fallback)) params.set(name, written);
  };
  for (const name of NAMES) if (route[name] !== null) add(name);
  if (preset !== "demo") params.set("preset", preset);
  for (const [name, value] of Object.entries(settings)) params.set(name, String(value));
  // Commas, colons and slashes are legal in a fragment and read better unescaped.
  return `#${params.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":")}`;
}

/** Goes somewhere: a new screen makes a history entry, anything finer replaces the current one. */
export function navigate(to: Partial<Route>): void {
  const before = routeStore.getState();
  const after = { ...before, ...to };
  routeStore.setState(after);
  writeHash(after.screen !== before.screen);
}

/** Link to a place, for anchors. */
export function linkTo(to: Partial<Route>): string {
  const { config, preset } = sessionStore.getState();
  return formatRoute({ ...FALLBACK, ...to }, configDifference(config, presetConfig(preset)), preset);
}

function writeHash(entry: boolean): void {
  const { config, preset } = sessionStore.getState();
  const hash = formatRoute(routeStore.getState(), configDifference(config, presetConfig(preset)), preset);
  if (hash === location.hash) return;
  if (entry) history.pushState(OWN_ENTRY, "", hash);
  else history.replaceState(OWN_ENTRY, "", hash);
}

/** Marks history entries that this page wrote; an address that was typed or pasted has none. */
const OWN_ENTRY = { lab: true };

function readHash(): void {
  routeStore.setState(parseRoute(location.hash));
  if ((history.state as typeof OWN_ENTRY | null)?.lab === true && started) {
    // Going back changes the place, never the settings made since.
    writeHash(false);
    return;
  }
  started = true;
  const params = new URLSearchParams(location.hash.replace(/^#/, ""));
  const named = params.get("preset") ?? "demo";
  const preset = isPreset(named) ? named : "demo";
  const settings = [...params].filter(([name]) => name in SETTINGS);
  const parsed = parseConfig(Object.fromEntries(settings), presetConfig(preset));
  sessionStore.setState({ preset, config: parsed.config });
  for (const message of parsed.problems) {
    addProblem({
      code: "bad-config",
      message: `In the address, ${message}; the preset's value is used`,
      subject: "URL",
    });
  }
}

let started = false;

/** Reads the address now and whenever it changes, and writes changed settings into it. */
export function followAddress(): void {
  readHash();
  window.addEventListener("popstate", readHash);
  sessionStore.subscribe((now, before) => {
    if (now.config !== before.config || now.preset !== before.preset) writeHash(false);
  });
}
