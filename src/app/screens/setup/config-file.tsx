import type { ReactNode } from "react";
import { weightKey } from "../../../engine/config/groups/reward-weights.ts";
import { requireConfig } from "../../../engine/config/parse.ts";
import { presetConfig } from "../../../engine/config/presets.ts";
import { readSettingsFile } from "../../../engine/config/settings-file.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { report } from "../../clients/lab.ts";
import { saveJson } from "../../clients/save-blob.ts";
import { Button } from "../../components/ui/button.tsx";
import { FileButton } from "../../components/ui/file-button.tsx";
import { askConsent } from "../../stores/consent.ts";
import { addProblem, changeConfig, useSession } from "../../stores/session.ts";

/** Imports settings from a JSON or YAML file: all of them or none. */
async function importConfig(file: File): Promise<void> {
  const record = readSettingsFile(await file.text(), file.name);
  const base = presetConfig(useSession.getState().preset);
  const tell = (message: string): void => addProblem({ code: "bad-config", message, subject: file.name });
  const config = requireConfig(record, base, file.name, tell);
  const answer = await askConsent(config, file.name, true);
  if (answer === "cancel") return;
  changeConfig(answer === "allow" ? config : { ...config, ...ownReach() });
}

/** Judge and custom reward of the current settings, kept if those of the file are rejected. */
function ownReach(): Partial<LabConfig> {
  const { config } = useSession.getState();
  const { judge, judgeProvider, judgeUrl, userReward, userRewardHash } = config;
  const weights = LOOP_IDS.map((loop) => weightKey(loop, "user")).map((key) => [key, config[key]]);
  return { judge, judgeProvider, judgeUrl, userReward, userRewardHash, ...Object.fromEntries(weights) };
}

export function ConfigFile(): ReactNode {
  return (
    <span className="inline-flex gap-2">
      <FileButton
        label="Settings file"
        accept=".json,.yaml,.yml,application/json"
        testId="pick-config"
        onFile={(file) => report(importConfig(file))}
      >
        Import…
      </FileButton>
      <Button data-testid="export-config" onClick={() => saveJson(useSession.getState().config, "settings.json")}>
        Export
      </Button>
    </span>
  );
}
