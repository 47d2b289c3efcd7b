/** The screens of the rail, in the order of work. */
import type { ComponentType, ReactNode } from "react";
import { IconData, IconRollouts, IconRuns, IconSetup, IconTrain } from "../components/ui/icons.tsx";
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
  { id: "train", label: "Train", key: "t", icon: <IconTrain size={18} /> },
  { id: "rollouts", label: "Rollouts", key: "r", icon: <IconRollouts size={18} /> },
  { id: "runs", label: "Runs", key: "n", icon: <IconRuns size={18} /> },
];

const modules = import.meta.glob<Readonly<Record<string, ComponentType>>>("../screens/*/*-screen.tsx", { eager: true });

/** The component of a screen: the export of `screens/<id>/<id>-screen.tsx` whose name ends in "Screen". */
export function screenComponent(id: Screen): ComponentType | null {
  const exports = modules[`../screens/${id}/${id}-screen.tsx`] ?? {};
  return Object.entries(exports).find(([name]) => name.endsWith("Screen"))?.[1] ?? null;
}
