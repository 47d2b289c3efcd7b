/** Replies of a judge's server: a verdict within its range, or none and a sentence. */

import fc from "fast-check";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { memoryCache } from "../../../src/engine/rewards/judge/cache.ts";
import { LETTERS } from "../../../src/engine/rewards/judge/questions/question-set.ts";
import { openJudge } from "../../../src/engine/rewards/judge/setup.ts";
import { WRITTEN } from "../../support/judge.ts";
import type { Bytes } from "../bytes.ts";
import { casesOf } from "../cases.ts";
import { type JsonPlace, jsonDamage } from "../json.ts";
import { check, checkSentence, type Target } from "../target.ts";

const [FIRST, SECOND] = ["first.json", "second.json"];
const encode = (text: string): Bytes => new TextEncoder().encode(text);
const answer = (content: string): Bytes =>
  encode(
    JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: { prompt_tokens: 100, completion_tokens: 20 },
    }),
  );

const questions = {
  subject: "car",
  attributes: [{ part: "body", attribute: "colour", value: "red" }],
  absent: ["wings"],
};
const letters = { q1: "A", q2: "B", q3: LETTERS[0] };

/** The model's own text, inside the server's JSON. */
const CONTENT: JsonPlace = {
  what: "reply ",
  read: (bytes) => content(bytes),
  write: (bytes, text) => (content(bytes) === undefined ? bytes : answer(text)),
};

function content(bytes: Bytes): string | undefined {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as { choices: { message: { content: string } }[] };
    const found: unknown = value.choices[0]?.message.content;
    return typeof found === "string" ? found : undefined;
  } catch {
    // An earlier damage left no reply.
    return undefined;
  }
}

const around = fc
  .constantFrom(
    ...["```\n@\n```", "```json\n@", "<think>@</think>@", "</think>".repeat(3000), `\`\`\`${"\n".repeat(4000)}@`],
    ...[
      "A. @",
      "a\n",
      `${"`".repeat(9000)}@`,
      " ".repeat(60_000),
      `<think>${"<think>".repeat(9000)}@`,
      "A".repeat(9000),
    ],
  )
  .map((form) => ({
    what: `reply as ${JSON.stringify(form.slice(0, 20))} (${form.length})`,
    apply: (bytes: Bytes) => answer(form.replaceAll("@", content(bytes) ?? "")),
  }));

const STATUS = { ok: 200, "bad request": 400, "server error": 500, "not found": 404 } as const;
const inputs = Object.fromEntries(
  Object.keys(STATUS).map((name) => [
    name,
    { [FIRST]: answer(JSON.stringify(questions)), [SECOND]: answer(JSON.stringify(letters)), status: encode(name) },
  ]),
);

async function judged(files: Readonly<Record<string, Uint8Array>>, kind: "questions" | "dlc"): Promise<void> {
  const status = STATUS[new TextDecoder().decode(files.status) as keyof typeof STATUS] ?? 200;
  let calls = 0;
  const host = {
    key: () => "",
    allows: () => true,
    fetch: async () => new Response(new Uint8Array(files[calls++ % 2 === 0 ? FIRST : SECOND] ?? []), { status }),
    clock: { now: () => 0, sleep: async () => undefined },
    jitter: () => 0.5,
    cache: async () => memoryCache(),
  };
  const changes = { judge: kind, judgeUrl: "http://localhost:9/v1", judgeModel: "m", judgeWritten: WRITTEN } as const;
  const opened = await openJudge({ ...defaultConfig(), ...changes, judgeRetries: 1, judgeMaxCalls: 12 }, host);
  const terms = (await opened?.judge.terms([{ reference: "a red car", hypothesis: "a car that is red" }])) ?? [];
  check(terms.length === 1, `${terms.length} verdicts`);
  for (const { value, note, judge: detail } of terms) {
    check(value === null || (value >= -1 && value <= 1), `a verdict of ${value}`);
    if (value === null) checkSentence(note ?? "");
    check(detail !== undefined && Number.isFinite(detail.cost) && detail.cost >= 0, "a verdict without its cost");
    check(
      detail.answers.every(({ points }) => points === null || Math.abs(points) <= 1),
      "points beyond 1",
    );
  }
}

export const judge: Target = {
  ...casesOf(inputs, (path) => (path === "status" ? undefined : fc.oneof(jsonDamage(CONTENT), jsonDamage(), around))),
  async read(files) {
    await judged(files, "questions");
    await judged(files, "dlc");
  },
};
