import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { lab, report } from "../../app/clients/lab.ts";
import { Fields } from "../../app/components/settings/field.tsx";
import { Badge, Button } from "../../app/components/ui/button.tsx";
import { Select, Switch, TextInput } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { allowWritten } from "../../app/stores/consent.ts";
import { useRunning } from "../../app/stores/jobs.ts";
import { useJudge } from "../../app/stores/judge.ts";
import { navigate, useRoute } from "../../app/stores/route.ts";
import { changeConfig, useSession } from "../../app/stores/session.ts";
import { type LabConfig, SETTINGS } from "../../engine/config/table.ts";
import { thrownText } from "../../engine/errors.ts";
import { originOf } from "../../engine/rewards/consent.ts";
import { parseEndpoint } from "../../engine/rewards/judge/providers/endpoint.ts";
import { CalibrationPanel } from "./calibration-panel.tsx";
import styles from "./judge.module.css";
import { keepKey, setJudgeKey, useKeepKey } from "./judge-key.tsx";
import { PairPanel } from "./pair-panel.tsx";
import { PromptsPanel } from "./prompts-panel.tsx";
import { TestPanel } from "./test-panel.tsx";
import { JUDGE_TEST, listJudgeModels, useWorkshop } from "./workshop.ts";

const KIND_HELP: Readonly<Record<LabConfig["judge"], string>> = {
  off: "Runs use no judge; METEOR takes its weight. Tests use questions generated from the reference.",
  questions:
    "Questions are generated once from the reference and answered from the prediction. The score is the mean of the points per question.",
  dlc: "Prepared questions, one request each, scored as in the describe-anything benchmark.",
};

/**
 * The language model that judges captions: connection and limits, and beside them its prompts and tests. Hidden while none is set up,
 * until it is asked for.
 */
export default function Judge(): ReactNode {
  const asked = useRoute((route) => route.panel === "judge");
  const { judge, judgeUrl } = useSession((session) => session.config);
  const shown = asked || judge !== "off" || judgeUrl !== "";
  if (!shown) {
    return (
      <section className="row wrap gap-2-3 between p-4 surface framed round-l" aria-label="Judge">
        <p className="muted">A language model can judge captions. None is set, so METEOR takes its weight</p>
        <Button data-testid="show-judge" onClick={() => navigate({ panel: "judge" })}>
          Set up a judge
        </Button>
      </section>
    );
  }
  return (
    <div className={`grid gap-4 align-start ${styles.screen}`} data-testid="judge">
      <div className="min-0">
        <Panel title="Judge" aside={judge === "off" ? <Badge>off</Badge> : <Badge tone="accent">on</Badge>}>
          <div className={`grid gap-2-3 align-centre ${styles.form}`}>
            <label htmlFor="judge-kind">Kind</label>
            <Select
              id="judge-kind"
              testId="judge-kind"
              options={SETTINGS.judge.choices}
              value={judge}
              onChange={(value) => changeConfig({ judge: value })}
            />
            <p className="muted small">{KIND_HELP[judge]}</p>
            <ServerFields />
          </div>
          <details className="fold mt-3">
            <summary>Limits</summary>
            <Fields keys={["missingVerdict", "judgeParallel", "judgeTimeout", "judgeMaxCalls"]} />
            <Button
              kind="quiet"
              title="Deletes the cached judge replies, so repeated requests are sent again"
              onClick={() => report(lab().reward.forgetReplies())}
            >
              Clear the cache
            </Button>
          </details>
        </Panel>
      </div>
      <div className="column-flex gap-4 min-0">
        <TestPanel />
        <PromptsPanel />
        <PairPanel />
        <CalibrationPanel />
      </div>
    </div>
  );
}

