/** Budget of a run's judge in requests and cost; exact also for concurrent requests. */
import { JudgeFailure } from "./providers/failure.ts";
import type { ChatReply, ChatRequest } from "./providers/provider.ts";

export interface BudgetLimits {
  /** Requests that may be sent, repeats included; 0 = no limit. */
  readonly calls: number;
  /** Money that may be spent, in the currency of the prices; 0 = no limit. */
  readonly cost: number;
  /** Price of a million prompt tokens and of a million completion tokens. */
  readonly promptPrice: number;
  readonly completionPrice: number;
}

/** One request's share of the budget, taken before it is sent. */
export interface Reservation {
  /** The reply came: its real price replaces the bound. @returns the price */
  settle(reply: ChatReply): number;
  /** It failed: nothing can be known of its price, the prompt is taken as paid. */
  fail(): number;
}

export interface Budget {
  /** @throws JudgeFailure("budget") when the request would go past a limit; nothing is sent then */
  reserve(request: ChatRequest): Reservation;
  readonly calls: number;
  readonly cost: number;
}

/** Characters of a token, low on purpose: a bound may not be too small. */
const CHARACTERS_PER_TOKEN = 2;

export function budget(limits: BudgetLimits): Budget {
  let calls = 0;
  let spent = 0;
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
        throw new JudgeFailure("budget", `The judge's budget of ${limits.calls} calls is used up; raise it to go on`);
      }
      const promptBound = tokensOf(request);
      const bound = price(promptBound, request.maxTokens);
      if (limits.cost > 0 && spent + reserved + bound > limits.cost) {
        throw new JudgeFailure(
          "budget",
          `The judge's budget of ${limits.cost} would be passed: ${spent.toFixed(4)} is spent and a call may cost ${bound.toFixed(4)}; raise it to go on`,
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
  return Math.ceil((characters + (schema === null ? 0 : JSON.stringify(schema).length)) / CHARACTERS_PER_TOKEN);
}
