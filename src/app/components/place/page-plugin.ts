/** The places of the page that show panels of plug-ins, with what each gives to a panel. */
import type { ComponentType } from "react";
import type { LabConfig } from "../../../engine/config/table.ts";
import type { Rle } from "../../../engine/data/mask/rle.ts";
import type { RowFilter } from "../../../engine/data/row-filter.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import type { SetInfo } from "../../../engine/data/set-info.ts";
import type { ScoredRollout } from "../../../engine/rewards/types.ts";
import type { LoopId } from "../../../engine/rl/loops/abouts.ts";
import type { ScoreId } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport } from "../../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { ActionRecord, GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import type { Plan as RunPlan } from "../../../engine/session/plan.ts";
import type { Track } from "../mask/frame-store.ts";
import type { MaskRole } from "../mask/layers.ts";
import type { RolloutFilter } from "../rollout/rollout-view.ts";
import type { Scan, ViewedRun } from "../rollout/use-viewed-run.ts";

/** A row with an editable caption and mask. */
export interface Trial {
  readonly rowId: string;
  readonly imageId: string;
  readonly caption: string;
  readonly mask: Rle | null;
}

/** Scores of a trial while it is edited; only the newest edit counts. */
export interface LiveScore {
  /** Null before the first score, and while the custom reward has a weight and fails. */
  readonly loops: Readonly<Record<LoopId, ScoredRollout>> | null;
  /** Value of the custom reward, also without a weight; null without a function. */
  readonly custom: number | null;
  readonly customProblem: string | null;
  /** Why the other terms have no value. */
  readonly problem: string | null;
  readonly busy: boolean;
}

/** All rows and the row filter. */
export interface FilteredRows {
  readonly rows: readonly RegionSummary[];
  /** Those that pass the filter. */
  readonly shown: readonly RegionSummary[];
  readonly filter: RowFilter;
  readonly onFilter: (filter: RowFilter) => void;
}

type Nothing = Readonly<Record<never, never>>;

