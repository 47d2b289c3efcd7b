import { type ReactNode, useEffect } from "react";
import { RUNS } from "../../app/clients/run/run-reads.ts";
import { useRead } from "../../app/stores/reads.ts";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { addProblem, useSession } from "../../app/stores/session.ts";
import { useTry } from "../../app/stores/try-out.ts";
import styles from "./try-out.module.css";
import type { TryWeights } from "./weights.ts";

/** Why the model cannot answer now, or null. */
export function useModelBlocker(): string | null {
  const model = useSession((session) => session.model);
  const loading = useSession((session) => session.modelProgress);
  const state = useRun((run) => run.state);
  if (loading !== null) return "The model is still loading";
  if (model === null) return "No model is loaded. Open a checkpoint folder first";
  if (isActive(state) && state !== "paused") return "A run is in progress. Pause it to try the model";
  return null;
}

export interface Side {
  readonly value: string;
  readonly label: string;
  readonly weights: TryWeights;
}

/** Weights that can answer: the base model, the open adapter, and policy and partner of runs with a checkpoint. */
export function useSides(): readonly Side[] {
  const adapter = useTry((state) => state.adapter);
  const live = useRun((run) => run.manifest);
  const state = useRun((run) => run.state);
  const { last, problem } = useRead(RUNS);
  useEffect(() => {
    if (problem !== null) addProblem({ code: "storage", message: problem });
  }, [problem]);
  const stored = (last?.stored.runs ?? []).filter(({ checkpoints }) => checkpoints.length > 0);
  const own = live !== null && isActive(state) ? [{ id: live.id, title: live.title }] : [];
  const runs = [
    ...own,
    ...stored.map(({ manifest }) => manifest).filter(({ id }) => own.every((run) => run.id !== id)),
  ].slice(0, 6);
  return [
    { value: "base", label: "Base model", weights: { from: "base" } },
    ...(adapter === null
      ? []
      : [{ value: "adapter", label: `Adapter ${adapter.name}`, weights: { from: "adapter" } as const }]),
    ...runs.flatMap(({ id, title }): Side[] => [
      { value: `policy ${id}`, label: `Policy of ${title}`, weights: { from: "run", runId: id, side: "policy" } },
      { value: `ema ${id}`, label: `Partner of ${title}`, weights: { from: "run", runId: id, side: "ema" } },
    ]),
  ];
}

/** A few lines of text under their name. */
export function TextArea(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly testId: string;
  /** 3 by default. */
  readonly rows?: number;
}): ReactNode {
  return (
    <label className={`column-flex gap-1 ${styles.phrases}`}>
      <span>{props.label}</span>
      <textarea
        className="full-width p-2 surface framed-control round-m"
        rows={props.rows ?? 3}
        value={props.value}
        data-testid={props.testId}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      />
    </label>
  );
}
