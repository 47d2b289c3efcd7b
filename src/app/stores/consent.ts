/**
 * Judges, custom rewards and model hubs that the user entered or allowed, remembered between visits, and pending requests
 * for consent. Anything from a file, a link or a stored run needs consent before it is sent or run.
 */
import { create } from "zustand";
import { fits } from "../../engine/bytes/json.ts";
import { type LabConfig, SETTINGS } from "../../engine/config/table.ts";
import { LabError, plainLine } from "../../engine/errors.ts";
import { ALLOWED, openQuestions, originOf, type Reach, reachOf } from "../../engine/rewards/consent.ts";
import { remember, remembered } from "./saved.ts";

type ConsentAnswer = "allow" | "without" | "cancel";

export interface ConsentQuestion {
  /** Source of the settings: the name of a file or the title of a run. */
  readonly source: string;
  readonly reach: Reach;
  /** Address of a model hub that would be contacted. */
  readonly hub?: string;
  /** Whether the judge would be sent pictures too. */
  readonly pictures?: boolean;
  /** Whether the other settings can be used without these. */
  readonly partly: boolean;
  readonly answer: (answer: ConsentAnswer) => void;
}

interface ConsentState {
  /** Origins of judges; newest last. */
  readonly judges: readonly string[];
  /** Hashes of custom rewards; newest last. */
  readonly rewards: readonly string[];
  /** Addresses of model hubs; newest last. */
  readonly hubs: readonly string[];
  /** Origins of judges that may also be sent pictures; newest last. */
  readonly pictures: readonly string[];
  /** Oldest first; the first is shown. */
  readonly questions: readonly ConsentQuestion[];
}

/** Maximum remembered entries. */
const MOST = 100;

export const useConsent = create<ConsentState>()(() => ({
  ...remembered("allowed", { judges: [], rewards: [], hubs: [], pictures: [] }, (value) => fits(value, ALLOWED)),
  questions: [],
}));

/** Whether a question waits for its answer. */
export function isAsking({ questions }: ConsentState): boolean {
  return questions.length > 0;
}

type Kind = "judges" | "rewards" | "hubs" | "pictures";

/** The entry being typed: the next keystroke replaces it. */
const typed: Record<Kind, string | null> = { judges: null, rewards: null, hubs: null, pictures: null };

function put(kind: Kind, entries: readonly string[]): void {
  useConsent.setState({ [kind]: entries.slice(-MOST) });
  const { judges, rewards, hubs, pictures } = useConsent.getState();
  remember("allowed", { judges, rewards, hubs, pictures });
}

/** Allows the value that the user types into a field; the next keystroke may replace it. */
export function allowWritten(kind: Kind, entry: string | null): void {
  const others = useConsent.getState()[kind].filter((other) => other !== typed[kind]);
  const isNew = entry !== null && entry !== "" && !others.includes(entry);
  typed[kind] = isNew ? entry : null;
  put(kind, isNew ? [...others, entry] : others);
}

function allow({ judge, reward }: Reach, pictures: boolean): void {
  const add = (kind: Kind, entry: string | undefined): void => {
    if (entry !== undefined) put(kind, [...useConsent.getState()[kind].filter((other) => other !== entry), entry]);
  };
  add("judges", judge ?? undefined);
  add("rewards", reward?.hash);
  if (pictures) add("pictures", judge ?? undefined);
}

/**
 * Asks for consent to the judge and custom reward of settings; resolves at once if both are allowed already. Entries in
 * use stay allowed.
 * @param source source of the settings, shown in the dialog
 * @param partly whether the other settings can be used without these
 * @param pictures whether the judge would be sent pictures too
 */
export async function askConsent(
  config: LabConfig,
  source: string,
  partly = false,
  pictures = false,
): Promise<ConsentAnswer> {
  const reach = await reachOf(config);
  const { judges, rewards, pictures: shown } = useConsent.getState();
  const open = openQuestions(reach, {
    judge: (place) => judges.includes(place) && (!pictures || shown.includes(place)),
    reward: (hash) => rewards.includes(hash),
  });
  const asked = open.judge !== null || open.reward !== null;
  const answer = asked ? await question({ reach: open, source, partly, pictures }) : "allow";
  if (answer !== "allow") return answer;
  allow(reach, pictures);
  typed.judges = null;
  typed.rewards = null;
  return answer;
}

/** Asks for consent to a judge that a link switches on, even if its server is allowed already. */
export async function askLinkedJudge(config: LabConfig): Promise<boolean> {
  const reach = { judge: originOf(config.judgeUrl), reward: null };
  if ((await question({ reach, source: "The link", partly: true })) !== "allow") return false;
  allow(reach, false);
  return true;
}

/**
 * Asks before a model hub is contacted that came with settings of a file, a link or a stored run.
 * @throws LabError("cancelled") when the user does not agree
 */
export async function requireHub(hub: string): Promise<void> {
  const { hubs } = useConsent.getState();
  if (hub === SETTINGS.hub.default || hubs.includes(hub)) return;
  const reach = { judge: null, reward: null };
  if ((await question({ reach, source: "The settings", partly: false, hub })) !== "allow") {
    throw new LabError("cancelled", `${plainLine(hub)} was not contacted: nothing was sent`);
  }
  put("hubs", [...hubs, hub]);
}

function question(about: Omit<ConsentQuestion, "answer">): Promise<ConsentAnswer> {
  return new Promise((resolve) => {
    const asked: ConsentQuestion = {
      ...about,
      answer: (answer) => {
        useConsent.setState(({ questions }) => ({ questions: questions.filter((other) => other !== asked) }));
        resolve(answer);
      },
    };
    useConsent.setState(({ questions }) => ({ questions: [...questions, asked] }));
  });
}
