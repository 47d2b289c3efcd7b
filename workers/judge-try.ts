/** Calls a judge for the Judge screen; a try-out never affects the judge and budget of a run. */
import type { LabConfig } from "../src/engine/config/table.ts";
import { LabError } from "../src/engine/errors.ts";
import { parseEndpoint } from "../src/engine/rewards/judge/providers/endpoint.ts";
import { listModels } from "../src/engine/rewards/judge/providers/openai.ts";
import { type JudgeHost, openJudge, serverAccess } from "../src/engine/rewards/judge/setup.ts";
import type { RewardTerm } from "../src/engine/rewards/term.ts";
import type { CaptionPair } from "../src/engine/rewards/types.ts";
import type { Judged, JudgeTry, ReachReport } from "../src/protocol/reward.ts";

/** @throws LabError("bad-config") when the configuration has no judge */
export async function tryJudge(
  config: LabConfig,
  pairs: readonly CaptionPair[],
  { rounds, fresh }: JudgeTry,
  host: JudgeHost,
  signal: AbortSignal,
): Promise<Judged> {
  const opened = await openJudge(config, host);
  if (opened === null) throw new LabError("bad-config", "The judge is off; choose a judge kind first");
  const scored: (readonly RewardTerm[])[] = [];
  for (let round = 0; round < rounds; round++)
    scored.push(await opened.judge.terms(pairs, { signal, fresh: fresh || rounds > 1 }));
  const silent = scored.flat().some((term) => term.judge?.failure === "unreachable");
  const reach = silent ? await reachOf(config, host) : null;
  return { judge: opened.description, rounds: scored, reach };
}

/** Names of the models that the judge's server offers. */
export async function judgeModels(config: LabConfig, host: JudgeHost, signal: AbortSignal): Promise<readonly string[]> {
  const { url, key, deps } = serverAccess(config, host);
  return listModels({ url, key }, deps, AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
}

/** Distinguishes a missing server from one that does not let the page read its answers. */
async function reachOf(config: LabConfig, host: JudgeHost): Promise<ReachReport> {
  const { modelsUrl } = parseEndpoint(serverAccess(config, host).url);
  // Without CORS and key, the answer cannot be read, but its arrival shows that the server exists.
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
    // Browsers without this permission reject its name.
    return null;
  }
}
