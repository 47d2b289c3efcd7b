import { toLabError } from "../../src/engine/errors.ts";
import type { ParityRow } from "./row.ts";

/** Maximum differences spelled out in the note of a row. */
const NOTED = 3;

/** Collects the comparisons of one golden case into one row. Stored values that are absent are not compared. */
export class CaseCheck {
  private readonly name: string;
  private readonly tolerance: number;
  private readonly compared = new Map<string, number>();
  private readonly wrong: string[] = [];
  private maxAbs = 0;
  private maxRel = 0;

  /** @param tolerance largest absolute difference of numbers compared with `close` */
  constructor(name: string, tolerance: number) {
    this.name = name;
    this.tolerance = tolerance;
  }

  /** Runs the comparisons of the case; an error in them fails it with its sentence. */
  run(body: () => void): ParityRow {
    try {
      body();
    } catch (thrown) {
      return this.failed(toLabError(thrown).message);
    }
    // A case without any comparison would pass.
    return this.compared.size === 0 ? this.failed("the case states nothing to compare") : this.row();
  }

  /** Compares any JSON values exactly; each one that differs adds 1 to `maxAbs`. */
  equal(what: string, expected: unknown, got: unknown, place = ""): void {
    if (expected === undefined) return;
    this.count(what);
    if (JSON.stringify(expected) === JSON.stringify(got)) return;
    this.miss(what, expected, got, place);
    this.maxAbs = Math.floor(this.maxAbs) + 1;
    this.maxRel = Math.max(this.maxRel, 1);
  }

  /** Compares numbers within the tolerance. */
  close(what: string, expected: unknown, got: number | null): void {
    if (expected === undefined) return;
    this.count(what);
    if (typeof expected !== "number" || got === null) {
      if (expected === got) return;
      this.miss(what, expected, got, "");
      this.maxAbs = Infinity;
      return;
    }
    const difference = Math.abs(expected - got);
    this.maxAbs = Math.max(this.maxAbs, difference);
    this.maxRel = Math.max(this.maxRel, expected === 0 ? difference : difference / Math.abs(expected));
    // NaN differs from everything.
    if (!(difference <= this.tolerance)) this.miss(what, expected, got, "");
  }

  /** The row of a case that could not be compared. */
  failed(note: string): ParityRow {
    return { ...this.row(), maxAbs: Infinity, maxRel: Infinity, pass: false, note };
  }

  private row(): ParityRow {
    const what = [...this.compared].map(([name, times]) => (times > 1 ? `${times} ${name}` : name)).join(", ");
    const row: ParityRow = {
      case: this.name,
      what: what || "read the case",
      maxAbs: this.maxAbs,
      maxRel: this.maxRel,
      tolerance: `exact, numbers to ${this.tolerance} absolute`,
      pass: this.wrong.length === 0,
    };
    if (row.pass) return row;
    const more = this.wrong.length > NOTED ? `; and ${this.wrong.length - NOTED} more` : "";
    return { ...row, note: `${this.wrong.slice(0, NOTED).join("; ")}${more}` };
  }

  private count(what: string): void {
    this.compared.set(what, (this.compared.get(what) ?? 0) + 1);
  }

  private miss(what: string, expected: unknown, got: unknown, place: string): void {
    const clip = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 120);
    this.wrong.push(`${what}${place === "" ? "" : ` of ${place}`}: expected ${clip(expected)}, got ${clip(got)}`);
  }
}
