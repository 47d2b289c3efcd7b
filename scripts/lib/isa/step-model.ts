/**
 * A model of a step's time on cards that are not here, from what a dry step dispatches. It is no measurement: a dispatch
 * takes the longest of its arithmetic at the share of multiply-adds that AMD's compiler reaches, one pass over its
 * buffers, and a launch. Caches, drivers, other compilers and clocks under load are not in it.
 */

import { DISPATCH_WORK } from "../../../src/engine/gpu/runtime/work-budget.ts";

/** Dispatches of one program with the same grid in a phase; numbers are sums over them, except the grid. */
export interface DispatchGroup {
  readonly phase: string;
  readonly name: string;
  dispatches: number;
  readonly workgroups: number;
  /** Threads of a workgroup. */
  readonly threads: number;
  /** As the work budget counts them; 0 for programs that it does not count. */
  multiplyAdds: number;
  /** Those of the largest dispatch. */
  most: number;
  /** Bytes of the bound buffers. */
  bytes: number;
}

export interface DryStep {
  /** Name of the release whose shapes it has. */
  readonly model: string;
  readonly adapter: string;
  readonly layers: number;
  readonly peak: { readonly allocated: number; readonly forecast: number; readonly ratio: number };
  readonly pipelines: number;
  /** Waits for the GPU between parts of a recording, and read-backs. */
  readonly waits: { readonly pace: number; readonly reads: number };
  readonly groups: readonly DispatchGroup[];
  /** Multiply-adds per vector instruction, by program. */
  readonly shares: Readonly<Record<string, number>>;
}

interface Card {
  readonly name: string;
  /** Lanes of f32, without dual issue. */
  readonly lanes: number;
  /** Waves that the card executes at the same time: its SIMDs, of 32 lanes. */
  readonly simds: number;
  /** GHz, boost. */
  readonly clock: number;
  /** GB/s. */
  readonly bandwidth: number;
  /** Seconds from the end of a dispatch to the next one that needs it; an estimate by class of card. */
  readonly launch: number;
}

/** Lanes, clocks and bandwidths are the makers' published specifications; Apple publishes no clock (1.4 GHz as measured by others). */
export const CARDS: readonly Card[] = [
  { name: "Radeon 780M", lanes: 768, simds: 24, clock: 2.7, bandwidth: 90, launch: 6e-6 },
  { name: "RX 6600", lanes: 1792, simds: 56, clock: 2.49, bandwidth: 224, launch: 5e-6 },
  { name: "RX 7900 XTX", lanes: 6144, simds: 192, clock: 2.5, bandwidth: 960, launch: 5e-6 },
  { name: "RTX 3060", lanes: 3584, simds: 112, clock: 1.78, bandwidth: 360, launch: 4e-6 },
  { name: "RTX 4090", lanes: 16_384, simds: 512, clock: 2.52, bandwidth: 1008, launch: 4e-6 },
  { name: "Apple M2", lanes: 1280, simds: 40, clock: 1.4, bandwidth: 100, launch: 8e-6 },
];

/** Waves of 32 lanes per SIMD with which a card issues an instruction in every cycle. */
const FULL = 2;

/** Modelled seconds of one dispatch of a group. */
export function dispatchSeconds(group: Omit<DispatchGroup, "most">, share: number, card: Card): number {
  const waves = (group.workgroups * Math.ceil(group.threads / 32)) / (card.simds * FULL);
  const peak = card.lanes * card.clock * 1e9 * Math.min(1, waves);
  const arithmetic = group.multiplyAdds === 0 ? 0 : group.multiplyAdds / group.dispatches / (peak * (share || 1));
  const memory = group.bytes / group.dispatches / (card.bandwidth * 1e9);
  return Math.max(arithmetic, memory, card.launch);
}

/** Whether a program is one of TensorFlow.js. */
const isStock = (name: string): boolean => !name.startsWith("lab-");

