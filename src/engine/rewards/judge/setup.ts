/** From a configuration to a judge that can be asked, wherever it runs. */
import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";
import type { ReplyCache } from "./cache.ts";
import type { Clock } from "./clock.ts";
import { dlcJudge } from "./dlc-judge.ts";
import { redactor } from "./endpoint.ts";
import { JudgeFailure } from "./failure.ts";
import type { Instrument, InstrumentName } from "./instrument.ts";
import { type CaptionJudge, captionJudge } from "./judge.ts";
import { listModels, serverProvider } from "./openai.ts";
import { checkPrompts, type JudgePrompts, promptVersion } from "./prompts.ts";
import type { JudgeProvider, ProviderKind } from "./provider.ts";
import { parseQuestionFile, type WrittenQuestions } from "./question-file.ts";
import { questionJudge } from "./question-judge.ts";

/** What a judge needs of the place it runs in. */
export interface JudgeHost {
  /** "" without one. Asked for at every call, kept nowhere else. */
  readonly key: () => string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** Uniform in (0, 1) for a call and its repeat. */
  readonly jitter: (call: number, repeat: number) => number;
  readonly cache: () => Promise<ReplyCache>;
  /** A model inside the browser; absent where there is none. @throws JudgeFailure, LabError */
  readonly inPage?: (kind: "webllm" | "chrome", model: string) => Promise<JudgeProvider>;
}

/** What a run folder says about its judge; no key, no query. */
export interface JudgeDescription {
  readonly instrument: InstrumentName;
  readonly provider: ProviderKind;
  readonly place: string;
  readonly model: string;
  readonly temperature: 0;
  readonly range: LabConfig["judgeRange"];
  readonly version: string;
  readonly prompts: JudgePrompts;
}

export interface OpenJudge {
  readonly judge: CaptionJudge;
  readonly description: JudgeDescription;
}

/** Waiting for a list of models is not worth longer, in milliseconds. */
const MODELS_TIMEOUT = 10_000;
/** Name that servers with one model take for it. */
const ANY_MODEL = "default";

/**
 * Opens the judge of a configuration; each has its own budget.
 * @returns null when the judge is off
 * @throws LabError("bad-config") naming what is missing or wrong
 */
export async function openJudge(config: LabConfig, host: JudgeHost): Promise<OpenJudge | null> {
  if (config.judge === "off") return null;
  const prompts = configPrompts(config);
  const instrument = instrumentOf(config, prompts);
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
      },
    },
    { provider, instrument, cache: await host.cache(), clock: host.clock, jitter: host.jitter },
  );
  const { kind, place, model } = provider;
  return {
    judge,
    description: {
      instrument: instrument.name,
      provider: kind,
      place,
      model,
      temperature: 0,
      range: config.judgeRange,
      version,
      prompts,
    },
  };
}

/** The prompts of a configuration, the lab's own where it has none. @throws LabError("bad-config") */
export function configPrompts(config: LabConfig): JudgePrompts {
  const { judgeQuestionsPrompt: questions, judgeAnswersPrompt: answers, judgeDlcPrompt: dlc } = config;
  return checkPrompts({
    ...(questions === "" ? {} : { questions }),
    ...(answers === "" ? {} : { answers }),
    ...(dlc === "" ? {} : { dlc }),
  });
}

function instrumentOf(config: LabConfig, prompts: JudgePrompts): Instrument {
  if (config.judge === "dlc") return dlcJudge({ prompts, written: writtenQuestions(config) });
  const { judgePositives: positives, judgeNegatives: negatives, judgeMaxTokens: maxTokens } = config;
  return questionJudge({ prompts, positives, negatives, maxTokens });
}

function writtenQuestions(config: LabConfig): WrittenQuestions {
  if (config.judgeWritten !== "") return parseQuestionFile("The written questions", config.judgeWritten);
  throw new LabError(
    "bad-config",
    "The DLC-style judge needs questions written beforehand; give them or take another",
    {
      subject: "judgeWritten",
    },
  );
}

async function providerOf(config: LabConfig, host: JudgeHost): Promise<JudgeProvider> {
  const { judgeProvider: kind, judgeUrl: url } = config;
  if (kind !== "server") {
    if (host.inPage !== undefined) return inPage(host.inPage, kind, config.judgeModel.trim());
    throw new LabError("bad-config", "A judge inside the browser cannot be used here; give the address of a server", {
      subject: "judgeProvider",
    });
  }
  if (url.trim() === "") {
    throw new LabError("bad-config", "The judge is on but has no address; give one or switch it off", {
      subject: "judgeUrl",
    });
  }
  const { key } = host;
  if (redactor(key())(url) !== url) {
    throw new LabError("bad-config", "The judge's address holds its key; take it out there, nothing was sent", {
      subject: "judgeUrl",
    });
  }
  const deps = { fetch: host.fetch, now: host.clock.now };
  const model = config.judgeModel.trim() || (await firstModel(url, key, deps, host.clock));
  return serverProvider({ url, model, key }, deps);
}

async function inPage(
  open: NonNullable<JudgeHost["inPage"]>,
  kind: "webllm" | "chrome",
  model: string,
): Promise<JudgeProvider> {
  try {
    return await open(kind, model);
  } catch (thrown) {
    if (!(thrown instanceof JudgeFailure)) throw thrown;
    throw new LabError("unsupported", thrown.message, { subject: "judgeProvider", cause: thrown });
  }
}

/** The first model a server lists; servers that list none take any name. */
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
    // Whatever is wrong with the server, the first call says it better.
    if (thrown instanceof JudgeFailure || limit.signal.aborted) return ANY_MODEL;
    throw thrown;
  } finally {
    done.abort();
    await timer;
  }
}
