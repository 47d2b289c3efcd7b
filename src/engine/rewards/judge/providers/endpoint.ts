/** Address of an OpenAI-compatible server. Keys are kept out of everything that is shown or stored. */
import { LabError } from "../../../errors.ts";

interface Endpoint {
  /** URL for chat requests. */
  readonly chatUrl: string;
  /** URL of the server's list of models. */
  readonly modelsUrl: string;
  /** Origin and path without the query, for display and storage. */
  readonly place: string;
}

/** Query parameters that hold keys. */
const SECRET = /^(?:(?:api|access|auth|subscription)[-_]?)?(?:key|token|secret|password|sig|code)$/i;

/**
 * The two addresses for what the user typed: a server ("http://localhost:11434"), its API ("…/v1") or the chat address
 * itself. A query is used in requests and never shown.
 * @throws LabError("bad-config") if it is not an http(s) address, or contains a password or key
 */
export function parseEndpoint(text: string): Endpoint {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch (cause) {
    throw refused("it is not a web address such as http://localhost:11434/v1", cause);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw refused(`it begins with ${url.protocol}`);
  if (url.username !== "" || url.password !== "") {
    throw refused("it contains a name or password; enter the key in its own field, which keeps it out of addresses");
  }
  const secret = [...url.searchParams.keys()].find((name) => SECRET.test(name));
  if (secret !== undefined) {
    throw refused(`its part "${secret}" looks like a key; enter the key in its own field, which is not stored`);
  }
  url.hash = "";
  const path = url.pathname.replace(/\/+$/, "");
  const base = path.endsWith("/chat/completions") ? path.slice(0, -"/chat/completions".length) : path || "/v1";
  const at = (end: string): string => `${url.origin}${base}${end}${url.search}`;
  return { chatUrl: at("/chat/completions"), modelsUrl: at("/models"), place: `${url.origin}${base}` };
}

function refused(cause: string, thrown?: unknown): LabError {
  return new LabError("bad-config", `The judge's address cannot be used: ${cause}; nothing was sent`, {
    subject: "judge address",
    cause: thrown,
  });
}

/** Replaces a key in text. */
const REDACTED = "[key]";

/** Maximum characters of a key in one pattern: engines refuse patterns of a few thousand. */
const LONGEST_PIECE = 500;

/** A function that removes a key from text, however JSON or a URL spells its characters. */
export function redactor(key: string): (text: string) => string {
  // The key as a header carries it.
  const sent = key.trim();
  // Shorter texts are not keys; removing them would damage ordinary words.
  if (sent.length < 4) return (text) => text;
  const size = Math.ceil(sent.length / Math.ceil(sent.length / LONGEST_PIECE));
  const pieces = sent.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  const patterns = pieces.map((piece) => new RegExp(piece.replace(/\\+|[^\\]/g, spellings), "g"));
  return (text) => patterns.reduce((rest, pattern) => rest.replace(pattern, REDACTED), text);
}

/** Pattern of a character or of a run of backslashes: as \uXXXX, as %XX, plain or escaped with backslashes. */
function spellings(part: string): string {
  const units = [...Array(part.length).keys()].map((at) => part.charCodeAt(at).toString(16).padStart(4, "0"));
  const plain = units.map((unit) => `\\u${unit}`).join("");
  const json = units.map((unit) => `\\\\{1,3}u${anyCase(unit)}`).join("");
  const bytes = [...new TextEncoder().encode(part)];
  const url = bytes.map((byte) => `%${anyCase(byte.toString(16).padStart(2, "0"))}`).join("");
  // Up to three backslashes, for JSON inside JSON. After one backslash, a letter would be another character.
  const behind = /[A-Za-z0-9]/.test(part) ? "" : `\\\\{0,${3 * part.length}}`;
  return `(?:${json}|${url}|${behind}${plain})`;
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