function grouped<T>(items: readonly T[], key: (item: T) => string): [string, T[]][] {
  const found = new Map<string, T[]>();
  for (const item of items) found.set(key(item), [...(found.get(key(item)) ?? []), item]);
  return [...found];
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number => items.reduce((all, item) => all + of(item), 0);
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, at) => (at === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** Name of the model whose step every report begins with. */
export const SA2VA_1B = "Sa2VA-1B";

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(2);
const giga = (some: readonly DispatchGroup[]): string => (sum(some, (group) => group.multiplyAdds) / 1e9).toFixed(1);
const count = (some: readonly DispatchGroup[]): string => String(sum(some, (group) => group.dispatches));

/** Mean share of multiply-adds among a step's vector instructions, weighted by multiply-adds; 0 of a step without any. */
export function meanShare({ groups, shares }: Pick<DryStep, "groups" | "shares">): number {
  return (
    sum(groups, ({ name, multiplyAdds }) => multiplyAdds * (shares[name] ?? 0)) /
    Math.max(
      1,
      sum(groups, ({ multiplyAdds }) => multiplyAdds),
    )
  );
}

/** Stock's product, which would otherwise compute most of a step. */
const STOCK_PRODUCT = "MatMulPackedProgram";

/** Modelled milliseconds of groups of dispatches on each card. */
function milliseconds(some: readonly DispatchGroup[], shares: DryStep["shares"]): string[] {
  return CARDS.map((card) =>
    (1000 * sum(some, (group) => group.dispatches * dispatchSeconds(group, shares[group.name] ?? 0, card))).toFixed(1),
  );
}

/** The dispatch with the most multiply-adds, and the longest modelled one of each card. */
function longest({ groups, shares }: DryStep): readonly string[] {
  const heaviest = groups.reduce((most, group) => (group.most > most.most ? group : most));
  const each = groups.map((group) => ({
    ...group,
    dispatches: 1,
    multiplyAdds: group.most,
    bytes: group.bytes / group.dispatches,
  }));
  const seconds = CARDS.map((card) =>
    each.reduce((most, group) => Math.max(most, dispatchSeconds(group, shares[group.name] ?? 0, card)), 0),
  );
  return [(heaviest.most / 1e9).toFixed(2), heaviest.name, ...seconds.map((some) => (1000 * some).toFixed(1))];
}

/** The report of dry steps, as Markdown. @param title of the card that compiled them */
export function stepReport(steps: readonly DryStep[], title: string): string {
  const [first] = steps as readonly [DryStep];
  const cards = CARDS.map(({ name }) => name);
  const cut = first.layers < 36 ? `, cut to ${first.layers} layers a stage` : "";
  return `# A dry step, and a model of its time

Generated by \`npm run isa -- --step\`: one step of both loops at the shapes of ${steps.map(({ model }) => model).join(" and ")}${cut}, dispatched on a
null card (${title}, ${first.adapter}) that computes nothing. Dispatches, grids and allocations are real. **The times are a model, not
measurements**: per dispatch the longest of arithmetic (multiply-adds at the card's peak times the share of
[isa.md](isa.md), in proportion with fewer than ${FULL} waves a SIMD), one pass over the bound buffers, and a launch. Stock
programs' arithmetic is not counted, so theirs is a lower bound. No call of a step was refused by WebGPU's validation: the tool
fails at the first that is.

## Models

${table(
  [
    ...["model", "pipelines", "dispatches", "G multiply-adds", "mean share", "stock's share"],
    ...["peak, GB", "forecast, GB", "waits", "read-backs"],
  ],
  steps.map(({ model, pipelines, groups, shares, peak, waits }) => [
    model,
    ...[String(pipelines), count(groups), giga(groups)],
    ...[meanShare({ groups, shares }), shares[STOCK_PRODUCT] ?? 0].map((share) => share.toFixed(2)),
    ...[gigabytes(peak.allocated), gigabytes(peak.forecast)],
    ...[String(waits.pace), String(waits.reads)],
  ]),
)}

Mean share: of [isa.md](isa.md), weighted by multiply-adds. Stock's: that of \`${STOCK_PRODUCT}\`. Waits: those of the host for the GPU between parts of a recording. Modelled milliseconds of the step:

${table(
  ["model", ...cards],
  steps.map(({ model, groups, shares }) => [model, ...milliseconds(groups, shares)]),
)}

The dispatch with the most multiply-adds (at most ${(DISPATCH_WORK / 1e9).toFixed(2)} G, as far as runs of 64 rows allow), and the modelled milliseconds of each
card's longest one:

${table(
  ["model", "G multiply-adds", "form", ...cards],
  steps.map((step) => [step.model, ...longest(step)]),
)}

## Cards

${table(
  ["card", "lanes", "SIMDs", "GHz", "GB/s", "launch, µs"],
  CARDS.map(({ name, lanes, simds, clock, bandwidth, launch }) =>
    [name, lanes, simds, clock, bandwidth, 1e6 * launch].map(String),
  ),
)}

Lanes, clocks and bandwidths: the makers' published specifications; Apple publishes no clock. Launch: an estimate.

${steps.map(modelReport).join("\n")}`;
}

/** The sections of one model. */
function modelReport({ model, groups, shares }: DryStep): string {
  const phases = grouped(groups, ({ phase }) => phase);
  const forms = grouped(groups, ({ name }) => name.replace(/-literal$/, "")).sort(
    ([, a], [, b]) =>
      sum(b, (group) => group.multiplyAdds) - sum(a, (group) => group.multiplyAdds) || b.length - a.length,
  );
  const stock = forms.filter(([name]) => isStock(name));
  const large = CARDS[2] as Card;
  const few = grouped(
    groups.filter((group) => group.multiplyAdds > 0 && group.workgroups * Math.ceil(group.threads / 32) < large.simds),
    ({ phase, name }) => `${phase} | ${name.replace(/-literal$/, "")}`,
  ).sort(([, a], [, b]) => sum(b, (group) => group.multiplyAdds) - sum(a, (group) => group.multiplyAdds));
  return `## ${model}: modelled milliseconds by phase

${table(
  ["phase", "dispatches", "G multiply-adds", ...CARDS.map(({ name }) => name)],
  [...phases, ["all", groups] as const].map(([name, some]) => [
    name,
    count(some),
    giga(some),
    ...milliseconds(some, shares),
  ]),
)}

## ${model}: dispatches by form

${table(
  ["form", "dispatches", "G multiply-adds", "share", ...CARDS.map(({ name }) => name)],
  forms
    .slice(0, 40)
    .map(([name, some]) => [
      name,
      count(some),
      giga(some),
      (shares[(some[0] as DispatchGroup).name] ?? 0).toFixed(2),
      ...milliseconds(some, shares),
    ]),
)}

## ${model}: stock programs that still run

${
  stock.length === 0
    ? "None."
    : table(
        ["program", "dispatches"],
        stock.map(([name, some]) => [name, count(some)]),
      )
}

## ${model}: products and attention under a wave per SIMD of the ${large.name}

${
  few.length === 0
    ? "None."
    : table(
        ["phase", "form", "fewest workgroups", "dispatches", "G multiply-adds"],
        few
          .slice(0, 30)
          .map(([name, some]) => [
            ...name.split(" | "),
            String(Math.min(...some.map((group) => group.workgroups))),
            count(some),
            giga(some),
          ]),
      )
}
`;
}
