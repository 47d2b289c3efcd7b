import { type ReactNode, useState } from "react";
import { Fields } from "../../app/components/settings/field.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { changeConfig, useSession } from "../../app/stores/session.ts";
import type { SettingKey } from "../../engine/config/table.ts";
import { thrownText } from "../../engine/errors.ts";
import {
  checkPrompts,
  DEFAULT_PROMPTS,
  type PromptName,
  promptVersion,
} from "../../engine/rewards/judge/questions/prompts.ts";
import { parseQuestionFile } from "../../engine/rewards/judge/questions/question-set.ts";
import { TEST_QUESTIONS } from "./test-pairs.ts";
import styles from "./workshop.module.css";

type TextKey = "judgeQuestionsPrompt" | "judgeAnswersPrompt" | "judgeDlcPrompt";

const TEXTS: readonly { readonly name: PromptName; readonly key: TextKey; readonly title: string }[] = [
  { name: "questions", key: "judgeQuestionsPrompt", title: "1 · Questions from the reference" },
  { name: "answers", key: "judgeAnswersPrompt", title: "2 · Answers from the prediction" },
  { name: "dlc", key: "judgeDlcPrompt", title: "One prepared question" },
];

const COUNTS: readonly SettingKey[] = ["judgePositives", "judgeNegatives"];

/** The prompts of the judge; their hash is stored with every score. */
export function PromptsPanel(): ReactNode {
  const judge = useSession((session) => session.config.judge);
  const version = useVersion();
  return (
    <Panel
      title="Prompts and questions"
      aside={
        <span
          className="muted mono small"
          title="Hash of the three prompts; it is stored with every score"
          data-testid="prompt-version"
        >
          {version}
        </span>
      }
    >
      {judge !== "dlc" && <Fields keys={COUNTS} />}
      {TEXTS.filter(({ name }) => (name === "dlc") === (judge === "dlc")).map((text) => (
        <Text
          key={text.key}
          setting={text.key}
          title={text.title}
          testId={`prompt-${text.name}`}
          standard={DEFAULT_PROMPTS[text.name]}
          check={(typed) => problemOf(() => checkPrompts({ [text.name]: typed }))}
          reset={{ label: "Restore the built-in prompt", value: "" }}
        />
      ))}
      {judge === "dlc" && (
        <Text
          setting="judgeWritten"
          title="Prepared questions as JSON"
          testId="judge-written"
          help="A list of question sets, each with the reference caption it belongs to; a set without one applies to every caption. Each set begins with a recognition question."
          standard=""
          check={(typed) => problemOf(() => parseQuestionFile("The questions", typed))}
          reset={{
            label: "Insert an example",
            value: JSON.stringify(JSON.parse(TEST_QUESTIONS), null, 1),
          }}
        />
      )}
    </Panel>
  );
}

function useVersion(): string {
  const {
    judgeQuestionsPrompt: questions,
    judgeAnswersPrompt: answers,
    judgeDlcPrompt: dlc,
  } = useSession((session) => session.config);
  const { value = "" } = useAsync(
    "version",
    () =>
      promptVersion({
        questions: questions || DEFAULT_PROMPTS.questions,
        answers: answers || DEFAULT_PROMPTS.answers,
        dlc: dlc || DEFAULT_PROMPTS.dlc,
      }),
    [questions, answers, dlc],
  );
  return value;
}

/** A text setting that is checked while it is typed; a text with a problem is not taken. */
function Text(props: {
  readonly setting: TextKey | "judgeWritten";
  readonly title: string;
  readonly testId: string;
  readonly help?: string;
  /** Shown while the setting is empty. */
  readonly standard: string;
  readonly check: (text: string) => string | null;
  readonly reset: { readonly label: string; readonly value: string };
}): ReactNode {
  const { setting: key, title, testId, help, standard, check, reset } = props;
  const value = useSession((session) => session.config[key]);
  const [draft, setDraft] = useState<string | null>(null);
  const shown = draft ?? (value || standard);
  const problem = check(shown);
  return (
    <details className={styles.prompt}>
      <summary>
        {title} {value !== "" && <span className="accent small normal">edited</span>}
      </summary>
      <textarea
        className={`small ${styles.text}`}
        rows={12}
        spellCheck={false}
        aria-label={title}
        aria-invalid={problem !== null}
        data-testid={testId}
        value={shown}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          setDraft(typed);
          if (check(typed) === null) changeConfig({ [key]: typed === standard ? "" : typed });
        }}
        onBlur={() => setDraft(null)}
      />
      {problem !== null && (
        <p className="p-2 bad small anywhere bad-soft round-m" role="alert" data-testid="prompt-problem">
          {problem}
        </p>
      )}
      {help !== undefined && <p className="muted small">{help}</p>}
      <Button
        kind="quiet"
        // The field keeps the focus: on blur the sentence above disappears and the button moves away from the pointer.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => {
          setDraft(null);
          changeConfig({ [key]: reset.value });
        }}
      >
        {reset.label}
      </Button>
    </details>
  );
}

/** Message of the error that a check throws; null if it throws none. */
function problemOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (thrown) {
    return thrownText(thrown);
  }
}
