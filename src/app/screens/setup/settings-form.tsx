import { type ReactNode, useMemo, useState } from "react";
import { weightKey } from "../../../engine/config/groups/reward-weights.ts";
import { requireConfig, SkippableSettings } from "../../../engine/config/parse.ts";
import { presetConfig } from "../../../engine/config/presets.ts";
import { readSettingsFile, settingsText } from "../../../engine/config/settings-file.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { learningRate, scheduleOf, scheduleSteps } from "../../../engine/rl/optim/schedule.ts";
import { report } from "../../clients/lab.ts";
import { saveJson } from "../../clients/save-blob.ts";
import { Field } from "../../components/settings/field.tsx";
import { fieldGroups, numberText } from "../../components/settings/setting-values.ts";
import { Button } from "../../components/ui/button.tsx";
import { Switch } from "../../components/ui/controls.tsx";
import { FileButton } from "../../components/ui/file-button.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { askConsent } from "../../stores/consent.ts";
import { addProblem, changeConfig, setShowAdvanced, useSession } from "../../stores/session.ts";
import { RunLength } from "./run-length.tsx";
import styles from "./settings-form.module.css";

/** One field per row of the settings table, in its groups. */
export function SettingsForm(): ReactNode {
  const config = useSession((session) => session.config);
  const preset = useSession((session) => session.preset);
  const all = useSession((session) => session.showAdvanced);
  const base = useMemo(() => presetConfig(preset), [preset]);
  const groups = fieldGroups(config, base, all);
  return (
    <>
      <div className="row wrap gap-2-4 between">
        <label className="inline-flex gap-2 align-centre pointer" htmlFor="all-settings">
          <Switch id="all-settings" checked={all} onChange={setShowAdvanced} testId="all-settings" />
          Show all settings
        </label>
        <ConfigFile />
      </div>
      <div className={styles.groups}>
        {groups.map((group) => (
          <Panel key={group.id} title={group.title}>
            {group.id === "optimiser" && <ScheduleCurve config={config} />}
            <div className="column-flex">
              {group.keys.map((key) => (
                <Field key={key} name={key} value={config[key]} base={base[key]}>
                  {key === "steps" && <RunLength config={config} />}
                </Field>
              ))}
            </div>
          </Panel>
        ))}
      </div>
    </>
  );
}

/** Imports settings from a JSON or YAML file: all of them or none. @param skip leaves out names without a counterpart */
async function importConfig(file: File, skip: boolean): Promise<void> {
  const record = readSettingsFile(settingsText(new Uint8Array(await file.arrayBuffer()), file.name), file.name);
  const base = presetConfig(useSession.getState().preset);
  const tell = (message: string): void => addProblem({ code: "bad-config", message, subject: file.name });
  const config = requireConfig(record, base, file.name, tell, skip);
  const answer = await askConsent(config, file.name, true);
  if (answer === "cancel") return;
  changeConfig(answer === "allow" ? config : { ...config, ...ownReach() });
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

function ConfigFile(): ReactNode {
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
        Import…
      </FileButton>
      <Button data-testid="export-config" onClick={() => saveJson(useSession.getState().config, "settings.json")}>
        Export
      </Button>
    </span>
  );
}

const WIDTH = 300;
const HEIGHT = 56;
const POINTS = 150;

/** Sparkline of the learning rate over the steps of the run. */
function ScheduleCurve(props: { readonly config: LabConfig }): ReactNode {
  const { config } = props;
  const schedule = scheduleOf(config);
  const last = Math.max(1, config.steps - 1);
  const count = Math.min(POINTS, last + 1);
  const rates = Array.from({ length: count }, (_, index) => {
    const step = Math.round((index / Math.max(1, count - 1)) * last);
    return { step, rate: learningRate(config.learningRate, step * scheduleSteps(config), schedule) };
  });
  const peak = Math.max(config.learningRate, Number.MIN_VALUE);
  const line = rates
    .map(({ step, rate }) => `${((step / last) * WIDTH).toFixed(1)},${(HEIGHT - (rate / peak) * HEIGHT).toFixed(1)}`)
    .join(" ");
  const end = rates.at(-1)?.rate ?? 0;
  return (
    <figure className={`mb-3 ${styles.figure}`}>
      <svg
        className="block full-width"
        viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Learning rate: peak ${numberText(config.learningRate)}, warm-up ${config.warmupSteps} steps, ${numberText(Number(end.toPrecision(2)))} at step ${last}`}
      >
        <path className={styles.base} d={`M0 ${HEIGHT}H${WIDTH}`} />
        <polyline className={styles.line} points={line} />
      </svg>
      <figcaption className={`flex between muted tiny ${styles.caption}`}>
        <span>step 0</span>
        <span>learning rate, peak {numberText(config.learningRate)}</span>
        <span>{last}</span>
      </figcaption>
    </figure>
  );
}
