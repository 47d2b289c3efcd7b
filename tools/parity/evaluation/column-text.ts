/** Column types from their text, as `list<struct<from: utf8, value: utf8>>`. */
import type { Column, ColumnType } from "../../../src/engine/data/tables/table.ts";

/** Columns of an object of names and type texts. */
export function parseColumns(columns: Readonly<Record<string, unknown>>): Column[] {
  return Object.entries(columns).map(([name, type]) => ({ name, type: parseType(String(type)), nullable: true }));
}

function parseType(text: string): ColumnType {
  const inner = /^(\w+)<(.*)>$/.exec(text);
  if (inner?.[1] === "list")
    return { kind: "list", item: { name: "item", type: parseType(inner[2] ?? ""), nullable: true }, layout: "small" };
  if (inner?.[1] === "struct") {
    const fields = parts(inner[2] ?? "").map((part): Column => {
      const [name = "", ...rest] = part.split(":");
      return { name: name.trim(), type: parseType(rest.join(":").trim()), nullable: true };
    });
    return { kind: "struct", fields };
  }
  if (text === "struct") return { kind: "struct", fields: [] };
  if (text === "utf8") return { kind: "text", layout: "small" };
  if (text === "binary") return { kind: "binary", layout: "small" };
  if (text === "null") return { kind: "null" };
  const bits = /^int(\d+)$/.exec(text)?.[1];
  return bits === undefined ? { kind: "float", bits: 64 } : { kind: "int", bits: Number(bits), signed: true };
}

/** Parts between the commas outside inner brackets. */
function parts(text: string): string[] {
  const found: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "<") depth++;
    else if (text[at] === ">") depth--;
    else if (text[at] === "," && depth === 0) {
      found.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...found, text.slice(from)];
}
