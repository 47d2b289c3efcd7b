/** The current route, synchronised with the URL; settings that differ from the preset are part of the URL. */
import { create } from "zustand";
import { configDifference, isForeignName, isUnlinked, parseConfig } from "../../engine/config/parse.ts";
import { presetConfig } from "../../engine/config/presets.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { SETTINGS } from "../../engine/config/table.ts";
import { quote } from "../../engine/errors.ts";
import { originOf } from "../../engine/rewards/consent.ts";
import { askLinkedJudge } from "./consent.ts";
import { FALLBACK, formatRoute, parseRoute, type Route, routeProblems } from "./route-text.ts";
import { isActive, useRun } from "./run/run.ts";
import { addProblem, changeConfig, isPreset, textsOf, useSession } from "./session.ts";

export { parseRoute, type Route, SCREENS, type Screen } from "./route-text.ts";

export const useRoute = create<Route>()(() => FALLBACK);

/** Whether two routes are the same place: a screen, a tab or a view of one. */
const isPlace = (a: Route, b: Route): boolean => a.screen === b.screen && a.tab === b.tab && a.view === b.view;

/** What is open over or beside a place: a panel, the inspector, an enlarged chart. */
const openParts = ({ panel, rollout, row, explain, chart }: Route): readonly boolean[] => [
  panel !== "none",
  rollout !== null || row !== null || explain,
  chart !== null,
];

/**
 * Navigates. Another place adds a history entry, and so does what opens over or beside it: *Back* leads to the place
 * before, or closes what was opened. Closing it otherwise takes its entry back. Other changes replace the current entry.
 */
export function navigate(to: Partial<Route>): void {
  const before = useRoute.getState();
  const after = { ...before, ...to };
  useRoute.setState(after);
  const [was, is] = [openParts(before), openParts(after)];
  if (!isPlace(before, after)) writeHash("place");
  else if (is.some((open, at) => open && !was[at])) writeHash("opened");
  else if (was.some((open, at) => open && !is[at]) && entryState().opened === true) leaveEntry();
  else writeHash();
}

/** How far the parts of the screen that scroll are scrolled; the screen first. */
const scrollers = (): readonly Element[] => [...document.querySelectorAll("#main, #main [data-scrolls]")];

/** Milliseconds for which a screen that is drawn in parts may grow until it can be scrolled back. */
const GROWS_MS = 3000;

/** Scrolls back to where an entry was left, until the user scrolls or the time has passed. */
function scrollBack(tops: readonly number[]): void {
  if (tops.every((top) => top === 0)) return;
  const until = performance.now() + GROWS_MS;
  const end = new AbortController();
  for (const input of ["wheel", "pointerdown", "keydown", "popstate"])
    window.addEventListener(input, () => end.abort(), { signal: end.signal, capture: true });
  const scroll = (): void => {
    if (performance.now() > until) end.abort();
    if (end.signal.aborted) return;
    for (const [at, part] of scrollers().entries()) part.scrollTop = tops[at] ?? 0;
    requestAnimationFrame(scroll);
  };
  scroll();
}

/** Closes what has opened without an address; null where nothing has. */
let closeUnnamed: (() => void) | null = null;

/** Adds an entry for what opens without an address, such as a dialog. @param close called by *Back* @returns called when it closes otherwise */
export function addEntry(close: () => void): () => void {
  history.pushState({ lab: true, opened: true }, "");
  closeUnnamed = close;
  return () => {
    if (closeUnnamed !== close) return;
    closeUnnamed = null;
    leaveEntry();
  };
}

/** Opens a screen. A step that was inspected does not stay on Train while its run is in progress: Train is live again. */
export function openScreen(screen: Route["screen"], tab = useRoute.getState().tab): void {
  const live = screen === "train" && useRoute.getState().run === null && isActive(useRun.getState().state);
  navigate({ screen, tab, panel: "none", ...(live ? { step: null, group: null, rollout: null } : {}) });
}

/** Switches a chart between a linear and a logarithmic scale. */
export function toggleLog(chart: string): void {
  const { log } = useRoute.getState();
  navigate({ log: log.includes(chart) ? log.filter((other) => other !== chart) : [...log, chart] });
}

/**
 * Link to a route, for anchors. Its settings serve copies and new tabs only: a click keeps the current settings
 * (`followLink`).
 */
export function linkTo(to: Partial<Route>): string {
  return formatRoute({ ...FALLBACK, ...to }, addressSettings(), useSession.getState().preset);
}

/** Settings in the address: those that differ from the preset, without texts, which may be code. */
function addressSettings(): Readonly<Record<string, unknown>> {
  const { config, preset } = useSession.getState();
  if (addressed?.config === config && addressed.preset === preset) return addressed.settings;
  const difference = Object.entries(configDifference(config, presetConfig(preset)));
  const settings = Object.fromEntries(difference.filter(([key]) => !isUnlinked(key)));
  addressed = { config, preset, settings };
  return settings;
}

/** The last of them, because every link of a screen asks for them. */
let addressed: {
  readonly config: LabConfig;
  readonly preset: string;
  readonly settings: Readonly<Record<string, unknown>>;
} | null = null;

