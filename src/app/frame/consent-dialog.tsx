import type { ReactNode } from "react";
import { plainLine } from "../../engine/errors.ts";
import { sourceLines } from "../../engine/rewards/consent.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog } from "../components/ui/overlays.tsx";
import { type ConsentQuestion, useConsent } from "../stores/consent.ts";
import { useJudge } from "../stores/judge.ts";
import styles from "./frame.module.css";

/** Asks for consent before a judge, a model hub or a custom reward from a file, a link or a stored run is used. */
export function ConsentDialog(): ReactNode {
  const question = useConsent((state) => state.questions[0]);
  return (
    <Dialog
      title="Allow this?"
      open={question !== undefined}
      onOpenChange={(open) => !open && question?.answer("cancel")}
    >
      {question !== undefined && <Question question={question} />}
    </Dialog>
  );
}

function Question({ question }: { readonly question: ConsentQuestion }): ReactNode {
  const { reach, hub, partly, pictures = false, answer } = question;
  const source = plainLine(question.source);
  return (
    <div data-testid="consent">
      {hub !== undefined && (
        <div className="mb-3">
          <p>
            <b>{source}</b> name a model hub. It would receive the repository's name and your network address:
          </p>
          <code className={`block p-2-3 mono anywhere surface-2 round-m ${styles.place}`} data-testid="consent-hub">
            {plainLine(hub)}
          </code>
        </div>
      )}
      {reach.judge !== null && <JudgeWords source={source} place={reach.judge} pictures={pictures} />}
      {reach.reward !== null && (
        <>
          <p>
            <b>{source}</b> contains a custom reward. This function would score your rollouts in a sandbox without
            network, clock or random numbers:
          </p>
          <pre
            className={`p-2-3 small scroll mono surface-2 round-m ${styles.code}`}
            data-testid="consent-code"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard
            tabIndex={0}
          >
            {sourceLines(reach.reward.code).join("\n")}
          </pre>
        </>
      )}
      <p>Nothing has been sent and nothing has run</p>
      <div className="flex wrap gap-2 justify-end mt-4">
        <Button data-testid="consent-cancel" onClick={() => answer("cancel")}>
          Cancel
        </Button>
        {partly && (
          <Button data-testid="consent-without" onClick={() => answer("without")}>
            Use the other settings only
          </Button>
        )}
        <Button kind="primary" data-testid="consent-allow" onClick={() => answer("allow")}>
          Allow
        </Button>
      </div>
    </div>
  );
}

/** What would be sent to a judge, and to which place. */
export function JudgeWords(props: {
  readonly source: string;
  readonly place: string;
  readonly pictures: boolean;
}): ReactNode {
  const { source, place, pictures } = props;
  const keyOrigin = useJudge((state) => state.keyOrigin);
  return (
    <div className="mb-3">
      <p>
        <b>{source}</b> names a judge on a server. The captions of your rows and those the model writes
        {pictures && ", and pictures of your rows with their masks,"} would be sent to
      </p>
      <code className={`block p-2-3 mono anywhere surface-2 round-m ${styles.place}`} data-testid="consent-origin">
        {place}
      </code>
      <p data-testid="consent-key">{keyWords(place, keyOrigin, pictures)}</p>
    </div>
  );
}

function keyWords(place: string, keyOrigin: string | null, pictures: boolean): string {
  if (keyOrigin === place) return "The key you entered for this server is sent with them";
  if (keyOrigin === null) return pictures ? "No key is sent" : "No pictures and no key are sent";
  return `${pictures ? "Your" : "No pictures are sent, and your"} key for ${keyOrigin} stays with that server`;
}
