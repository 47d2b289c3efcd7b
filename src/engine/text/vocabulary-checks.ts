/** Checks the vocabulary of a tokenizer.json before texts are encoded. */
import { isRecord } from "../bytes/json.ts";
import { badInput, type LabError, quote } from "../errors.ts";

/**
 * @param model `model` of tokenizer.json; a vocabulary that is a list of scored pieces needs no check
 * @throws LabError("bad-input") when two tokens share an id, or when a merge uses or makes a token that the vocabulary
 * lacks, because decoded texts would have wrong or missing letters
 */
export function checkVocabulary(model: Readonly<Record<string, unknown>>): void {
  const { vocab, merges } = model;
  if (!isRecord(vocab)) return;
  const names = new Map<unknown, string>();
  for (const [token, id] of Object.entries(vocab)) {
    const other = names.get(id);
    if (other !== undefined) throw damaged(`${quote(other)} and ${quote(token)} the same id ${id}`, token);
    names.set(id, token);
  }
  const prefix = typeof model.continuing_subword_prefix === "string" ? model.continuing_subword_prefix.length : 0;
  for (const merge of Array.isArray(merges) ? (merges as readonly (string | readonly string[])[]) : []) {
    const [left = "", right = ""] = typeof merge === "string" ? merge.split(" ") : merge;
    for (const token of [left, right, left + right.slice(prefix)]) {
      if (!Object.hasOwn(vocab, token)) throw damaged(`${quote(token)} no id, which its merges need`, token);
    }
  }
}

function damaged(what: string, token: string): LabError {
  return badInput(`tokenizer.json gives ${what}`, token);
}
