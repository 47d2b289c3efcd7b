/**
 * The current view as the hash of the URL: `#screen=train&step=12&rollout=…`. One table of typed keys drives reading and
 * writing; unknown keys are ignored, invalid values use the default.
 */

import { quote } from "../../engine/errors.ts";

/** What curves are drawn over. */
export const AXES = ["step", "time", "samples"] as const;
export type Axis = (typeof AXES)[number];

export const SCREENS = ["home", "data", "setup", "rewards", "train", "runs"] as const;
/** Parts of Train: what the run logged, what it sampled, and what it scored on held-out rows. */
export const TRAIN_TABS = ["curves", "rollouts", "held-out"] as const;
const PANELS = ["none", "system", "judge"] as const;
const VIEWS = ["step", "run", "table"] as const;
const GROUPINGS = ["none", "tag", "data", "model"] as const;
export type Screen = (typeof SCREENS)[number];

/** Screens of earlier addresses, by name, and where they are now. */
const MOVED: Readonly<Record<string, Partial<Route>>> = {
  rollouts: { screen: "train", tab: "rollouts" },
  eval: { screen: "train", tab: "held-out" },
  judge: { screen: "rewards", panel: "judge" },
  system: { screen: "home", panel: "system" },
};

const movedTo = (params: URLSearchParams): Partial<Route> => {
  const screen = params.get("screen") ?? "";
  return Object.hasOwn(MOVED, screen) ? (MOVED[screen] as Partial<Route>) : {};
};

interface Key<T> {
  readonly fallback: T;
  /** The value, or undefined if the text is invalid. */
  readonly read: (text: string) => T | undefined;
  readonly write: (value: T) => string;
}

const key = <T>(fallback: T, read: Key<T>["read"], write: Key<T>["write"] = String): Key<T> => ({
  fallback,
  read,
  write,
});

const text = key<string | null>(null, (value) => value || undefined);
/** Each name once: an edited address may repeat one. */
const list = (value: string): readonly string[] => [...new Set(value.split(",").filter(Boolean))];

const names = key<readonly string[]>([], list);
/** The same; null until the user chooses. */
const chosen = key<readonly string[] | null>(null, list);

const flag = key<boolean>(
  false,
  (value) => (value === "1" ? true : value === "0" ? false : undefined),
  (on) => (on ? "1" : ""),
);

/** One of a few values, the first by default. */
const oneOf = <T extends string>(values: readonly [T, ...T[]]): Key<T> =>
  key<T>(values[0], (text) => values.find((value) => value === text));

const KEYS = {
  screen: oneOf(SCREENS),
  /** Tab of Train. */
  tab: oneOf(TRAIN_TABS),
  /** What is open beside the screen: the dialog System, or the judge on Rewards, which stays hidden while it is off. */
  panel: oneOf(PANELS),
  /** Viewed run; null for the run of this page. */
  run: text,
  /** Compared runs, in addition to `run`. */
  compare: names,
  step: key<number | null>(null, (value) => (/^\d{1,9}$/.test(value) ? Number(value) : undefined)),
  /** RolloutRecord.id. */
  rollout: text,
  /** Group within the step, such as "1-0": loop and group number. */
  group: text,
  /** RegionSample.id. */
  row: text,
  /** Names of the visible mask layers; null for the default. */
  layers: chosen,
  /** Metrics with additional charts; null for the default. */
  metrics: chosen,
  /** Part of the tab Held-out: held-out rows of a run, or evaluation suites. */
  part: oneOf(["run", "suites"]),
  /** Part of the tab Rollouts: the groups of one step, all steps together, or all rollouts as a table. */
  view: oneOf(VIEWS),
  /** Whether the Train screen explains the phases of the step. */
  explain: flag,
  /** Filter of the listed runs; null lists all. */
  find: text,
  /** What the listed runs are grouped by. */
  by: oneOf(GROUPINGS),
  /** Smoothing of curves, 0..0.999. */
  smooth: key(0.6, (value) => (Number(value) >= 0 && Number(value) <= 0.999 ? Number(value) : undefined)),
  /** Steps that charts are zoomed to, "from-to@charts"; null for all. */
  zoom: key<string | null>(null, (value) => (/^\d+(\.\d+)?-\d+(\.\d+)?@./.test(value) ? value : undefined)),
  /** Horizontal axis of curves. */
  x: oneOf(AXES),
  /** Id of the enlarged chart. */
  chart: text,
  /** Ids of charts with a logarithmic scale. */
  log: names,
  /** Which rollouts are shown, as `filterText` writes it. */
  filter: text,
  /** Which rows Data shows, as `rowFilterText` writes it. */
  rows: text,
};

/** A view, as the address states it. */
export type Route = { readonly [K in keyof typeof KEYS]: (typeof KEYS)[K]["fallback"] };

const keyOf = <K extends keyof Route>(name: K): Key<Route[K]> => KEYS[name] as unknown as Key<Route[K]>;

const NAMES = Object.keys(KEYS) as (keyof Route)[];

/** Default route. */
export const FALLBACK: Route = Object.fromEntries(NAMES.map((name) => [name, KEYS[name].fallback])) as unknown as Route;

/** Route in a hash such as `#screen=train&step=12`. */
export function parseRoute(hash: string): Route {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const read = <K extends keyof Route>(name: K): Route[K] => {
    const value = params.get(name);
    const { fallback, read: readText } = keyOf(name);
    return value === null ? fallback : (readText(value) ?? fallback);
  };
  const route = Object.fromEntries(NAMES.map((name) => [name, read(name)])) as unknown as Route;
  return { ...route, ...movedTo(params) };
}

/**
 * One sentence per parameter of a hash that has no effect.
 * @param isOther whether a name is known without being part of a route
 */
export function routeProblems(hash: string, isOther: (name: string) => boolean): readonly string[] {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const moved = movedTo(params);
  return [...params].flatMap(([name, value]) => {
    if (Object.hasOwn(moved, name)) return [];
    if (!isKey(name)) return isOther(name) ? [] : [`${quote(name)} is neither a view nor a setting and is ignored`];
    const invalid = value !== "" && KEYS[name].read(value) === undefined;
    return invalid ? [`${name} cannot be ${quote(value)}; its default is used`] : [];
  });
}

const isKey = (name: string): name is keyof Route => Object.hasOwn(KEYS, name);

/** Hash of a route and of the settings that differ from their preset; defaults are left out. */
export function formatRoute(route: Route, settings: Readonly<Record<string, unknown>>, preset: string): string {
  const params = new URLSearchParams();
  const add = <K extends keyof Route>(name: K): void => {
    const { fallback, write } = keyOf(name);
    const written = write(route[name]);
    // A value that is null by default is written whenever it is set, even if its text is empty.
    const chosen = fallback === null || written !== write(fallback);
    if (name === "screen" || chosen) params.set(name, written);
  };
  for (const name of NAMES) if (route[name] !== null) add(name);
  if (preset !== "demo") params.set("preset", preset);
  for (const [name, value] of Object.entries(settings)) params.set(name, String(value));
  // Commas, colons and slashes are legal in a fragment and read better unescaped.
  return `#${params.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":")}`;
}
