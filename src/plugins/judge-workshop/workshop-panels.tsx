import type { ReactNode } from "react";
import { CalibrationPanel } from "./calibration-panel.tsx";
import { PairPanel } from "./pair-panel.tsx";
import { PromptsPanel } from "./prompts-panel.tsx";
import { TestPanel } from "./test-panel.tsx";

/** Tests and prompts of the judge beside its settings. */
export default function WorkshopPanels(): ReactNode {
  return (
    <>
      <TestPanel />
      <PromptsPanel />
      <PairPanel />
      <CalibrationPanel />
    </>
  );
}
