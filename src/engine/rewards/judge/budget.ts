/** Budget of a run's judge in requests and cost. It is exact for concurrent requests too. */

import type { ChatReply, ChatRequest } from "./providers/provider.ts";
import { JudgeFailure } from "./providers/provider.ts";

/** Requests and their cost. */
export interface Spending {
  readonly calls: number;
  readonly cost: number;
}

/** Adds up spending. */
export function totalSpending(parts: readonly Spending[]): Spending {
  const sum = (name: keyof Spending): number => parts.reduce((total, part) => total + part[name], 0);
  return { calls: sum("calls"), cost: sum("cost") };
}

export interface BudgetLimits {
  /** Maximum requests, including repeats; 0 = no limit. */
  readonly calls: number;
  /** Maximum cost, in the currency of the prices; 0 = no limit. */
  readonly cost: number;
  /** Price of a million prompt tokens and of a million completion tokens. */
  readonly promptPrice: number;
  readonly completionPrice: number;
  /** Spending so far; nothing if absent. */
  readonly before?: Spending | undefined;
}

/** One request's share of the budget, reserved before it is sent. */
interface Reservation {
  /**
   * After a reply: its real price replaces the bound.
   * @returns the price
   */
  settle(reply: ChatReply): number;
  /** After a failure: its price is unknown, so the prompt counts as paid. */
  fail(): number;
}

export interface Budget extends Spending {
  /** @throws JudgeFailure("budget") if the request would exceed a limit; the caller must not send it */
  reserve(request: ChatRequest): Reservation;
}

/** Characters per token; a low estimate, so that the bound is never too small. */
const CHARACTERS_PER_TOKEN = 2;
/** Tokens of a picture; a high estimate. */
const PICTURE_TOKENS = 1500;

export function budget(limits: BudgetLimits): Budget {
  let { calls, cost: spent } = limits.before ?? { calls: 0, cost: 0 };
  let reserved = 0;
  const price = (prompt: number, completion: number): number =>
    (prompt * limits.promptPrice + completion * limits.completionPrice) / 1e6;
  return {
    get calls() {
      return calls;
    },
    get cost() {
      return spent;
    },
    reserve(request) {
      if (limits.calls > 0 && calls >= limits.calls) {
        throw new JudgeFailure(
          "budget",
          `The judge's budget of ${limits.calls} calls is used up; raise it to continue`,
        );
      }
      const promptBound = tokensOf(request);
      const bound = price(promptBound, request.maxTokens);
      if (limits.cost > 0 && spent + reserved + bound > limits.cost) {
        throw new JudgeFailure(
          "budget",
          `The judge's budget of ${limits.cost} would be exceeded: ${spent.toFixed(4)} is spent and a call may cost ${bound.toFixed(4)}; raise it to continue`,
        );
      }
      calls++;
      reserved += bound;
      let open = true;
      const close = (cost: number): number => {
        if (!open) return 0;
        open = false;
        reserved -= bound;
        spent += cost;
        return cost;
      };
      return {
        settle: ({ promptTokens, completionTokens, text }) =>
          close(price(promptTokens ?? promptBound, completionTokens ?? Math.ceil(text.length / CHARACTERS_PER_TOKEN))),
        fail: () => close(price(promptBound, 0)),
      };
    },
  };
}

function tokensOf({ messages, schema }: ChatRequest): number {
  const characters = messages.reduce((sum, message) => sum + message.content.length + 16, 0);
  const pictures = messages.reduce((sum, message) => sum + (message.pictures?.length ?? 0), 0);
  const text = Math.ceil((characters + (schema === null ? 0 : JSON.stringify(schema).length)) / CHARACTERS_PER_TOKEN);
  return text + PICTURE_TOKENS * pictures;
}