export interface Places {
  /** In the details of an open row with several frames, as the tab *Follow*. */
  readonly clip: { readonly row: RegionSummary };
  /** Below a figure of a row with several frames, with the answers that it shows. */
  readonly frames: {
    readonly rowId: string;
    readonly imageId?: string | null;
    /** Frames as the run recorded them. */
    readonly frames?: number | undefined;
    readonly given: Rle;
    readonly tracks: readonly Track[];
    /** Role of the selected answer's mask in a video. */
    readonly role?: MaskRole;
    /** Beginning of the names of exported files; nothing can be exported without one. */
    readonly fileName?: string;
  };
  /** In the inspector, below the answer: the tokens or cells that were sampled. */
  readonly actions: { readonly actions: readonly ActionRecord[] };
  /** On the Runs screen, about the runs that are ticked there: one or more. */
  readonly compare: { readonly runs: readonly RunDigest[]; readonly onClose: () => void };
  /** Shows nothing: what a plug-in does while the page is open. */
  readonly background: Nothing;
  /** Beside the buttons of the curves of a run; `step` is that of the time line, else the newest one. */
  readonly curves: { readonly run: ViewedRun; readonly step: number };
  /** On Rewards: the judge. */
  readonly judge: Nothing;
  /** In the panel of the model on Setup, behind its button *Open by address*. */
  readonly model: Nothing;
  /** Below the composer of the Rewards screen; `onTrial` puts a rollout into its try-out. */
  readonly rewards: { readonly onTrial: (trial: Trial) => void };
  /** In the inspector, under *More*: a scored rollout, its group, and all groups of its loop in the step. */
  readonly rollout: {
    readonly run: ViewedRun;
    readonly rollout: RolloutRecord;
    readonly group: GroupRecord;
    readonly loopGroups: readonly GroupRecord[];
    readonly config: LabConfig;
  };
  /** In the inspector, what a reward was computed from. */
  readonly reward: { readonly rollout: RolloutRecord };
  /** Rollouts as a table: of all steps, or of one, where the best come first and the table is as high as its rows. */
  readonly "rollout-table": {
    readonly groups: readonly GroupRecord[];
    readonly filter: RolloutFilter;
    /** Id of the rollout in the inspector. */
    readonly inspected: string | null;
    readonly ofStep: boolean;
  };
  /** Below the reward weights, with the value of the custom reward for the row that is tried out. */
  readonly "custom-reward": {
    /** Null without a function, or if it fails. */
    readonly value: number | null;
    readonly problem: string | null;
    /** Number of that row; null without rows. */
    readonly row: number | null;
  };
  /** Beside the heading of Setup. */
  readonly "settings-file": Nothing;
  /** Beside the settings, about the sources of the rows. */
  readonly mix: Nothing;
  /** Below all else on Runs: runs that are read-only here. */
  readonly "runs-elsewhere": {
    readonly runs: readonly RunDigest[];
    readonly onFork: (run: RunDigest) => void;
  };
  /** Beside the list of the Runs screen: one or more runs, in the order of their colours. */
  readonly "run-curves": { readonly runs: readonly RunDigest[] };
  /** Below the list of the Runs screen, with the runs that it shows. */
  readonly runs: { readonly runs: readonly RunDigest[] };
  /** In the details of an open row, as the tab *Try the model*. */
  readonly row: { readonly row: RegionSummary };
  /** Above the gallery of Data, where it can be folded away. */
  readonly "row-filter": FilteredRows;
  /** The tab *Memory* of System; null before the trainer has reported. */
  readonly memory: { readonly report: SystemReport | null };
  /** In a dialog of Runs: how a run continues from one of its checkpoints. */
  readonly fork: {
    readonly run: RunDigest;
    /** Whether it is stored elsewhere, so that only a copy can continue. */
    readonly readOnly: boolean;
    readonly onCancel: () => void;
    /** Receives what the user decided on; null for nothing. */
    readonly onWork: (work: Promise<unknown> | null) => void;
  };
  /** On Setup, under *Memory and time in detail*. */
  readonly fit: { readonly plan: RunPlan };
  /** On the first tab of System, below the adapter. */
  readonly browser: Nothing;
  /** The tab *Log* of System. */
  readonly log: Nothing;
  /** At the foot of System; null before the trainer has reported. */
  readonly report: { readonly report: SystemReport | null };
  /** On the first tab of System, above the adapter. */
  readonly "self-test": Nothing;
  /** What is known of the open files: a dialog of the files, of the skipped rows or of the checks. */
  readonly "data-files": {
    readonly info: SetInfo;
    readonly open: "shards" | "skipped" | "checks";
    readonly onClose: () => void;
  };
  /** Where work that was stopped is offered again: on the Home screen and beside held-out rows. */
  readonly "stopped-work": Nothing;
  /** The part *Suites* of the tab Held-out. */
  readonly suites: Nothing;
  /** The tab *Tools* of System. */
  readonly tools: Nothing;
  /** At the top of the Runs screen. */
  readonly "open-run": Nothing;
  /** Beside the composer of the Rewards screen: a row with its trial and the scores of that. */
  readonly trial: {
    readonly row: RegionSummary;
    readonly rows: readonly RegionSummary[];
    readonly trial: Trial;
    readonly score: LiveScore;
    readonly onRow: (row: RegionSummary) => void;
    readonly onTrial: (trial: Trial) => void;
  };
  /** Below the rollouts of a step or of the whole run; `onPick` lists those with a reward in a range. */
  readonly "rewards-of": {
    readonly title: string;
    readonly groups: readonly GroupRecord[];
    readonly filter: RolloutFilter;
    readonly onPick: (least: number, most: number) => void;
  };
  /** Below the held-out rows: the first evaluation and the one that is shown. */
  readonly "held-out": {
    readonly first: EvalReport;
    readonly last: EvalReport;
    readonly metric: ScoreId;
    /** Pictures of the report rows. */
    readonly pictures: number;
  };
  /** The view *Whole run* of the tab Rollouts. */
  readonly "whole-run": { readonly run: ViewedRun; readonly scan: Scan };
}

/** A panel of a plug-in, at one place. */
export type PluginPanel = {
  readonly [P in keyof Places]: { readonly plugin: string; readonly at: P; readonly Panel: ComponentType<Places[P]> };
}[keyof Places];
