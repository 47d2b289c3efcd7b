import { type ReactNode, useState } from "react";
import { shownLoops } from "../../../engine/config/derived.ts";
import { weightKey } from "../../../engine/config/groups/reward-weights.ts";
import { REWARD_PRESETS, type RewardPreset } from "../../../engine/config/presets.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { actingWeights, rewardPlan } from "../../../engine/rewards/composer/plan.ts";
import { isCost, TERMS, type TermName, termSpec } from "../../../engine/rewards/terms/registry.ts";
import { aboutLoop, type LoopId } from "../../../engine/rl/loops/abouts.ts";
import { rewardFormula, rewardText, termName } from "../../components/rollout/rollout-view.ts";
import { Fields, NumberField } from "../../components/settings/field.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Fold, Panel } from "../../components/ui/panel/panel.tsx";
import { changeConfig, useSession } from "../../stores/session.ts";
import styles from "./rewards.module.css";

/** The matrix loop × term with the terms in use or all of them, presets, and settings of the terms. */
export function Composer(): ReactNode {
  const config = useSession((session) => session.config);
  const loops = shownLoops(config);
  const [all, setAll] = useState(false);
  /** Terms that had a weight: one stays while its weight is typed anew, which may begin with 0. */
  const [kept, setKept] = useState<readonly TermName[]>([]);
  const used = TERMS.filter((term) => kept.includes(term) || loops.some((loop) => config[weightKey(loop, term)] !== 0));
  if (used.length > kept.length) setKept(used);
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
              setKept([]);
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
              <th key={id} scope="col" title={rewardText(config, id)}>
                Loop {id}
                <span>{aboutLoop(id).arrow}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(all ? TERMS : used).map((term) => (
            <tr key={term} data-cost={isCost(term)}>
              <th scope="row" title={termSpec(term).help}>
                {termName(term)}
                <span className="block muted small normal">{termSpec(term).help}.</span>
              </th>
              {loops.map((loop) => {
                const name = weightKey(loop, term);
                return (
                  <td key={loop}>
                    <NumberField
                      id={`weight-${name}`}
                      name={name}
                      value={config[name]}
                      label={SETTINGS[name].label}
                      className={`${styles.weight} ${config[name] === 0 ? styles.unused : styles.used}`}
                      {...(isCost(term) ? { sign: "−" } : {})}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <Button
        className="mt-2"
        aria-expanded={all}
        data-testid="all-terms"
        onClick={() => {
          setKept([]);
          setAll(!all);
        }}
      >
        {all ? "Show the terms in use" : `Show all ${TERMS.length} terms`}
      </Button>
      <Formulas config={config} />
      <Fold summary="How terms are computed" className="mt-3">
        <div className="mt-3">
          <Fields keys={HOW} />
        </div>
      </Fold>
    </Panel>
  );
}

const HOW: readonly SettingKey[] = ["iouShape", "emptyPairReward", "lengthRatio", "repetitionGram", "leakWords"];

function isChosen(preset: RewardPreset, config: LabConfig): boolean {
  return Object.entries(preset.values).every(([key, value]) => config[key as SettingKey] === value);
}

/** The reward formula, one line per loop. */
function Formulas({ config }: { readonly config: LabConfig }): ReactNode {
  const { weights } = rewardPlan(config);
  const moved = (loop: LoopId): boolean => actingWeights(weights[loop], config.judge !== "off") !== weights[loop];
  return (
    <dl className={`grid gap-1 mt-3 p-3 surface-2 round-m ${styles.formulas}`} data-testid="reward-formulas">
      {shownLoops(config).map((loop) => (
        <div key={loop} className="flex gap-3">
          <dt>Loop {loop}</dt>
          <dd>
            r = {rewardFormula(config, loop) || "none: rollouts get no reward"}
            {moved(loop) && <span className="block muted small">no judge is set, so METEOR takes its weight</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
