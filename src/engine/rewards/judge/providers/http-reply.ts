/** Reads an HTTP response with a size limit, and explains its status. */
import { shortened } from "../../../errors.ts";
import { refusesValue } from "./dialect.ts";
import { JudgeFailure } from "./failure.ts";
import { type ServerError, serverError } from "./server-error.ts";

/** Maximum bytes; a judge's response has a few kilobytes. */
const MAX_BYTES = 2 ** 22;

/** A response; its text contains no key. */
export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: number | null;
}

/** The body as text. @throws JudgeFailure("too-long" | "unreachable") when it is too long or incomplete */
export async function readBody(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MAX_BYTES) {
      await reader.cancel();
      throw new JudgeFailure("too-long", `The judge's answer has more than ${MAX_BYTES} bytes and was not read`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * The failure for a status other than 2xx.
 * @param redact removes the key, which JSON may encode in another form
 * @param error the decoded text
 */
export function statusFailure(
  { status, text: body, retryAfter }: HttpAnswer,
  redact: (text: string) => string,
  error: ServerError = serverError(body),
): JudgeFailure {
  const said = shortened(redact(error.said) || body, 200);
  const quote = said === "" ? "" : `: ${said}`;
  const more = { raw: body, ...(retryAfter === null ? {} : { retryAfter }) };
  if (status === 401 || status === 403) {
    return new JudgeFailure("bad-key", `The judge refused the key (status ${status})${quote}`, more);
  }
  if (status === 429)
    return new JudgeFailure("rate-limited", `The judge asks for fewer calls (status 429)${quote}`, more);
  if (status === 408) return new JudgeFailure("timeout", `The judge gave up waiting (status 408)${quote}`, more);
  if (refusesValue(error.said)) {
    const advice = "change judgeMaxTokens, or choose a judgeModel with a longer context";
    return new JudgeFailure("bad-request", `The judge refused the request (status ${status})${quote}; ${advice}`, more);
  }
  if (status >= 500) return new JudgeFailure("server", `The judge failed (status ${status})${quote}`, more);
  if (status === 404 || /model.{0,80}(not found|does not exist|unknown)|unknown model/is.test(said)) {
    return new JudgeFailure("no-model", `The judge has no such model or address (status ${status})${quote}`, more);
  }
  return new JudgeFailure("bad-request", `The judge refused the request (status ${status})${quote}`, more);
}

/** Milliseconds of a Retry-After header: seconds, or a date. Null when absent or neither. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