/** @param added what a new entry is for; by default the current one is replaced */
function writeHash(added: "place" | "opened" | null = null): void {
  if (leaving !== null) leaving = { added: added ?? leaving.added };
  if (leaving !== null) return;
  const hash = formatRoute(useRoute.getState(), addressSettings(), useSession.getState().preset);
  if (hash === location.hash) return;
  if (added === null) {
    history.replaceState({ ...entryState(), lab: true }, "", hash);
    return;
  }
  closeUnnamed = null;
  history.replaceState({ ...entryState(), tops: scrollers().map(({ scrollTop }) => scrollTop) }, "");
  history.pushState({ lab: true, opened: added === "opened" }, "", hash);
}

interface EntryState {
  /** Whether this page wrote or read the entry; a typed or pasted address has no mark. */
  readonly lab?: boolean;
  /** Whether it was added for something that opened over or beside a place. */
  readonly opened?: boolean;
  /** How far the screen was scrolled when it was left. */
  readonly tops?: readonly number[];
}

const entryState = (): EntryState => (history.state as EntryState | null) ?? {};

/** What is written once the entry of something closed is left; null while no entry is being left. */
let leaving: { readonly added: "place" | "opened" | null } | null = null;

/** Goes back from the entry of something that has closed; the entry before takes over the present route. */
function leaveEntry(): void {
  if (leaving === null) history.back();
  leaving ??= { added: null };
}

function followHistory(): void {
  const own = entryState().lab === true;
  const [left, close] = [leaving, closeUnnamed];
  [leaving, closeUnnamed] = [null, null];
  if (own && left !== null) writeHash(left.added);
  else if (own && close !== null) {
    // Settings may have changed above it.
    writeHash();
    close();
  } else readHash();
}

function readHash(): void {
  const { lab: own = false, tops = [] } = entryState();
  const before = useRoute.getState();
  const after = parseRoute(location.hash);
  useRoute.setState(after);
  if (!isPlace(before, after)) scrollBack(tops);
  // Going back changes the route, never the settings.
  if (own && started) writeHash();
  else readSettings(own);
  started = true;
  // Marked, so that a return to this entry counts as navigation within the page.
  history.replaceState({ ...entryState(), lab: true }, "");
}

/**
 * Applies the settings in the address, and the preset's values for the others; an address with neither keeps those of the
 * page. A judge that a link switches on stays off
 * until the user consents.
 * @param own whether this page wrote the address
 */
function readSettings(own: boolean): void {
  const params = new URLSearchParams(location.hash.replace(/^#/, ""));
  const named = params.get("preset") ?? "demo";
  const preset = isPreset(named) ? named : "demo";
  const isSetting = (name: string): boolean => Object.hasOwn(SETTINGS, name) || isForeignName(name);
  const known = [...params].filter(([name]) => isSetting(name));
  const settings = known.filter(([name]) => !isUnlinked(name));
  const invalid = routeProblems(location.hash, (name) => name === "preset" || isSetting(name));
  const before = useSession.getState().config;
  const parsed = parseConfig(Object.fromEntries(settings), { ...presetConfig(preset), ...textsOf(before) });
  const [now, then] = [judgeOf(parsed.config), judgeOf(before)];
  const asked = !own && now !== null && now !== then;
  if (!params.has("preset") && known.length === 0) writeHash();
  else useSession.setState({ preset, config: asked ? { ...parsed.config, judge: "off" } : parsed.config });
  if (asked) {
    // The judge is left out, because after a reload the address counts as written by the page.
    writeHash();
    void askLinkedJudge(parsed.config).then((yes) => yes && changeConfig({ judge: parsed.config.judge }));
  }
  const told = [
    ...invalid,
    ...(isPreset(named) ? [] : [`${quote(named)} is not a preset; demo is used`]),
    ...parsed.problems.map((problem) => `${problem}; the preset's value is used`),
    ...(parsed.translated === null ? [] : [parsed.translated]),
  ];
  for (const text of told) {
    addProblem({ code: "bad-config", message: `In the address, ${text}`, subject: "URL" });
  }
  for (const [name] of known.filter(([key]) => isUnlinked(key))) {
    const message = `${name} was left out: an address cannot set text settings; use a settings file`;
    addProblem({ code: "bad-config", message, subject: "URL" });
  }
}

/** Where the judge of these settings runs; null if it is off or has no address. */
function judgeOf(config: LabConfig): string | null {
  return config.judge === "off" ? null : originOf(config.judgeUrl);
}

let started = false;

/** Goes where a link of the page leads. Settings may have changed since the link was drawn, so they stay. */
function followLink(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href^='#']") : null;
  if (link === null || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  useRoute.setState(parseRoute(link.hash));
  writeHash("place");
}

/** Reads the address now and after each change, follows links, and writes changed settings into the address. */
export function followAddress(): void {
  readHash();
  window.addEventListener("popstate", followHistory);
  window.addEventListener("click", followLink);
  useSession.subscribe((now, before) => {
    if (now.config !== before.config || now.preset !== before.preset) writeHash();
  });
}
