/** Turns of a conversation in a raw record. */
export interface Turn {
  readonly speaker: string;
  readonly text: string;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Turns found in a record's JSON text under any of the usual names; none when it holds no conversation. */
export function turnsOf(raw: string | null): readonly Turn[] {
  if (raw === null) return [];
  let record: unknown;
  try {
    record = JSON.parse(raw);
  } catch {
    // A record that is not JSON is shown as text in its own tab.
    return [];
  }
  if (!isRecord(record)) return [];
  const found = record.conversations ?? record.conversation ?? record.messages;
  if (!Array.isArray(found)) return [];
  return found.filter(isRecord).map((turn) => ({
    speaker: String(turn.from ?? turn.role ?? ""),
    text: String(turn.value ?? turn.content ?? ""),
  }));
}
