/** docs/metrics.md, made from the table. */
import { LOOP_IDS, LOOPS } from "../../../src/engine/rl/loops/abouts.ts";
import { METRICS } from "../../../src/engine/runs/metrics/metric-table.ts";

/** The page as Markdown. */
export function metricsPage(): string {
  const rows = METRICS.map((row) =>
    [
      `\`${row.name}\`${row.alias === undefined ? "" : `<br>also \`${row.alias}\``}`,
      row.meaning,
      row.formula === "" ? "" : `\`${row.formula}\``,
      row.unit,
      row.healthy,
    ].map((cell) => cell.replaceAll("|", "\\|")),
  );
  const lines = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return `# Metrics

Generated from \`src/engine/runs/metrics/metric-table.ts\`; a test compares the two. \`K\` is the loop, ${LOOP_IDS.join(", ")}; a name in angle
brackets stands for a reward term, a phase, a source of the mix or a block of the trainable set. Every step writes one line of
\`metrics.jsonl\`; a metric that does not apply to a step is absent, never 0. ${LOOPS.map(({ id, arrow }) => `Loop ${id} is ${arrow}`).join("; ")}. "Also" gives the name in the design notes, which exports write in addition to ours.

A loop's KL, entropy, ratios and shares of actions are means within each group first and then over the groups, so that every
group counts alike, however long its completions are.

With several passes over a batch, a loop's loss, KL, entropy, ratios and clip shares are averaged over the passes, except
for the extremes of the ratio; gradient norms, learning rate and moving average are those of the last pass.

| metric | meaning | formula | unit | healthy |
| --- | --- | --- | --- | --- |
${lines.join("\n")}
`;
}
