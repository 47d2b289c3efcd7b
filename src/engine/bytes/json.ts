import { LabError } from "../errors.ts";
import type { ByteSource } from "./source.ts";

/** Largest JSON text that is read whole: side files are small, anything beyond is not one. */
const MAX_JSON = 2 ** 29;

/** The whole of a source as UTF-8 text. @throws LabError("bad-input") when it is larger than 512 MiB */
export async function readText(source: ByteSource): Promise<string> {
  if (source.size > MAX_JSON) {
    throw new LabError("bad-input", `${source.name} has ${source.size} bytes, too many for a text file`, {
      subject: source.name,
    });
  }
  return new TextDecoder().decode(await source.read(0, source.size));
}

/** The JSON value of a source. @throws LabError("bad-input") naming the file when it is no JSON */
export async function readJson(source: ByteSource): Promise<unknown> {
  const text = await readText(source);
  try {
    return JSON.parse(text) as unknown;
  } catch (thrown) {
    throw new LabError("bad-input", `${source.name} is not valid JSON: ${(thrown as Error).message}`, {
      subject: source.name,
      cause: thrown,
    });
  }
}

/** Whether a JSON value is an object with string keys (not null, not a list). */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
