import { type ReactNode, useId, useState } from "react";
import { create } from "zustand";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { Sparkline } from "../../app/components/charts/sparkline.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { Select } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { fixed, NONE } from "../../app/styles/format.ts";
import styles from "./completions.module.css";
import { type Completion, type Completions, meanByStep, promptsAt, stepsOf } from "./completions.ts";
import type { CompletionCalls } from "./trl-completions.ts";

/** The opened folders of completions, in their order; those of a folder that is opened again are replaced. */
const useOpened = create<{ readonly opened: readonly Completions[] }>()(() => ({ opened: [] }));

async function open(list: FileList): Promise<void> {
  const files = [...list]
    .map((file) => ({ path: file.webkitRelativePath || file.name, file }))
    .filter(({ path }) => path.endsWith(".parquet"));
  const [first] = files;
  const name = first?.path.split("/")[0] ?? "The folder";
  const read = await pluginCalls<CompletionCalls>("data").completions(files, name);
  useOpened.setState(({ opened }) => ({ opened: [...opened.filter((own) => own.name !== name), read] }));
}

/** Prompts of a step that are shown. */
const SHOWN = 20;

/** Completions that TRL logged: the mean of each reward over the steps, and the completions of a step side by side. */
export default function CompletionsPanel(): ReactNode {
  const id = useId();
  const opened = useOpened((state) => state.opened);
  const [chosen, setChosen] = useState<number | null>(null);
  const steps = [...new Set(opened.flatMap(stepsOf))].sort((a, b) => a - b);
  const step = chosen !== null && steps.includes(chosen) ? chosen : (steps.at(-1) ?? null);
  const prompts = step === null ? [] : [...new Set(opened.flatMap((own) => [...promptsAt(own, step).keys()]))];
  return (
    <Panel
      title="Completions of TRL"
      aside={
        <span className="row gap-2">
          <label htmlFor={id} className={`pointer framed-control round-m medium ${styles.pick}`}>
            Open completions…
          </label>
          <input
            id={id}
            className="visually-hidden"
            type="file"
            multiple
            accept=".parquet"
            data-testid="open-completions"
            ref={(element) => {
              if (element !== null) element.webkitdirectory = true;
            }}
            onChange={(event) => {
              const { files } = event.currentTarget;
              if (files !== null && files.length > 0) report(open(files));
              event.currentTarget.value = "";
            }}
          />
          {opened.length > 0 && <Button onClick={() => useOpened.setState({ opened: [] })}>Close</Button>}
        </span>
      }
    >
      {step === null ? (
        <p className="muted small m-0">
          Folders with completions_00010.parquet of a GRPO run in TRL (log_completions), one or more to compare
        </p>
      ) : (
        <div className="column-flex gap-3" data-testid="completions">
          <RewardTable opened={opened} />
          <Select
            label="Step"
            options={steps.map((at) => ({ value: String(at), label: `Step ${at}` }))}
            value={String(step)}
            onChange={(value) => setChosen(Number(value))}
          />
          {prompts.slice(0, SHOWN).map((prompt) => (
            <section key={prompt} className="grid gap-2" aria-label={prompt}>
              <p className={`m-0 small muted anywhere ${styles.prompt}`}>{prompt}</p>
              <div className={`grid gap-3 ${styles.sides}`}>
                {opened.map((own) => (
                  <Side key={own.name} name={own.name} rows={promptsAt(own, step).get(prompt) ?? []} />
                ))}
              </div>
            </section>
          ))}
          {prompts.length > SHOWN && (
            <p className="muted small m-0">
              The first {SHOWN} of {prompts.length} prompts
            </p>
          )}
        </div>
      )}
    </Panel>
  );
}

function RewardTable({ opened }: { readonly opened: readonly Completions[] }): ReactNode {
  const rewards = [...new Set(opened.flatMap((own) => own.rewards))];
  return (
    <div className="scroll-x">
      <table className={`small ${styles.table}`}>
        <thead>
          <tr>
            <th scope="col">Mean reward</th>
            {opened.map(({ name }) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rewards.map((reward) => (
            <tr key={reward}>
              <th scope="row">{reward}</th>
              {opened.map((own) => {
                const means = meanByStep(own, reward);
                return (
                  <td key={own.name}>
                    <span className="row gap-2">
                      <Sparkline className={styles.curve ?? ""} name={reward} values={means.map(([, mean]) => mean)} />
                      {fixed(means.at(-1)?.[1], 3)}
                    </span>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Side({ name, rows }: { readonly name: string; readonly rows: readonly Completion[] }): ReactNode {
  if (rows.length === 0) return <p className="muted small m-0">{name} did not sample this prompt</p>;
  return (
    <table className={`small full-width ${styles.table}`}>
      <caption className="text-left bold">{name}</caption>
      <tbody>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: completions of a prompt may be equal
          <tr key={at}>
            <td className="anywhere">{row.completion}</td>
            <td className={styles.number}>
              {Object.entries(row.rewards)
                .map(([reward, value]) => `${reward} ${fixed(value, 3)}`)
                .join(" · ") || NONE}
            </td>
            <td className={styles.number}>{row.advantage === null ? NONE : `advantage ${fixed(row.advantage, 2)}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
