import { type ReactNode, useState } from "react";
import type { SettingKey } from "../../../engine/config/table.ts";
import { thrownText } from "../../../engine/errors.ts";
import {
  checkPrompts,
  DEFAULT_PROMPTS,
  type PromptName,
  promptVersion,
} from "../../../engine/rewards/judge/questions/prompts.ts";
import { parseQuestionFile } from "../../../engine/rewards/judge/questions/question-file.ts";
import { TEST_QUESTIONS } from "../../../engine/rewards/judge/test-pairs.ts";
import { Fields } from "../../components/settings/field.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { useAsync } from "../../components/use-async.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import styles from "./judge.module.css";

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
        <Prompt key={text.key} name={text.name} setting={text.key} title={text.title} />
      ))}
      {judge === "dlc" && <Written />}
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

function Prompt(props: { readonly name: PromptName; readonly setting: TextKey; readonly title: string }): ReactNode {
  const { name, setting: key, title } = props;
  const value = useSession((session) => session.config[key]);
  const [draft, setDraft] = useState<string | null>(null);
  const shown = draft ?? (value || DEFAULT_PROMPTS[name]);
  const problem = promptProblem(name, shown);
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
        data-testid={`prompt-${name}`}
        value={shown}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          setDraft(typed);
          if (promptProblem(name, typed) === null)
            changeConfig({ [key]: typed === DEFAULT_PROMPTS[name] ? "" : typed });
        }}
        onBlur={() => setDraft(null)}
      />
      {problem !== null && (
        <p className={styles.problem} role="alert" data-testid="prompt-problem">
          {problem}
        </p>
      )}
      <Button
        kind="quiet"
        blocker={value === "" ? "This is the built-in prompt" : null}
        // The field keeps the focus: on blur the sentence above disappears and the button moves away from the pointer.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => {
          setDraft(null);
          changeConfig({ [key]: "" });
        }}
      >
        Restore the built-in prompt
      </Button>
    </details>
  );
}

function promptProblem(name: PromptName, text: string): string | null {
  return problemOf(() => checkPrompts({ [name]: text }));
}

/** Questions of the DLC-style judge as JSON. */
function Written(): ReactNode {
  const value = useSession((session) => session.config.judgeWritten);
  const [draft, setDraft] = useState<string | null>(null);
  const shown = draft ?? value;
  const problem = shown.trim() === "" ? "The DLC-style judge needs questions" : writtenProblem(shown);
  return (
    <details className={styles.prompt} open>
      <summary>Prepared questions</summary>
      <textarea
        className={`small ${styles.text}`}
        rows={10}
        spellCheck={false}
        aria-label="Questions as JSON"
        aria-invalid={problem !== null}
        data-testid="judge-written"
        value={shown}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          setDraft(typed);
          if (typed.trim() === "" || writtenProblem(typed) === null) changeConfig({ judgeWritten: typed });
        }}
      />
      {problem !== null && (
        <p className={styles.problem} role="alert" data-testid="prompt-problem">
          {problem}
        </p>
      )}
      <p className={styles.help}>
        A list of question sets, each with the reference caption it belongs to; a set without one applies to every
        caption. Each set begins with a recognition question.
      </p>
      <Button
        kind="quiet"
        onClick={() => {
          setDraft(null);
          changeConfig({ judgeWritten: JSON.stringify(JSON.parse(TEST_QUESTIONS), null, 1) });
        }}
      >
        Insert an example
      </Button>
    </details>
  );
}

function writtenProblem(text: string): string | null {
  return problemOf(() => parseQuestionFile("The questions", text));
}

/** Message of the error that a check throws; null if it throws none. */
export function problemOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (thrown) {
    return thrownText(thrown);
  }
}
