/** AMD's compiler keeps the bounds of every kernel form (scripts/lib/isa/bounds.ts), on RDNA 2 and on GCN. */
import { describe, expect, it } from "vitest";
import { readLog, workOf } from "../../scripts/lib/isa/assembly.ts";
import { aimOf, BELOW_AIM, BELOW_AIM_ON_NVIDIA, BOUNDS, failuresOf } from "../../scripts/lib/isa/bounds.ts";
import { type Compilation, compileFor, type FamilyName } from "../../scripts/lib/isa/null-card.ts";
import { dispatchSeconds, meanShare } from "../../scripts/lib/isa/step-model.ts";
import { LabError } from "../../src/engine/errors.ts";

/** Undefined, with a reason, where there is no null card. */
function compiled(family: FamilyName, only = ""): Compilation | string {
  try {
    return compileFor(family, { only });
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === "unsupported") return thrown.message;
    throw thrown;
  }
}

/** Classes that need what a card lacks: subgroup matrices come with RDNA 3, products in f16 with GCN 5. */
const LACKS = { navi23: /subgroup matrices$/, polaris10: /subgroup matrices$|f16$/ } as const;

describe.each(["navi23", "polaris10"] as const)("%s", (family) => {
  it("compiles every form that fits within its bounds", ({ skip }) => {
    const found = compiled(family);
    if (typeof found === "string") return skip(found);
    expect(found.programs.length).toBeGreaterThan(150);
    expect(failuresOf(found)).toEqual([]);
    const kinds = Object.keys(BOUNDS).filter((kind) => !LACKS[family].test(kind));
    expect([...new Set(found.programs.map(({ kind }) => kind))].sort()).toEqual(kinds.sort());
  });
});

// What fills every cycle of these cards besides multiply-adds differs most from AMD's: loads and addresses count.
it.for([
  "attention-tiles-64-64-1",
  "attention-tiles-48-64",
  "attention-tiles-grad-keys-32-64-4-1",
  "-24-64-3-32",
  "nt-bounded-vectors",
  "lab-decode-packed-q4-8",
])("ga102 compiles %s within its bounds", (only, { skip }) => {
  const found = compiled("ga102", only);
  if (typeof found === "string") return skip(found);
  expect(found.programs.length).toBeGreaterThan(0);
  expect(failuresOf(found)).toEqual([]);
});

describe("failures", () => {
  const good = {
    name: "lab-product",
    kind: "packed product of middle tiles",
    threads: 256,
    source: "0",
    error: null,
    registers: 48,
    spills: 0,
    scratch: 0,
    local: 8192,
    waves: 10,
    work: { vector: 280, multiplyAdds: 256, clamps: 2, localWords: 128, globalWords: 16 },
  } as const;
  const of = (changed: object): string[] =>
    failuresOf({ family: "navi23", adapter: "", programs: [{ ...good, ...changed }] });

  it("name what a program does not keep", () => {
    expect(of({})).toEqual([]);
    expect(of({ spills: 3 })).toEqual(["navi23: lab-product spills 3 registers, 0 B"]);
    expect(of({ waves: 3 })).toEqual(["navi23: lab-product has 3 waves per SIMD, not 4"]);
    expect(of({ threads: 8 })).toEqual(["navi23: lab-product has workgroups of 8 threads"]);
    expect(of({ work: { ...good.work, vector: 512 } })).toEqual(["navi23: lab-product has a share of 0.50, not 0.89"]);
    const work = { ...good.work, vector: 352 };
    const on = (family: FamilyName, name: string): string[] =>
      failuresOf({ family, adapter: "", programs: [{ ...good, kind: "attention", name, work }] });
    expect(on("ga102", "lab-attention-tiles-64-64-16")).toEqual([
      "ga102: lab-attention-tiles-64-64-16 has a share of 0.73, not 0.75",
    ]);
    expect(on("ga102", "lab-attention-tiles-32-64-16")).toEqual([]);
    expect(on("navi23", "lab-attention-tiles-32-64-16").length).toBeGreaterThan(0);
    expect(of({ work: { ...good.work, clamps: 128 } })).toEqual([
      "navi23: lab-product clamps 0.50 indices per multiply-add",
    ]);
  });
});

it("gives a reason for every class whose bound is below its aim, and no other", () => {
  const below = (Object.keys(BOUNDS) as (keyof typeof BOUNDS)[]).filter((kind) => BOUNDS[kind].share < aimOf(kind));
  expect(Object.keys(BELOW_AIM).sort()).toEqual(below.sort());
  const onNvidia = (Object.keys(BOUNDS) as (keyof typeof BOUNDS)[]).filter(
    (kind) => (BOUNDS[kind].nvidia ?? Number.POSITIVE_INFINITY) < aimOf(kind),
  );
  expect(Object.keys(BELOW_AIM_ON_NVIDIA).sort()).toEqual(onNvidia.sort());
});

