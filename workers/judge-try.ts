/** Asking a judge on behalf of the Judge screen: a try-out never touches the judge and the budget of a run. */
import { LabError } from "../src/engine/errors.ts";
import { parseEndpoint } from "../src/engine/rewards/judge/endpoint.ts";
import { listModels } from "../src/engine/rewards/judge/openai.ts";
import { type JudgeHost, openJudge } from "../src/engine/rewards/judge/setup.ts";
import type { RewardTerm } from "../src/engine/rewards/term.ts";
import type { FromReward, JudgeTry, ReachReport } from "../src/protocol/reward.ts";

type Judged = Extract<FromReward, { readonly type: "judged" }>;

export async function tryJudge(message: JudgeTry, host: JudgeHost, signal: AbortSignal): Promise<Judged> {
  const { request, config, pairs, rounds } = message;
  const opened = await openJudge(config, host);
  if (opened === null) throw new LabError("bad-config", "The judge is off; choose an instrument first");
  const fresh = message.fresh || rounds > 1;
  const scored: (readonly RewardTerm[])[] = [];
  for (let round = 0; round < rounds; round++) scored.push(await opened.judge.terms(pairs, { signal, fresh }));
  const silent = scored.flat().some((term) => term.judge?.failure === "unreachable");
  const reach = silent && config.judgeProvider === "server" ? await reachOf(config.judgeUrl) : null;
  return { type: "judged", request, judge: opened.description, rounds: scored, reach };
}

export async function modelsOf(config: JudgeTry["config"], host: JudgeHost, signal: AbortSignal) {
  return listModels(
    { url: config.judgeUrl, key: host.key },
    { fetch: host.fetch, now: host.clock.now },
    AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
  );
}

/** Tells a server that is not there from one that is there but does not let the page read its answers. */
async function reachOf(url: string): Promise<ReachReport> {
  const { modelsUrl } = parseEndpoint(url);
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
