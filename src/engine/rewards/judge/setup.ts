/** Opens the judge of a configuration. */
import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";
import type { Spending } from "./budget.ts";
import type { ReplyCache } from "./cache.ts";
import type { JudgeDescription } from "./description.ts";
import { type CaptionJudge, captionJudge } from "./judge.ts";
import type { JudgeKind } from "./judge-kind.ts";
import type { Clock } from "./providers/caller.ts";
import { parseEndpoint, redactor } from "./providers/endpoint.ts";
import { listModels, type ServerDeps, serverProvider } from "./providers/openai.ts";
import { ANY_MODEL, JudgeFailure, type JudgeProvider } from "./providers/provider.ts";
import { dlcJudge, questionJudge } from "./questions/judges.ts";
import { checkPrompts, type JudgePrompts, promptVersion } from "./questions/prompts.ts";
import { parseQuestionFile, type WrittenQuestions } from "./questions/question-set.ts";

/** Services that a judge needs from its environment. */
export interface JudgeHost {
  /** The key for an origin, "" without one. Read at every call and not stored. */
  readonly key: (origin: string) => string;
  /** Whether the user named or agreed to the judge at a place: the origin of a server. */
  readonly allows: (place: string) => boolean;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** Uniform in (0, 1) for a call and its repeat. */
  readonly jitter: (call: number, repeat: number) => number;
  readonly cache: () => Promise<ReplyCache>;
}

export interface OpenJudge {
  readonly judge: CaptionJudge;
  readonly description: JudgeDescription;
}

/** Maximum milliseconds to wait for a list of models. */
const MODELS_TIMEOUT = 10_000;

/**
 * Opens the judge of a configuration; each has its own budget.
 * @param before spending already charged to that budget
 * @returns null when the judge is off
 * @throws LabError("bad-config") naming what is missing or wrong
 */
export async function openJudge(
  config: LabConfig,
  host: JudgeHost,
  before?: Spending | undefined,
): Promise<OpenJudge | null> {
  if (config.judge === "off") return null;
  const prompts = configPrompts(config);
  const judgeKind = kindOf(config, prompts);
  const provider = await providerOf(config, host);
  const version = await promptVersion(prompts);
  const judge = captionJudge(
    {
      timeout: config.judgeTimeout * 1000,
      retries: config.judgeRetries,
      parallel: config.judgeParallel,
      range: config.judgeRange,
      version,
      budget: {
        calls: config.judgeMaxCalls,
        cost: config.judgeMaxCost,
        promptPrice: config.judgePromptPrice,
        completionPrice: config.judgeReplyPrice,
        before,
      },
    },
    { provider, kind: judgeKind, cache: await host.cache(), clock: host.clock, jitter: host.jitter },
  );
  const { place, model } = provider;
  return {
    judge,
    description: {
      instrument: judgeKind.name,
      place,
      model,
      temperature: 0,
      range: config.judgeRange,
      version,
      prompts,
    },
  };
}

/** The prompts of a configuration, or the built-in ones. @throws LabError("bad-config") */
function configPrompts(config: LabConfig): JudgePrompts {
  const { judgeQuestionsPrompt: questions, judgeAnswersPrompt: answers, judgeDlcPrompt: dlc } = config;
  return checkPrompts({
    ...(questions === "" ? {} : { questions }),
    ...(answers === "" ? {} : { answers }),
    ...(dlc === "" ? {} : { dlc }),
  });
}

function kindOf(config: LabConfig, prompts: JudgePrompts): JudgeKind {
  if (config.judge === "dlc") return dlcJudge({ prompts, written: writtenQuestions(config) });
  const { judgePositives: positives, judgeNegatives: negatives, judgeMaxTokens: maxTokens } = config;
  return questionJudge({ prompts, positives, negatives, maxTokens });
}

function writtenQuestions(config: LabConfig): WrittenQuestions {
  if (config.judgeWritten !== "") return parseQuestionFile("The prepared questions", config.judgeWritten);
  throw new LabError(
    "bad-config",
    "The DLC-style judge needs prepared questions; add them or choose the question judge",
    {
      subject: "judgeWritten",
    },
  );
}

async function providerOf(config: LabConfig, host: JudgeHost): Promise<JudgeProvider> {
  const { url, key, deps } = serverAccess(config, host);
  const model = config.judgeModel.trim() || (await firstModel(url, key, deps, host.clock));
  return serverProvider({ url, model, key }, deps);
}

interface ServerAccess {
  readonly url: string;
  /** The key of this server's origin. */
  readonly key: () => string;
  readonly deps: ServerDeps;
}

/**
 * Access to the server of a configuration.
 * @throws LabError("bad-config") without an address or consent, and for an address that holds its key
 */
export function serverAccess(config: LabConfig, host: Omit<JudgeHost, "cache">): ServerAccess {
  const { judgeUrl: url } = config;
  if (url.trim() === "") {
    throw new LabError("bad-config", "The judge is on but has no address. Set one or turn the judge off", {
      subject: "judgeUrl",
    });
  }
  const { origin } = new URL(parseEndpoint(url).place);
  if (!host.allows(origin)) {
    const message = `The settings name a judge at ${origin}, which is not confirmed yet; nothing was sent`;
    throw new LabError("bad-config", message, { subject: "judgeUrl" });
  }
  const key = (): string => host.key(origin);
  if (redactor(key())(url) !== url) {
    throw new LabError("bad-config", "The judge's address contains its key. Remove the key; nothing was sent", {
      subject: "judgeUrl",
    });
  }
  return { url, key, deps: { fetch: host.fetch, now: host.clock.now } };
}

/** The first model that a server lists; servers without a list accept any name. */
async function firstModel(
  url: string,
  key: () => string,
  deps: { readonly fetch: typeof fetch; readonly now: () => number },
  clock: Clock,
): Promise<string> {
  const [limit, done] = [new AbortController(), new AbortController()];
  const timer = clock.sleep(MODELS_TIMEOUT, done.signal).then(() => limit.abort());
  try {
    return (await listModels({ url, key }, deps, limit.signal))[0] ?? ANY_MODEL;
  } catch (thrown) {
    // The first call gives a better report of a server problem.
    if (thrown instanceof JudgeFailure || limit.signal.aborted) return ANY_MODEL;
    throw thrown;
  } finally {
    done.abort();
    await timer;
  }
}
