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

/** Navigates: a new screen or panel, or another tab or view of one, adds a history entry; other changes replace the current one. */
export function navigate(to: Partial<Route>): void {
  const before = useRoute.getState();
  const after = { ...before, ...to };
  useRoute.setState(after);
  const opened = after.panel !== "none" && after.panel !== before.panel;
  const moved = after.screen !== before.screen || after.tab !== before.tab || after.view !== before.view;
  writeHash(moved || opened);
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
  const difference = Object.entries(configDifference(config, presetConfig(preset)));
  return Object.fromEntries(difference.filter(([key]) => !isUnlinked(key)));
}

function writeHash(entry: boolean): void {
  const hash = formatRoute(useRoute.getState(), addressSettings(), useSession.getState().preset);
  if (hash === location.hash) return;
  if (entry) history.pushState(OWN_ENTRY, "", hash);
  else history.replaceState(OWN_ENTRY, "", hash);
}

/** Marks history entries that this page wrote or read; a typed or pasted address has no mark. */
const OWN_ENTRY = { lab: true };

function readHash(): void {
  const own = (history.state as typeof OWN_ENTRY | null)?.lab === true;
  useRoute.setState(parseRoute(location.hash));
  // Going back changes the route, never the settings.
  if (own && started) writeHash(false);
  else readSettings(own);
  started = true;
  // Marked, so that a return to this entry counts as navigation within the page.
  history.replaceState(OWN_ENTRY, "");
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
  if (!params.has("preset") && known.length === 0) writeHash(false);
  else useSession.setState({ preset, config: asked ? { ...parsed.config, judge: "off" } : parsed.config });
  if (asked) {
    // The judge is left out, because after a reload the address counts as written by the page.
    writeHash(false);
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
  writeHash(true);
}

/** Reads the address now and after each change, follows links, and writes changed settings into the address. */
export function followAddress(): void {
  readHash();
  window.addEventListener("popstate", readHash);
  window.addEventListener("click", followLink);
  useSession.subscribe((now, before) => {
    if (now.config !== before.config || now.preset !== before.preset) writeHash(false);
  });
}