function ServerFields(): ReactNode {
  const { judgeUrl, judgeModel } = useSession((session) => session.config);
  const models = useWorkshop((state) => state.models);
  const busy = useRunning(JUDGE_TEST);
  const [draft, setDraft] = useState<string | null>(null);
  const problem = draft === null || draft.trim() === "" ? null : addressProblem(draft);
  return (
    <>
      <label htmlFor="judge-url">Address</label>
      <TextInput
        id="judge-url"
        className={styles.input}
        data-testid="judge-url"
        placeholder="http://localhost:11434/v1"
        inputMode="url"
        value={draft ?? judgeUrl}
        aria-invalid={problem !== null}
        aria-describedby="judge-url-help"
        onChange={(event) => {
          const typed = event.currentTarget.value;
          setDraft(typed);
          // An address that contains a key is refused, so that the key is never stored.
          if (typed.trim() !== "" && addressProblem(typed) !== null) return;
          allowWritten("judges", originOf(typed));
          useWorkshop.setState({ models: null });
          changeConfig({ judgeUrl: typed.trim() });
        }}
        onBlur={() => problem === null && setDraft(null)}
      />
      <p
        className={problem === null ? "muted small" : "p-2 bad small anywhere bad-soft round-m"}
        id="judge-url-help"
        data-testid="judge-url-help"
        role={problem === null ? undefined : "alert"}
      >
        {problem ??
          "Any OpenAI-compatible server: an https service, or vLLM, Ollama, LM Studio or llama.cpp on this machine. It receives captions, and pictures only if you choose so for held-out suites."}
      </p>
      <label htmlFor="judge-model">Model</label>
      <div className={`flex wrap gap-2 ${styles.withButton}`}>
        <TextInput
          id="judge-model"
          className={styles.input}
          data-testid="judge-model"
          placeholder="the server's first model"
          list="judge-models"
          value={judgeModel}
          onChange={(event) => changeConfig({ judgeModel: event.currentTarget.value })}
        />
        <datalist id="judge-models">
          {(models ?? []).map((model) => (
            <option key={model} value={model} />
          ))}
        </datalist>
        <Button
          blocker={judgeUrl === "" ? "Set the address first" : busy === null ? null : "Another test is in progress"}
          onClick={() => report(listJudgeModels())}
        >
          List models
        </Button>
      </div>
      {models !== null && (
        <p className="muted small">
          {models.length === 0 ? "The server lists no model" : `Models: ${models.join(", ")}`}
        </p>
      )}
      <KeyField />
    </>
  );
}

function addressProblem(text: string): string | null {
  try {
    parseEndpoint(text);
    return null;
  } catch (thrown) {
    return thrownText(thrown);
  }
}

/** The field is emptied as soon as the key is set: the key stays in no element, address, export or log. */
function KeyField(): ReactNode {
  const keyOrigin = useJudge((state) => state.keyOrigin);
  const origin = useSession((session) => originOf(session.config.judgeUrl));
  const keySet = keyOrigin !== null && keyOrigin === origin;
  const keep = useKeepKey();
  const field = useRef<HTMLInputElement>(null);
  const take = (event: FormEvent): void => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (field.current !== null) field.current.value = "";
    if (key !== "" && origin !== null) setJudgeKey(key);
  };
  return (
    <>
      <label htmlFor="judge-key">Key</label>
      <form className={`flex wrap gap-2 ${styles.withButton}`} onSubmit={take}>
        <TextInput
          id="judge-key"
          ref={field}
          className={styles.input}
          data-testid="judge-key"
          type="password"
          placeholder={keySet ? "a key is set" : "none"}
          aria-describedby="judge-key-help"
        />
        <Button
          type="submit"
          data-testid="judge-key-use"
          blocker={origin === null ? "Set the address first: a key belongs to one server" : null}
        >
          Use key
        </Button>
        {keyOrigin !== null && (
          <Button kind="quiet" onClick={() => setJudgeKey("")}>
            Forget key
          </Button>
        )}
      </form>
      <p className="muted small" id="judge-key-help" data-testid="judge-key-state">
        {keySet ? "A key is set. " : ""}
        {keyOrigin === null || keySet
          ? ""
          : `The key you entered is for ${keyOrigin} and is not sent to this address. `}
        {keep
          ? "The next key you enter is stored in this browser with its server; anyone who uses this browser can read it."
          : "The key stays in memory until this page closes and is sent only to the server it was entered for."}
      </p>
      <span />
      <label className="inline-flex gap-2 align-centre pointer" htmlFor="judge-keep">
        <Switch id="judge-keep" checked={keep} onChange={keepKey} testId="judge-keep" />
        Remember the key on this device
      </label>
    </>
  );
}
