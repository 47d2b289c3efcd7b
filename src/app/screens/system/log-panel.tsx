import { type ReactNode, useState } from "react";
import { Button } from "../../components/ui/button.tsx";
import { Segmented } from "../../components/ui/controls.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { clearLog, useLog } from "../../stores/log.ts";
import styles from "./system.module.css";

const SHOWN = { all: "All", bad: "Warnings and errors" } as const;

/** What happened in this browser, newest first. */
export function LogPanel(): ReactNode {
  const lines = useLog((log) => log.lines);
  const [shown, setShown] = useState<keyof typeof SHOWN>("all");
  const listed = lines.filter(({ level }) => shown === "all" || level !== "info").toReversed();
  return (
    <Panel
      title="Log"
      aside={
        <div className="row wrap gap-2">
          <Segmented label="Lines" options={SHOWN} value={shown} onChange={setShown} />
          <Button kind="quiet" disabled={lines.length === 0} onClick={clearLog}>
            Clear
          </Button>
        </div>
      }
    >
      {listed.length === 0 && <p className="muted">{shown === "all" ? "Nothing yet" : "No warnings and no errors"}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
      <ol className={`grid gap-1 m-0 p-0 no-bullets scroll ${styles.log}`} data-testid="log" tabIndex={0}>
        {listed.map(({ at, level, text }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added and may be equal
          <li key={`${at} ${lines.length - place}`} className="grid gap-3" data-level={level}>
            <time className="muted nowrap" dateTime={new Date(at).toISOString()}>
              {timeText(at)}
            </time>
            <span className="anywhere">{text}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function timeText(at: number): string {
  return new Date(at).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}
