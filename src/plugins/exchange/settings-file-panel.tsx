import { type ReactNode, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { saveJson } from "../../app/clients/save-blob.ts";
import { Button, FileButton } from "../../app/components/ui/button.tsx";
import { Dialog } from "../../app/components/ui/overlays.tsx";
import { askConsent } from "../../app/stores/consent.ts";
import { addProblem, changeConfig, useSession } from "../../app/stores/session.ts";
import { weightKey } from "../../engine/config/groups/reward-weights.ts";
import { requireConfig, SkippableSettings } from "../../engine/config/parse.ts";
import { presetConfig } from "../../engine/config/presets.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import { LOOP_IDS } from "../../engine/rl/loops/abouts.ts";
import { readSettingsFile, settingsText } from "./settings-file.ts";

/** Imports settings from a JSON or YAML file: all of them or none. @param skip leaves out names without a counterpart */
async function importConfig(file: File, skip: boolean): Promise<void> {
  const record = readSettingsFile(settingsText(new Uint8Array(await file.arrayBuffer()), file.name), file.name);
  const base = presetConfig(useSession.getState().preset);
  const tell = (message: string): void => addProblem({ code: "bad-config", message, subject: file.name });
  const config = required(() => requireConfig(record, base, file.name, tell, skip));
  const answer = await askConsent(config, file.name, true);
  if (answer === "cancel") return;
  changeConfig(answer === "allow" ? config : { ...config, ...ownReach() });
}

/** Says of refused settings what was kept; those that can be skipped are offered instead. */
function required<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown instanceof SkippableSettings) throw thrown;
    const { code, message, subject, list } = thrown;
    throw new LabError(code, `${message}; the settings are kept`, { ...(subject !== undefined && { subject }), list });
  }
}

/** Judge and custom reward of the current settings, kept if those of the file are rejected. */
function ownReach(): Partial<LabConfig> {
  const { config } = useSession.getState();
  const { judge, judgeUrl, userReward, userRewardHash } = config;
  const weights = LOOP_IDS.map((loop) => weightKey(loop, "user")).map((key) => [key, config[key]]);
  return { judge, judgeUrl, userReward, userRewardHash, ...Object.fromEntries(weights) };
}

/** A file with names that have no counterpart here. */
interface Offer {
  readonly file: File;
  readonly names: readonly string[];
}

/** Imports settings of this lab or of TRL from a file, and exports those of the page. */
export default function SettingsFile(): ReactNode {
  const [offer, setOffer] = useState<Offer | null>(null);
  const open = async (file: File): Promise<void> => {
    try {
      await importConfig(file, false);
    } catch (thrown) {
      if (!(thrown instanceof SkippableSettings)) throw thrown;
      setOffer({ file, names: thrown.list });
    }
  };
  const skip = (): void => {
    if (offer !== null) report(importConfig(offer.file, true));
    setOffer(null);
  };
  return (
    <span className="inline-flex gap-2">
      {offer !== null && (
        <Dialog title={`${offer.file.name}: settings without a counterpart`} open onOpenChange={() => setOffer(null)}>
          <ul data-testid="skipped-names">
            {offer.names.map((name) => (
              <li key={name}>{name}</li>
            ))}
          </ul>
          <div className="row gap-2">
            <Button data-testid="skip-names" onClick={skip}>
              Import without them
            </Button>
            <Button onClick={() => setOffer(null)}>Cancel</Button>
          </div>
        </Dialog>
      )}
      <FileButton
        label="Settings file"
        accept=".json,.yaml,.yml,application/json"
        testId="pick-config"
        onFile={(file) => report(open(file))}
      >
        Import settings…
      </FileButton>
      <Button data-testid="export-config" onClick={() => saveJson(useSession.getState().config, "settings.json")}>
        Export settings
      </Button>
    </span>
  );
}
