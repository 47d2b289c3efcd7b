import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { SETTINGS } from "../../../engine/config/table.ts";
import { parseEndpoint } from "../../../engine/rewards/judge/endpoint.ts";
import { WEBLLM_DEFAULT } from "../../../engine/rewards/judge/webllm-model.ts";
import { browserModelObstacle } from "../../clients/browser-model.ts";
import { keepKey, listJudgeModels, setJudgeKey } from "../../clients/judge-actions.ts";
import { report } from "../../clients/lab.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Select, Switch, TextInput } from "../../components/ui/controls.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { useJudge } from "../../stores/judge.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import styles from "./judge.module.css";

/** Which instrument, which model, where it runs, and the key. */
export function ConnectionPanel(): ReactNode {
  const { judge, judgeProvider } = useSession((session) => session.config);
  return (
    <Panel title="Judge" aside={judge === "off" ? <Badge>off</Badge> : <Badge tone="accent">on</Badge>}>
      <div className={styles.form}>
        <label htmlFor="judge-instrument">Instrument</label>
        <Select
          id="judge-instrument"
          testId="judge-instrument"
          options={SETTINGS.judge.choices}
          value={judge}
          onChange={(value) => changeConfig({ judge: value })}
        />
        <p className={styles.help}>
          {judge === "dlc"
            ? "Questions of your own, one call each, scored as the describe-anything benchmark does"
            : "Questions are made from the reference once, answered from the prediction, each answer scored; the score is the sum of all points over the number of questions"}
        </p>
        <label htmlFor="judge-provider">Runs</label>
        <Select
          id="judge-provider"
          testId="judge-provider"
          options={SETTINGS.judgeProvider.choices}
          value={judgeProvider}
          onChange={(value) => changeConfig({ judgeProvider: value })}
        />
        {judgeProvider === "server" && <ServerFields />}
        {judgeProvider === "webllm" && <WebllmFields />}
        {judgeProvider === "chrome" && <ChromeNote />}
      </div>
    </Panel>
  );
}

function ServerFields(): ReactNode {
  const { judgeUrl, judgeModel } = useSession((session) => session.config);
  const models = useJudge((state) => state.models);
  const busy = useJudge((state) => state.busy);
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
          // An address with a key in it is never taken, so that nothing can store it.
          if (typed.trim() === "" || addressProblem(typed) === null) changeConfig({ judgeUrl: typed.trim() });
        }}
        onBlur={() => problem === null && setDraft(null)}
      />
      <p
        className={problem === null ? styles.help : styles.problem}
        id="judge-url-help"
        data-testid="judge-url-help"
        role={problem === null ? undefined : "alert"}
      >
        {problem ??
          "Any OpenAI-compatible server: a service over https, or vLLM, Ollama, LM Studio, llama.cpp on this machine. It gets the captions, never pictures"}
      </p>
      <label htmlFor="judge-model">Model</label>
      <div className={styles.withButton}>
        <TextInput
          id="judge-model"
          className={styles.input}
          data-testid="judge-model"
          placeholder="the first one the server lists"
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
          obstacle={judgeUrl === "" ? "Give the address first" : busy === null ? null : "Another try-out is under way"}
          onClick={() => report(listJudgeModels())}
        >
          List models
        </Button>
      </div>
      {models !== null && (
        <p className={styles.help}>
          {models.length === 0 ? "The server lists no model" : `The server has ${models.join(", ")}`}
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
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** The field is emptied as soon as the key has been handed over: it stays in no element, address, export or log. */
function KeyField(): ReactNode {
  const keySet = useJudge((state) => state.keySet);
  const keep = useJudge((state) => state.keepKey);
  const field = useRef<HTMLInputElement>(null);
  const take = (event: FormEvent): void => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (field.current !== null) field.current.value = "";
    if (key !== "") setJudgeKey(key);
  };
  return (
    <>
      <label htmlFor="judge-key">Key</label>
      <form className={styles.withButton} onSubmit={take}>
        <TextInput
          id="judge-key"
          ref={field}
          className={styles.input}
          data-testid="judge-key"
          type="password"
          placeholder={keySet ? "a key is set" : "none"}
          aria-describedby="judge-key-help"
        />
        <Button type="submit" data-testid="judge-key-use">
          Use key
        </Button>
        {keySet && (
          <Button kind="quiet" onClick={() => setJudgeKey("")}>
            Forget key
          </Button>
        )}
      </form>
      <p className={styles.help} id="judge-key-help" data-testid="judge-key-state">
        {keySet ? "A key is set. " : ""}
        {keep
          ? "The next key you enter is stored in this browser, readable by anyone who uses it"
          : "Kept in memory until this page closes; it goes to the address above and nowhere else"}
      </p>
      <span />
      <label className={styles.check} htmlFor="judge-keep">
        <Switch id="judge-keep" checked={keep} onChange={keepKey} testId="judge-keep" />
        Remember the key on this device
      </label>
    </>
  );
}

function WebllmFields(): ReactNode {
  const model = useSession((session) => session.config.judgeModel);
  const progress = useJudge((state) => state.progress);
  return (
    <>
      <label htmlFor="judge-model">Model</label>
      <TextInput
        id="judge-model"
        className={styles.input}
        data-testid="judge-model"
        placeholder={WEBLLM_DEFAULT}
        value={model}
        onChange={(event) => changeConfig({ judgeModel: event.currentTarget.value })}
      />
      <p className={styles.help}>
        A name from WebLLM's list. About 1 GB is fetched once, when Test or Start is pressed, and kept by the browser;
        the model shares the GPU with training
      </p>
      {progress !== null && (
        <div className={styles.progress} role="status">
          <progress max={1} value={progress.share} aria-label="Model fetched" />
          <p className={styles.help}>{progress.text}</p>
        </div>
      )}
    </>
  );
}

function ChromeNote(): ReactNode {
  const [obstacle, setObstacle] = useState<string | null>("Being asked");
  useEffect(() => {
    let current = true;
    report(
      browserModelObstacle().then((found) => {
        if (current) setObstacle(found);
      }),
    );
    return () => {
      current = false;
    };
  }, []);
  return (
    <p className={obstacle === null ? styles.help : styles.problem}>
      {obstacle ??
        "Chrome's own model answers in this browser. Pages cannot set its temperature, so its scores vary from call to call"}
    </p>
  );
}