describe("the model of a step", () => {
  const card = { name: "", lanes: 1000, simds: 50, clock: 1, bandwidth: 100, launch: 1e-6 };
  const group = { phase: "loss", name: "", dispatches: 2, workgroups: 100, threads: 64, multiplyAdds: 4e9, bytes: 0 };

  it("takes the longest of arithmetic, memory and launch", () => {
    expect(dispatchSeconds(group, 0.5, card)).toBeCloseTo(4e-3, 9);
    // A quarter of the waves that keep the card busy.
    expect(dispatchSeconds({ ...group, workgroups: 12.5 }, 0.5, card)).toBeCloseTo(16e-3, 9);
    expect(dispatchSeconds({ ...group, bytes: 2e9 }, 0.5, card)).toBeCloseTo(10e-3, 9);
    expect(dispatchSeconds({ ...group, multiplyAdds: 0 }, 0, card)).toBe(1e-6);
  });

  it("weights shares by multiply-adds", () => {
    const groups = [
      { ...group, name: "large", most: 0 },
      { ...group, name: "small", multiplyAdds: 1e9, most: 0 },
      { ...group, name: "copies", multiplyAdds: 0, most: 0 },
    ];
    expect(meanShare({ groups, shares: { large: 0.9, small: 0.4, copies: 0.1 } })).toBeCloseTo(0.8, 9);
    expect(meanShare({ groups: [], shares: {} })).toBe(0);
  });
});

describe("assembly", () => {
  const [log] = readLog(`VGPRs\t24
<<
BB0:
	s_load_dword s0, s[0:1], 0x0
BB1:
	buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen
	ds_write_b128 v5, v[0:3]
	s_cbranch_scc1 BB1
BB2:
	ds_read_b128 v[8:11], v5
	v_min_u32_e32 v6, v7, v8
	v_fmac_f32_e32 v12, v8, v9
	v_pk_fma_f16 v13, v8, v9, v13
	s_cbranch_scc1 BB2
BB3:
	s_cbranch_scc0 BB0
>>
end
`);

  it("is read with its statistics", () => {
    expect(log?.statistics).toEqual({ VGPRs: 24 });
  });

  it("counts a copy that some waves jump over by their share", () => {
    const text = (log?.assembly ?? "")
      .replace("BB1:", "\ts_cbranch_execz BB2\nBB1:")
      .replace("\ts_cbranch_scc1 BB1\n", "");
    const whole = workOf(text, { load: 1, multiply: 1 })?.globalWords;
    expect([whole, workOf(text, { load: 0.5, multiply: 1 })?.globalWords]).toEqual([4, 2]);
  });

  it("leaves out what only the last round executes: a block without loads and sums that all threads jump over", () => {
    const labelled = (log?.assembly ?? "").replace(
      "BB2:",
      "\ts_cbranch_scc1 BB2\nBB9:\n\tv_cndmask_b32 v0, 0, v0\nBB2:",
    );
    const work = workOf(labelled, { load: 1, multiply: 1 });
    expect(work).toEqual(workOf(log?.assembly ?? "", { load: 1, multiply: 1 }));
    expect(workOf(labelled.replace("BB9:", "BB9:\n\tds_read_b32 v8, v5"), { load: 1, multiply: 1 })).not.toEqual(work);
  });

  it("counts one of two alternatives in a loop, the longer", () => {
    const either = (log?.assembly ?? "")
      .replace("\tv_pk_fma_f16 v13, v8, v9, v13", "")
      .replace(
        "\tv_fmac_f32_e32 v12, v8, v9",
        "\ts_cbranch_scc0 BB5\nBB4:\n\tv_fmac_f32 v12, v8, v9\n\ts_branch BB6\nBB5:\n\tv_fmac_f32 v12, v8, v9\n\tv_fmac_f32 v12, v8, v9\nBB6:",
      );
    expect(workOf(either)).toEqual({ vector: 3, multiplyAdds: 2, clamps: 1, localWords: 4, globalWords: 0 });
  });

  it("is counted by loop, and weighted by trips", () => {
    const inner = { vector: 3, multiplyAdds: 3, clamps: 1, localWords: 4, globalWords: 0 };
    expect(workOf(log?.assembly ?? "")).toEqual(inner);
    const round = { vector: 12, multiplyAdds: 12, clamps: 4, localWords: 16, globalWords: 8 };
    expect(workOf(log?.assembly ?? "", { load: 2, multiply: 4 })).toEqual(round);
    expect(workOf("BB0:\n\tv_add_f32 v0, v1, v2\n")).toBeUndefined();
  });

  it("of NVIDIA counts every instruction of the loop, wherever its last block stands", () => {
    const text = `block.u 0 L1 [] -> {
      r0      = s2r sr[0x21]                                       // delay=2
} -> [1]
block.u 1 L2 [0, 4] -> {
      r4      = ld.global.a64.constant.b32 [r0+ur2..4], p0         // delay=1
                st.shared.strong.cta.b32 [r0.x4+rZ] r4             // delay=1
@!p0            bra pT L5                                          // delay=1
} -> [2, 3]
block.u 2 L3 [1] -> {
      r8..12  = ld.shared.strong.cta.b128 [r0+rZ], pT              // delay=1
      r1      = ffma.ftz r4 r8 r1                                  // delay=1
      r2      = hfma2 r4 r9 r2                                     // delay=1
      r5      = imnmx.u32 r5 r6 pT                                 // delay=1
                bra pT L6                                          // delay=1
} -> [4]
block 3 L5 [1] -> {
      r3      = ffma.ftz r4 r4 r3                                  // delay=1
                exit                                               // delay=1
} -> []
block.u 4 L6 [2] -> {
                bra !up0 L2                                        // delay=1
} -> [1, 3]`;
    expect(workOf(text)).toEqual({ vector: 9, multiplyAdds: 3, clamps: 1, localWords: 4, globalWords: 1 });
  });
});
