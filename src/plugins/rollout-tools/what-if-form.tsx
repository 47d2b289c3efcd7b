/** A finished step under other settings. */
import { type ReactNode, useId, useMemo, useState } from "react";
import { termName } from "../../app/components/rollout/rollout-view.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Select, TextInput } from "../../app/components/ui/controls.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { compact, fixed, NONE, signed } from "../../app/styles/format.ts";
import { weightKey } from "../../engine/config/groups/reward-weights.ts";
import { parseSetting } from "../../engine/config/parse.ts";
import type { Setting } from "../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import { toLabError } from "../../engine/errors.ts";
import type { TermName } from "../../engine/rewards/terms/registry.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import styles from "./rollout-tools.module.css";
import { type WhatIf, whatIf } from "./what-if.ts";

const OBJECTIVE = ["scaleRewards", "lossType", "epsilonLow", "epsilonHigh", "beta", "klEstimator"] as const;

type Answer = { readonly result: WhatIf; readonly problem: null } | { readonly result: null; readonly problem: string };

/** A finished step under other settings, recomputed at once. @param groups all of this loop in the step */
export function WhatIfPanel(props: {
  readonly group: GroupRecord;
  readonly groups: readonly GroupRecord[];
  readonly config: LabConfig;
}): ReactNode {
  const { group, groups, config } = props;
  const [changes, setChanges] = useState<Partial<LabConfig>>({});
  const now = useMemo(() => answerOf(groups, config), [groups, config]);
  const then = useMemo(() => answerOf(groups, { ...config, ...changes }), [groups, config, changes]);
  const terms = [
    ...new Set(groups.flatMap(({ rollouts }) => rollouts.flatMap((one) => one.terms.map(({ name }) => name)))),
  ];
  const keys: readonly SettingKey[] = [
    ...terms
      .filter((name) => weightKey(group.loop, name as TermName) in SETTINGS)
      .map((name) => weightKey(group.loop, name as TermName)),
    ...OBJECTIVE,
  ];
  const place = groups.indexOf(group);
  const changed = Object.keys(changes).length > 0;
  return (
    <div className="grid gap-3" data-testid="what-if">
      <p className="muted">
        Recomputes rewards, advantages and the loss of the first pass with other settings, for the same rollouts
      </p>
      <div className={`grid gap-2-3 ${styles.fields}`}>
        {keys.map((name) => (
          <Field
            key={name}
            name={name}
            label={labelOf(name, group, terms)}
            value={{ ...config, ...changes }[name]}
            onChange={(value) => setChanges({ ...changes, [name]: value })}
          />
        ))}
      </div>
      {then.problem !== null && <p className="bad">{then.problem}</p>}
      <p className="row wrap gap-2-3 min-control" data-testid="what-if-loss">
        Loss of loop {group.loop} <b>{lossText(now)}</b>
        {changed && (
          <>
            → <b className="accent">{lossText(then)}</b>
            <Button kind="quiet" onClick={() => setChanges({})}>
              Reset
            </Button>
          </>
        )}
      </p>
      <table>
        <TableHead columns={["Rollout", "Reward", "New", "Advantage", "New"]} />
        <tbody>
          {group.rollouts.map((rollout, n) => (
            <tr key={rollout.id}>
              <th scope="row">{rollout.index + 1}</th>
              <td>{fixed(rollout.reward, 3)}</td>
              <td>{then.result === null ? NONE : fixed(then.result.rewards[place]?.[n], 3)}</td>
              <td>{signed(rollout.advantage, 3)}</td>
              <td>{then.result === null ? NONE : signed(then.result.advantages[place]?.values[n] ?? Number.NaN, 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A loss of 0 has no decimals, and a small one keeps its digits. */
function lossText({ result }: Answer): string {
  const loss = result?.loss?.loss;
  return Math.abs(loss ?? 0) < 1e-3 ? compact(loss) : fixed(loss, 5);
}

function answerOf(groups: readonly GroupRecord[], config: LabConfig): Answer {
  try {
    return { result: whatIf(groups, config), problem: null };
  } catch (thrown) {
    return { result: null, problem: toLabError(thrown).message };
  }
}

function labelOf(name: SettingKey, group: GroupRecord, terms: readonly string[]): string {
  const term = terms.find((one) => weightKey(group.loop, one as TermName) === name);
  return term === undefined ? SETTINGS[name].label : `Weight of ${termName(term)}`;
}

/** One setting: a choice, or a number that counts as soon as it is valid. */
function Field(props: {
  readonly name: SettingKey;
  readonly label: string;
  readonly value: LabConfig[SettingKey];
  readonly onChange: (value: unknown) => void;
}): ReactNode {
  const { name, label, value, onChange } = props;
  const setting: Setting = SETTINGS[name];
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <div className="grid gap-1 min-0">
      <label className="muted small" htmlFor={id}>
        {label}
      </label>
      {setting.kind === "choice" ? (
        <Select id={id} options={setting.choices} value={String(value)} onChange={onChange} />
      ) : (
        <TextInput
          id={id}
          inputMode="decimal"
          value={draft ?? String(value)}
          onChange={(event) => {
            const text = event.currentTarget.value;
            setDraft(text);
            const parsed = parseSetting(name, text);
            if ("value" in parsed) onChange(parsed.value);
          }}
          onBlur={() => setDraft(null)}
        />
      )}
    </div>
  );
}
