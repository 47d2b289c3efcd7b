/** Completions of TRL as the Runs screen shows them. */

export interface Completion {
  readonly step: number;
  readonly prompt: string;
  readonly completion: string;
  /** Values of the reward functions, by name. */
  readonly rewards: Readonly<Record<string, number>>;
  readonly advantage: number | null;
}

export interface Completions {
  /** Name of the folder or file. */
  readonly name: string;
  /** Names of the reward functions. */
  readonly rewards: readonly string[];
  /** By step. */
  readonly rows: readonly Completion[];
}

/** Mean of a reward at each step that has it. */
export function meanByStep({ rows }: Completions, reward: string): readonly (readonly [step: number, mean: number])[] {
  const sums = new Map<number, [sum: number, count: number]>();
  for (const { step, rewards } of rows) {
    const value = rewards[reward];
    if (value === undefined) continue;
    const [sum, count] = sums.get(step) ?? [0, 0];
    sums.set(step, [sum + value, count + 1]);
  }
  return [...sums].map(([step, [sum, count]]) => [step, sum / count]);
}

/** Steps, ascending. */
export function stepsOf({ rows }: Completions): readonly number[] {
  return [...new Set(rows.map(({ step }) => step))];
}

/** The completions of a step by prompt, in the order of the file. */
export function promptsAt({ rows }: Completions, step: number): ReadonlyMap<string, readonly Completion[]> {
  const prompts = new Map<string, Completion[]>();
  for (const row of rows) {
    if (row.step !== step) continue;
    const known = prompts.get(row.prompt);
    if (known === undefined) prompts.set(row.prompt, [row]);
    else known.push(row);
  }
  return prompts;
}
