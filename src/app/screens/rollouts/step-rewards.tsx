import { type ReactNode, useMemo } from "react";
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { LOOPS, type LoopId } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../engine/runs/records.ts";
import { loopColour, loopStyle } from "../../components/rollout/loop-colour.ts";
import { fixed } from "../../styles/format.ts";
import { edgeDecimals, rewardBins } from "./reward-bins.ts";
import styles from "./rollouts.module.css";

/** Distribution of the rewards of a step, all loops; loaded on demand because its library is large. */
export default function StepRewards({ groups }: { readonly groups: readonly GroupRecord[] }): ReactNode {
  const bins = useMemo(() => rewardBins(groups, 20), [groups]);
  const count = (loop: LoopId): number => bins.reduce((sum, bin) => sum + bin.counts[loop], 0);
  const loops = LOOPS.filter((loop) => !("optional" in loop) || count(loop.id) > 0);
  const total = loops.reduce((sum, { id }) => sum + count(id), 0);
  if (total < 2) return null;
  const decimals = edgeDecimals(bins);
  const edge = (value: number | undefined): string => fixed(value, decimals);
  const [low, high] = [edge(bins[0]?.from), edge(bins.at(-1)?.to)];
  return (
    <section className={`framed round-l surface ${styles.spread}`}>
      <h2>Rewards of this step</h2>
      <div role="img" aria-label={`Distribution of ${total} rewards from ${low} to ${high}`}>
        <ResponsiveContainer width="100%" height={140}>
          <BarChart data={bins} barGap={0} margin={{ top: 6, right: 6, bottom: 0, left: -26 }}>
            <CartesianGrid vertical={false} stroke="var(--chart-grid)" />
            <XAxis
              dataKey="from"
              tickFormatter={edge}
              interval={3}
              stroke="var(--chart-axis)"
              fontSize={11}
              tickLine={false}
            />
            <YAxis allowDecimals={false} stroke="var(--chart-axis)" fontSize={11} tickLine={false} axisLine={false} />
            <Tooltip
              cursor={{ fill: "var(--surface-2)" }}
              contentStyle={{ background: "var(--raised)", border: "1px solid var(--line)", fontSize: 12 }}
              labelFormatter={(value) => {
                const bin = bins.find(({ from }) => from === value);
                return `Reward from ${edge(bin?.from)} to ${edge(bin?.to)}`;
              }}
            />
            {loops.map(({ id }) => (
              <Bar
                key={id}
                dataKey={`counts.${id}`}
                name={`loop ${id}`}
                fill={loopColour(id)}
                isAnimationActive={false}
              />
            ))}
          </BarChart>
        </ResponsiveContainer>
      </div>
      <ul className={`flex gap-4 m-0 muted small p-0 no-bullets ${styles.spreadLegend}`}>
        {loops.map(({ id }) => (
          <li key={id} style={loopStyle(id)}>
            loop {id}
          </li>
        ))}
      </ul>
    </section>
  );
}
