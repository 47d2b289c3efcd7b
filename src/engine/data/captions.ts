/** One turn of a conversation; roles other than the two speakers are dropped on reading. */
export interface Turn {
  readonly role: "human" | "gpt";
  readonly value: string;
}

const HUMAN = new Set(["human", "user"]);
const MODEL = new Set(["gpt", "assistant", "model", "bot"]);
const TAG = /<Prompt(\d+)>/g;
const TAG_WITH_ARTICLE = /(?:\b(?:the|an?|this|that)\s+)?<Prompt(\d+)>/gi;

/**
 * Turns of a conversation cell: a list of `{from, value}` (also `{role, content}`), or a struct of two lists.
 * Undefined when the cell is neither.
 */
export function readTurns(cell: unknown): Turn[] | undefined {
  const list = Array.isArray(cell) ? (cell as unknown[]) : structOfLists(cell);
  if (list === undefined) return undefined;
  const turns: Turn[] = [];
  for (const item of list) {
    if (typeof item !== "object" || item === null) continue;
    const { from, role, value, content } = item as Record<string, unknown>;
    const speaker = String(from ?? role ?? "").toLowerCase();
    const text = value ?? content;
    if (typeof text !== "string") continue;
    if (HUMAN.has(speaker)) turns.push({ role: "human", value: text });
    else if (MODEL.has(speaker)) turns.push({ role: "gpt", value: text });
  }
  return turns;
}

function structOfLists(cell: unknown): unknown[] | undefined {
  if (typeof cell !== "object" || cell === null) return undefined;
  const { from, value } = cell as Record<string, unknown>;
  if (!Array.isArray(from) || !Array.isArray(value)) return undefined;
  return from.map((speaker: unknown, at) => ({ from: speaker, value: (value as unknown[])[at] }));
}

/** Caption of each mask of a row; undefined where the row has none for it. */
export interface RowCaptions {
  readonly captions: readonly (string | undefined)[];
  /** A sentence when the whole row is unusable. */
  readonly fatal?: string;
  /** A sentence when masks and answers do not match in number. */
  readonly remark?: string;
}

/**
 * Which text belongs to which mask.
 *
 * Without `<PromptN>` tags mask i belongs to answer i. With tags, N is the mask an expression speaks of, and each mask
 * that is spoken of gets every answer about it, tags turned into words: the mask itself becomes "this region", the other
 * of two "the other region", one of several "region 3" (counted from 1). The row's labels are not put in their place:
 * in the relation rows seen, they stand in the order of the sentence and not of the masks. An answer without a tag
 * belongs to the masks of its question; when the question speaks of several, question and answer are kept together,
 * since the answer alone would say nothing about either.
 * @param masks number of masks of the row
 */
export function captionsOf(turns: readonly Turn[], masks: number): RowCaptions {
  const highest = Math.max(-1, ...turns.flatMap((turn) => tagsOf(turn.value)));
  if (highest >= masks) {
    return { captions: [], fatal: `the text speaks of <Prompt${highest}>, but the row has ${count(masks, "mask")}` };
  }
  const answers = turns.filter((turn) => turn.role === "gpt").map((turn) => turn.value);
  if (highest >= 0) return { captions: taggedCaptions(turns, masks) };
  const captions = Array.from({ length: masks }, (_, at) => answers[at]);
  if (masks === answers.length || masks === 1) return { captions };
  return {
    captions,
    remark: `the row has ${count(masks, "mask")} and ${count(answers.length, "answer")}; only pairs are used`,
  };
}

function taggedCaptions(turns: readonly Turn[], masks: number): (string | undefined)[] {
  const texts: string[][] = Array.from({ length: masks }, () => []);
  let question = "";
  for (const turn of turns) {
    if (turn.role === "human") {
      question = turn.value.replace("<image>", "").trim();
      continue;
    }
    const inAnswer = tagsOf(turn.value);
    const inQuestion = tagsOf(question);
    const about = new Set(inAnswer.length > 0 ? inAnswer : inQuestion);
    const keepQuestion = inAnswer.length === 0 && about.size > 1;
    const text = keepQuestion ? `${question} ${turn.value}` : turn.value;
    for (const mask of about) texts[mask]?.push(resolveTags(text, mask, masks));
  }
  return texts.map((parts) => (parts.length === 0 ? undefined : parts.join(" ")));
}

/** Text with tags turned into words, as seen from one mask. */
function resolveTags(text: string, self: number, masks: number): string {
  return text.replace(TAG_WITH_ARTICLE, (_match, digits: string, at: number) => {
    const mask = Number(digits);
    const words = mask === self ? "this region" : masks === 2 ? "the other region" : `region ${mask + 1}`;
    const before = text.slice(0, at).trimEnd();
    return before === "" || /[.!?]$/.test(before) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  });
}

function tagsOf(text: string): number[] {
  return [...text.matchAll(TAG)].map((match) => Number(match[1]));
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}
