/** The places of the page that show panels of plug-ins, with what each gives to a panel. */
import type { ComponentType } from "react";
import type { LabConfig } from "../../../engine/config/table.ts";
import type { Rle } from "../../../engine/data/mask/rle.ts";
import type { RowFilter } from "../../../engine/data/row-filter.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import type { SetInfo } from "../../../engine/data/set-info.ts";
import type { NextPhase } from "../../../engine/rl/run/events.ts";
import type { Alarm } from "../../../engine/runs/alarms.ts";
import type { ScoreId } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport, StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import type { ActionRecord, GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import type { Plan as RunPlan } from "../../../engine/session/plan.ts";
import type { MetricSource } from "../charts/series.ts";
import type { Track } from "../mask/frame-store.ts";
import type { MaskRole } from "../mask/layers.ts";
import type { RolloutFilter } from "../rollout/rollout-view.ts";
import type { Scan, ViewedRun } from "../rollout/use-viewed-run.ts";

/** All rows and the row filter. */
export interface FilteredRows {
  readonly rows: readonly RegionSummary[];
  /** Those that pass the filter. */
  readonly shown: readonly RegionSummary[];
  readonly filter: RowFilter;
  readonly onFilter: (filter: RowFilter) => void;
}

/** A run that the user is asked about. */
interface Asked {
  readonly run: RunDigest;
  /** Whether it is stored elsewhere, so that only a copy can continue. */
  readonly readOnly: boolean;
  readonly onCancel: () => void;
  /** Receives what the user decided on; null for nothing. */
  readonly onWork: (work: Promise<unknown> | null) => void;
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
  /** At the foot of Home: rollouts of the run; `onStep` receives their step. */
  readonly playback: { readonly run: ViewedRun; readonly onStep: (step: number | null) => void };
  /** In the inspector, below the picture: what each phase of a step made. */
  readonly lesson: {
    readonly run: ViewedRun;
    readonly step: number;
    /** All groups of the step that are known. */
    readonly groups: readonly GroupRecord[];
    /** The next phase of a paused step that is followed; null otherwise. */
    readonly next: NextPhase | null;
    /** Null before that step has rollouts. */
    readonly shown: { readonly rollout: RolloutRecord; readonly group: GroupRecord } | null;
  };
  /** Above the curves of the run of this page: one line about its phases. */
  readonly phases: Nothing;
  /** Above curves: their options, and the metrics without a chart that can be chosen. */
  readonly "curve-tools": {
    readonly source: MetricSource;
    /** Beginning of the name of a saved file. */
    readonly name: string;
    /** In the order of the list. */
    readonly names: readonly string[];
    readonly chosen: readonly string[];
    readonly onChange: (chosen: readonly string[]) => void;
  };
  /** On the tab Held-out: the evaluations of a run, and the step of the one that is shown. */
  readonly evaluations: {
    readonly list: readonly StoredEvaluation[];
    readonly metric: ScoreId;
    readonly title: string;
    readonly step: number;
  };
  /** A text that is compared with another. */
  readonly caption: { readonly name: string; readonly text: string; readonly reference: string };
  /** Above the list on Runs: which of all runs it shows, and in which groups. */
  readonly "run-filter": { readonly runs: readonly RunDigest[] };
  /** Below the line of a run on Runs. */
  readonly "run-details": {
    readonly run: RunDigest;
    /** The run that it changed; null for the first run. */
    readonly before: RunManifest | null;
    readonly onNotes: () => void;
  };
  /** On Rewards: the judge. */
  readonly judge: Nothing;
  /** In the panel of the model on Setup, behind its button *Open by address*. */
  readonly model: Nothing;
  /** Below all else on Rewards. */
  readonly rewards: Nothing;
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
  /** Below the reward weights. */
  readonly "custom-reward": Nothing;
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
  /** Likewise, as the tab *Raw record*; `raw` is its text, or why it cannot be read. */
  readonly "row-record": { readonly row: RegionSummary; readonly raw: string };
  /** Above the gallery of Data, where it can be folded away. */
  readonly "row-filter": FilteredRows;
  /** The tab *Memory* of System; null before the trainer has reported. */
  readonly memory: { readonly report: SystemReport | null };
  /** In a dialog of Runs: how a run continues from one of its checkpoints. */
  readonly fork: Asked;
  /** Likewise: how a finished run goes on. */
  readonly extend: Asked;
  /** Beside an alarm: changes of settings against its cause. */
  readonly remedies: { readonly alarm: Alarm; readonly run: ViewedRun };
  /** Likewise: its tags and notes. */
  readonly "run-notes": Asked;
  /** On Setup, below the forecast: measures a step. */
  readonly "dry-run": Nothing;
  /** On Setup, below the model: its conversions that the browser keeps. */
  readonly "stored-models": Nothing;
  /** On Setup, under *Memory and time in detail*. */
  readonly fit: { readonly plan: RunPlan };
  /** On the first tab of System, below the adapter. */
  readonly browser: Nothing;
  /** Below the self-test: the adapter and its measured speed. */
  readonly adapter: { readonly rate: SystemReport["rate"] };
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
  /** Beside the composer of the Rewards screen. */
  readonly trial: Nothing;
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
  readonly [P in keyof Places]: {
    readonly plugin: string;
    readonly at: P;
    readonly load: () => Promise<{ readonly default: ComponentType<Places[P]> }>;
  };
}[keyof Places];
