/** Chooses between columns of one role by the values in their rows: an empty column does not win by its name. */
import { LabError } from "../../errors.ts";
import { rowParts } from "../row-parts.ts";
import { type Adapter, chooseAdapter, type Role, type WantedColumns } from "./schema.ts";
import { isBinaryCell, type Table } from "./table.ts";

/** Rows that are inspected, spread over the table. */
const INSPECTED = 8;
const ROLES = ["image", "mask", "text", "category"] as const;

/** An adapter, and a sentence for each column that gave way to another. */
interface ChosenAdapter {
  readonly adapter: Adapter | string;
  readonly notes: readonly string[];
}

/**
 * The adapter of a table. Where another column can have a role, the one that comes first by name keeps it unless it has
 * values in less than half as many of the inspected rows.
 * @param wanted columns that the user names, which are kept in any case
 * @throws LabError("storage" | "cancelled") as reading cells does
 */
export async function chooseByValues(table: Table, wanted: WantedColumns): Promise<ChosenAdapter> {
  const { columns, rows } = table;
  const counts = new Map<string, Promise<number>>();
  const count = (role: Role): Promise<number> => {
    const known = counts.get(role.name) ?? filledRows(table, role);
    counts.set(role.name, known);
    return known;
  };
  const notes: string[] = [];
  const without: string[] = [];
  let adapter = chooseAdapter(columns, wanted);
  const seen = Math.min(INSPECTED, rows);
  for (const part of ROLES) {
    // The next candidates in order of their names, the first of which is the chosen one.
    let chosen = typeof adapter === "string" ? undefined : adapter[part];
    const passed: string[] = [];
    while (typeof adapter !== "string" && chosen !== undefined && !Object.values(wanted).includes(chosen.name)) {
      passed.push(chosen.name);
      const other = chooseAdapter(columns, wanted, [...without, ...passed]);
      const next = typeof other === "string" ? undefined : other[part];
      if (typeof other === "string" || next === undefined) break;
      const [own, its] = [await count(adapter[part] as Role), await count(next)];
      if (2 * own < its) {
        notes.push(
          `the column ${adapter[part]?.name} has values in ${own} of ${seen} inspected rows, ${next.name} in ${its}, so ${next.name} is the ${part}`,
        );
        without.push(...passed);
        adapter = other;
      }
      chosen = next;
    }
  }
  return { adapter, notes };
}

/** Inspected rows in which a part has a value; an unreadable value is none. */
async function filledRows(table: Table, role: Role): Promise<number> {
  const { rows } = table;
  const inspected = Math.min(INSPECTED, rows);
  let filled = 0;
  for (let at = 0; at < inspected; at++) {
    const row = inspected === 1 ? 0 : Math.floor((at * (rows - 1)) / (inspected - 1));
    try {
      if (isFilled(await rowParts(table, row)(role))) filled++;
    } catch (thrown) {
      if (!(thrown instanceof LabError) || thrown.code === "storage" || thrown.code === "cancelled") throw thrown;
    }
  }
  return filled;
}

/** Whether there is a value: not null, blank or empty, nor a list or struct of nothing else. */
function isFilled(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object") return true;
  if (isBinaryCell(value)) return value.length > 0;
  return (Array.isArray(value) ? (value as unknown[]) : Object.values(value)).some(isFilled);
}
