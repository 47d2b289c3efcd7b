/** What happened in this browser, newest last: runs, saves, alarms, errors; kept over reloads. */
import { create } from "zustand";
import { type RunStoreState, useRun } from "../../app/stores/run/run.ts";
import { remember, remembered } from "../../app/stores/saved.ts";
import { type SessionState, useSession } from "../../app/stores/session.ts";
import { formatBytes } from "../../app/styles/format.ts";
import type { RunState } from "../../engine/rl/run/events.ts";

const LEVELS = ["info", "warning", "error"] as const;

interface LogLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly level: (typeof LEVELS)[number];
  readonly text: string;
}

type News = Omit<LogLine, "at">;

/** Lines that are kept. */
const MOST_LINES = 300;

/** Whether a stored value has the form of this log. */
export const isLog = (value: unknown): value is readonly LogLine[] =>
  Array.isArray(value) &&
  value.every((line) => typeof line?.at === "number" && typeof line.text === "string" && LEVELS.includes(line.level));

export const useLog = create<{ readonly lines: readonly LogLine[] }>()(() => ({ lines: remembered("log", [], isLog) }));

/** States that last and are worth a line. */
const TOLD: readonly RunState[] = ["running", "paused", "finished", "failed"];

type RunFacts = Pick<
  RunStoreState,
  "runId" | "manifest" | "state" | "step" | "lastCheckpoint" | "alarms" | "evaluations"
>;

/** What changed in the run of this page. */
export function runNews(now: RunFacts, before: RunFacts): readonly News[] {
  const news: News[] = [];
  const told = (text: string, level: LogLine["level"] = "info"): number => news.push({ level, text });
  const title = now.manifest?.title ?? "Run";
  // A run may report its state before its name is known.
  if (now.runId !== null && (now.state !== before.state || before.runId === null) && TOLD.includes(now.state)) {
    const stopped = now.state === "finished" && now.step < (now.manifest?.config.steps ?? 0);
    const state = stopped ? "stopped" : now.state;
    told(`${title} is ${state} at step ${now.step}`, now.state === "failed" ? "error" : "info");
  }
  const same = now.runId !== null && now.runId === before.runId;
  if (same && now.step < before.step)
    told(`${title} went back from step ${before.step} to step ${now.step}`, "warning");
  const saved = now.lastCheckpoint;
  if (same && saved !== before.lastCheckpoint && saved !== null && saved.at !== null) {
    told(`Checkpoint of step ${saved.step} written, ${formatBytes(saved.bytes)}`);
  }
  if (same && now.evaluations > before.evaluations) told(`Held-out rows evaluated at step ${now.step}`);
  for (const alarm of now.alarms) {
    if (before.alarms.includes(alarm)) continue;
    told(`Step ${alarm.step}: ${alarm.message}`, alarm.severity === "error" ? "error" : "warning");
  }
  return news;
}

type SessionFacts = Pick<SessionState, "gpu" | "model" | "dataInfo" | "problems">;

/** What changed on the page apart from the run. */
export function sessionNews(now: SessionFacts, before: SessionFacts): readonly News[] {
  const news: News[] = [];
  if (now.gpu !== before.gpu && now.gpu !== null) news.push({ level: "info", text: "The graphics adapter is open" });
  if (now.model !== before.model) {
    news.push({
      level: "info",
      text: now.model === null ? "The model is closed" : `Model ${now.model.name} is loaded`,
    });
  }
  if (now.dataInfo !== before.dataInfo && now.dataInfo !== null) {
    news.push({ level: "info", text: `Data ${now.dataInfo.name} is open` });
  }
  for (const problem of now.problems) {
    const known = before.problems.find(({ id }) => id === problem.id);
    if (known === undefined || known.times < problem.times) news.push({ level: "error", text: problem.message });
  }
  return news;
}

/** Logs events from now on. @param now milliseconds since the epoch @returns the function that stops it */
export function followLog(now: () => number): () => void {
  const add = (news: readonly News[]): void => {
    if (news.length === 0) return;
    const lines = [...useLog.getState().lines, ...news.map((line) => ({ at: now(), ...line }))].slice(-MOST_LINES);
    useLog.setState({ lines });
    remember("log", lines);
  };
  // The page may have opened its adapter before.
  add([
    { level: "info", text: "The page was opened" },
    ...sessionNews(useSession.getState(), useSession.getInitialState()),
  ]);
  const stops = [
    useRun.subscribe((after, before) => add(runNews(after, before))),
    useSession.subscribe((after, before) => add(sessionNews(after, before))),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

export function clearLog(): void {
  useLog.setState({ lines: [] });
  remember("log", []);
}
