/** Asking a judge on behalf of the Judge screen: a try-out never touches the judge and the budget of a run. */
import { LabError } from "../src/engine/errors.ts";
import type { ReachReport } from "../src/engine/rewards/judge/providers/diagnosis.ts";
import { parseEndpoint } from "../src/engine/rewards/judge/providers/endpoint.ts";
import { listModels } from "../src/engine/rewards/judge/providers/openai.ts";
import { type JudgeHost, openJudge, serverAccess } from "../src/engine/rewards/judge/setup.ts";
import type { RewardTerm } from "../src/engine/rewards/term.ts";
import type { RequestId } from "../src/protocol/common.ts";
import type { FromJudge, JudgeTry, ToJudge } from "../src/protocol/judge.ts";
import type { WorkerJudgeHost } from "./judge-host.ts";
import { wireError } from "./wire.ts";

/** Lays the page's line to the judge. */
export function listenToPage(port: MessagePort, host: WorkerJudgeHost): void {
  const send = (message: FromJudge): void => port.postMessage(message);
  const stops = new Map<RequestId, AbortController>();
  host.connectPage(send);
  port.onmessage = ({ data }: MessageEvent<ToJudge>) => {
    if (data.type === "judge-key") return host.setKey(data.key, data.origin);
    if (data.type === "page-reply") return host.pageReply(data.id, data.text, data.problem);
    const { request } = data;
    if (data.type === "cancel") return stops.get(request)?.abort();
    const stop = new AbortController();
    stops.set(request, stop);
    answer(data, host, stop.signal)
      .then(send, (thrown: unknown) => send({ type: "failed", request, error: wireError(thrown) }))
      .finally(() => stops.delete(request));
  };
}

type Question = Exclude<Extract<ToJudge, { readonly request: RequestId }>, { readonly type: "cancel" }>;

async function answer(message: Question, host: WorkerJudgeHost, signal: AbortSignal): Promise<FromJudge> {
  const { request } = message;
  if (message.type === "judge-try") return tryJudge(message, host, signal);
  if (message.type === "judge-models") {
    return { type: "models", request, models: await modelsOf(message.config, host, signal) };
  }
  await host.forget();
  return { type: "done", request };
}

type Judged = Extract<FromJudge, { readonly type: "judged" }>;

async function tryJudge(message: JudgeTry, host: JudgeHost, signal: AbortSignal): Promise<Judged> {
  const { request, config, pairs, rounds } = message;
  const opened = await openJudge(config, host);
  if (opened === null) throw new LabError("bad-config", "The judge is off; choose a judge kind first");
  const fresh = message.fresh || rounds > 1;
  const scored: (readonly RewardTerm[])[] = [];
  for (let round = 0; round < rounds; round++) scored.push(await opened.judge.terms(pairs, { signal, fresh }));
  const silent = scored.flat().some((term) => term.judge?.failure === "unreachable");
  const reach = silent && config.judgeProvider === "server" ? await reachOf(config, host) : null;
  return { type: "judged", request, judge: opened.description, rounds: scored, reach };
}

async function modelsOf(config: JudgeTry["config"], host: JudgeHost, signal: AbortSignal) {
  const { url, key, deps } = serverAccess(config, host);
  return listModels({ url, key }, deps, AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
}

/** Tells a server that is not there from one that is there but does not let the page read its answers. */
async function reachOf(config: JudgeTry["config"], host: JudgeHost): Promise<ReachReport> {
  const { modelsUrl } = parseEndpoint(serverAccess(config, host).url);
  // Without CORS and without a key: the answer cannot be read, but that there is one can be told.
  const answers = await fetch(modelsUrl, {
    mode: "no-cors",
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.timeout(5000),
  }).then(
    () => true,
    () => false,
  );
  return { answers, localPermission: await localPermission() };
}

/** Chrome asks before a public page may reach a server in the local network. */
async function localPermission(): Promise<ReachReport["localPermission"]> {
  try {
    // Newer than the type library.
    const name = "local-network-access" as PermissionName;
    return (await navigator.permissions.query({ name })).state;
  } catch {
    // Browsers without that permission refuse its name.
    return null;
  }
}
