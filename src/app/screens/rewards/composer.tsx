import { type ReactNode, useState } from "react";
import { shownLoops } from "../../../engine/config/derived.ts";
import { weightKey } from "../../../engine/config/groups/reward-weights.ts";
import { REWARD_PRESETS, type RewardPreset } from "../../../engine/config/presets.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { actingWeights, rewardPlan } from "../../../engine/rewards/composer/plan.ts";
import { isCost, TERMS, type TermName, termSpec } from "../../../engine/rewards/terms/registry.ts";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import { termName, weightedSum } from "../../components/rollout/rollout-view.ts";
import { Fields, NumberField } from "../../components/settings/field.tsx";
import { Select } from "../../components/ui/controls.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { changeConfig, useSession } from "../../stores/session.ts";
import styles from "./rewards.module.css";

/** The matrix loop × term with the terms in use, presets, and settings of the terms. */
export function Composer(): ReactNode {
  const config = useSession((session) => session.config);
  const loops = shownLoops(config);
  /** Terms that were added here; they stay while their weights are 0. */
  const [added, setAdded] = useState<readonly TermName[]>([]);
  const used = (term: TermName): boolean =>
    added.includes(term) || loops.some((loop) => config[weightKey(loop, term)] !== 0);
  const unused = TERMS.filter((term) => !used(term));
  return (
    <Panel title="Reward weights" aside={<span className="muted small">reward = Σ weight · value</span>}>
      <div className={`grid gap-2 ${styles.presets}`}>
        {REWARD_PRESETS.map((entry) => (
          <button
            key={entry.name}
            type="button"
            className="choice grid p-2-3 text-left pointer surface framed round-m gap-2px"
            aria-pressed={isChosen(entry, config)}
            data-testid={`reward-preset-${entry.name}`}
            onClick={() => {
              setAdded([]);
              changeConfig(entry.values);
            }}
          >
            <b>{entry.title}</b>
            <span className="muted small">{entry.summary}</span>
          </button>
        ))}
      </div>
      <table className={`full-width ${styles.matrix}`} data-testid="reward-matrix">
        <thead>
          <tr>
            <th scope="col">Term</th>
            {loops.map((id) => (
              <th key={id} scope="col" title={aboutLoop(id).why}>
                Loop {id}
                <span>{aboutLoop(id).arrow}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {TERMS.filter(used).map((term) => (
            <tr key={term} data-cost={isCost(term)}>
              <th scope="row" title={termSpec(term).help}>
                {termName(term)}
                <span className="block muted small normal">{termSpec(term).help}.</span>
              </th>
              {loops.map((loop) => (
                <td key={loop}>
                  <Weight name={weightKey(loop, term)} config={config} cost={isCost(term)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div className="mt-2">
        <Select
          label="Add term"
          testId="add-term"
          options={[
            { value: "", label: "Add term…" },
            ...unused.map((term) => ({ value: term as string, label: termName(term) })),
          ]}
          value=""
          onChange={(term) => setAdded([...added, term as TermName])}
        />
      </div>
      <Formulas config={config} />
      <details className="fold mt-3">
        <summary>How terms are computed</summary>
        <div className="mt-3">
          <Fields keys={HOW} />
        </div>
      </details>
    </Panel>
  );
}

const HOW: readonly SettingKey[] = ["iouShape", "emptyPairReward", "lengthRatio", "repetitionGram", "leakWords"];

function isChosen(preset: RewardPreset, config: LabConfig): boolean {
  return Object.entries(preset.values).every(([key, value]) => config[key as SettingKey] === value);
}

/** The reward formula, one line per loop. */
function Formulas({ config }: { readonly config: LabConfig }): ReactNode {
  const plan = rewardPlan(config);
  const judge = config.judge !== "off";
  return (
    <dl className={`grid gap-1 mt-3 p-3 surface-2 round-m ${styles.formulas}`} data-testid="reward-formulas">
      {shownLoops(config).map((loop) => {
        const acting = actingWeights(plan.weights[loop], judge);
        const moved = acting !== plan.weights[loop];
        return (
          <div key={loop} className="flex gap-3">
            <dt>Loop {loop}</dt>
            <dd>
              r = {formula(acting)}
              {moved && <span className="block muted small">no judge is set, so METEOR takes its weight</span>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function formula(weights: Readonly<Record<TermName, number>>): string {
  const parts = TERMS.filter((term) => weights[term] !== 0).map((term) => [weights[term], termName(term)] as const);
  return weightedSum(parts) || "none: rollouts get no reward";
}

function Weight(props: {
  readonly name: ReturnType<typeof weightKey>;
  readonly config: LabConfig;
  readonly cost: boolean;
}): ReactNode {
  const { name, config, cost } = props;
  const value = config[name];
  return (
    <NumberField
      id={`weight-${name}`}
      name={name}
      value={value}
      label={SETTINGS[name].label}
      className={`${styles.weight} ${value === 0 ? styles.unused : styles.used}`}
      {...(cost ? { sign: "−" } : {})}
    />
  );
}
