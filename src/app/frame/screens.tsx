/** The screens, in the order of the rail. */
import { type ComponentType, lazy, type ReactNode } from "react";
import {
  IconData,
  IconEval,
  IconJudge,
  IconRewards,
  IconRollouts,
  IconRuns,
  IconSetup,
  IconSystem,
  IconTrain,
} from "../components/ui/icons.tsx";
import { DataScreen } from "../screens/data/data-screen.tsx";
import { EvalScreen } from "../screens/eval/eval-screen.tsx";
import { JudgeScreen } from "../screens/judge/judge-screen.tsx";
import { RewardsScreen } from "../screens/rewards/rewards-screen.tsx";
import { RolloutsScreen } from "../screens/rollouts/rollouts-screen.tsx";
import { RunsScreen } from "../screens/runs/runs-screen.tsx";
import { SetupScreen } from "../screens/setup/setup-screen.tsx";
import { TrainScreen } from "../screens/train/train-screen.tsx";
import type { Screen } from "../stores/route.ts";

export interface ScreenEntry {
  readonly id: Screen;
  readonly label: string;
  /** Second key after "g". */
  readonly key: string;
  readonly icon: ReactNode;
}

export const SCREEN_LIST: readonly ScreenEntry[] = [
  { id: "data", label: "Data", key: "d", icon: <IconData size={18} /> },
  { id: "setup", label: "Setup", key: "s", icon: <IconSetup size={18} /> },
  { id: "rewards", label: "Rewards", key: "w", icon: <IconRewards size={18} /> },
  { id: "train", label: "Train", key: "t", icon: <IconTrain size={18} /> },
  { id: "rollouts", label: "Rollouts", key: "r", icon: <IconRollouts size={18} /> },
  { id: "judge", label: "Judge", key: "j", icon: <IconJudge size={18} /> },
  { id: "eval", label: "Eval", key: "e", icon: <IconEval size={18} /> },
  { id: "runs", label: "Runs", key: "n", icon: <IconRuns size={18} /> },
  { id: "system", label: "System", key: "y", icon: <IconSystem size={18} /> },
];

/** Loaded on demand. */
const SystemScreen = lazy(() => import("../screens/system/system-screen.tsx"));

const COMPONENTS: Readonly<Record<Screen, ComponentType>> = {
  data: DataScreen,
  setup: SetupScreen,
  rewards: RewardsScreen,
  train: TrainScreen,
  rollouts: RolloutsScreen,
  judge: JudgeScreen,
  eval: EvalScreen,
  runs: RunsScreen,
  system: SystemScreen,
};

export function screenComponent(id: Screen): ComponentType {
  return COMPONENTS[id];
}
