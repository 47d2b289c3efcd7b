/** The token, if any, with which a tokenizer starts every text. Hugging Face specifies it in three places. */
import { isRecord } from "../bytes/json.ts";
import { badInput } from "../errors.ts";
import { namedToken } from "./named-tokens.ts";

/** Classes that start texts with the bos token unless their configuration differs. */
const BEGINNING = /^(InternLM2?|Llama|CodeLlama)Tokenizer/;

/** A folder's settings for the start of texts. */
export type SequenceStart = { readonly token: string } | "nothing" | "unsaid";

/**
 * Rules in order: `add_bos_token` if present; the template of tokenizer.json's post-processor; the class.
 * @param postProcessor `post_processor` of tokenizer.json
 * @throws LabError("bad-input") when texts must start with a token that has no name
 */
export function sequenceStart(config: Readonly<Record<string, unknown>>, postProcessor: unknown): SequenceStart {
  const template = templateStart(postProcessor);
  const switched = typeof config.tokenizer_class === "string" && BEGINNING.test(config.tokenizer_class);
  // Only classes that have the switch respect it; a plain library tokenizer follows its template.
  if (config.add_bos_token === false && (switched || template === undefined)) return "nothing";
  const byClass = template === undefined && switched;
  if (config.add_bos_token !== true && !byClass) return template === undefined ? "unsaid" : { token: template };
  const bos = namedToken(config, "bos_token") ?? template;
  if (bos !== undefined) return { token: bos };
  throw badInput(
    "tokenizer_config.json asks for a bos token in front of texts but names no bos_token",
    "tokenizer_config.json",
  );
}

/** The special token that a template puts before a single text. */
function templateStart(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  if (value.type === "Sequence" && Array.isArray(value.processors)) {
    return value.processors.map(templateStart).find((token) => token !== undefined);
  }
  if (value.type !== "TemplateProcessing" || !Array.isArray(value.single)) return undefined;
  const first: unknown = value.single[0];
  const special = isRecord(first) ? first.SpecialToken : undefined;
  return isRecord(special) && typeof special.id === "string" ? special.id : undefined;
}
