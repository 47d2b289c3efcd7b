import type { ReactNode } from "react";
import { AgreementPanel } from "./agreement-panel.tsx";
import { CalibrationPanel } from "./calibration-panel.tsx";
import { useJudgedRollouts } from "./use-judged-rollouts.ts";

/** What stored rollouts say of the judge; they are read once for both panels. */
export function JudgedPanels(): ReactNode {
  const judged = useJudgedRollouts();
  return (
    <>
      <CalibrationPanel groups={judged.groups} />
      <AgreementPanel judged={judged} />
    </>
  );
}
