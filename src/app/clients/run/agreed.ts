/**
 * Consent to the judge and custom reward of settings: asks the user and passes the answer to the worker that would use
 * them.
 */
import type { LabConfig } from "../../../engine/config/table.ts";
import { LabError } from "../../../engine/errors.ts";
import { askConsent, useConsent } from "../../stores/consent.ts";

type Tell = (judges: readonly string[], rewards: readonly string[]) => Promise<void>;

/**
 * Asks for missing consent and reports it to the worker.
 * @param source source of the settings, shown in the question
 * @param pictures whether the judge would be sent pictures too
 * @throws LabError("cancelled") when the user does not agree
 */
export async function requireAgreed(config: LabConfig, source: string, tell: Tell, pictures = false): Promise<void> {
  if ((await askConsent(config, source, false, pictures)) !== "allow") {
    throw new LabError("cancelled", `${source} was not used: nothing was sent and nothing was run`);
  }
  await tellAgreed(tell);
}

/** Passes all consents so far to the worker. */
export async function tellAgreed(tell: Tell): Promise<void> {
  const { judges, rewards } = useConsent.getState();
  await tell(judges, rewards);
}
