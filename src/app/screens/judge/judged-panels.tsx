import type { ReactNode } from "react";
import { AgreementPanel } from "./agreement-panel.tsx";
import { CalibrationPanel } from "./calibration-panel.tsx";
import { useJudgedRollouts } from "./use-judged-rollouts.ts";

/** Panels about stored judge scores; the rollouts are read once for both. */
export function JudgedPanels(): ReactNode {
  const judged = useJudgedRollouts();
  return (
    <>
      <CalibrationPanel groups={judged.groups} />
      <AgreementPanel judged={judged} />
    </>
  );
}
