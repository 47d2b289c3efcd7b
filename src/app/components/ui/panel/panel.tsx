import { Component, type ReactNode, useId, useState } from "react";
import { thrownText } from "../../../../engine/errors.ts";
import { report } from "../../../clients/lab.ts";
import { Button } from "../button.tsx";
import { IconCheck, IconCopy } from "../icons.tsx";
import styles from "./panel.module.css";
import { copyPanel } from "./panel-picture.ts";

/** A titled area; `aside` is placed at the right of the title. */
export function Panel(props: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const title = useId();
  return (
    <section className="min-0 p-4 surface framed round-l" aria-labelledby={title}>
      <header className="row wrap gap-2-3 between mb-3">
        <span className="row gap-1">
          <h2 id={title}>{props.title}</h2>
          <CopyPanel name={props.title} />
        </span>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** A folded part; its content is rendered when it is opened first. */
export function Fold(props: {
  readonly summary: string;
  readonly className?: string;
  readonly children: ReactNode;
}): ReactNode {
  const [opened, setOpened] = useState(false);
  return (
    <details className={`fold ${props.className ?? ""}`} onToggle={() => setOpened(true)}>
      <summary>{props.summary}</summary>
      {opened && props.children}
    </details>
  );
}

/** Placeholder of an empty area: what is missing and what to do. */
export function Empty(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}): ReactNode {
  return (
    <div className={`column-flex gap-2 align-centre ${styles.empty}`}>
      <h2>{props.title}</h2>
      {props.children !== undefined && <div className={`muted ${styles.words}`}>{props.children}</div>}
      {props.actions !== undefined && <div className={`flex wrap gap-2 mt-2 ${styles.actions}`}>{props.actions}</div>}
    </div>
  );
}

/** How long "copied" is shown, in milliseconds. */
const TOLD_MS = 2000;

/** Copies the enclosing section or article as a picture; visible on hover, and always on devices without hover. */
export function CopyPanel({ name }: { readonly name: string }): ReactNode {
  const [copied, setCopied] = useState(false);
  const copy = async (panel: HTMLElement): Promise<void> => {
    await copyPanel(panel);
    setCopied(true);
    setTimeout(() => setCopied(false), TOLD_MS);
  };
  return (
    <button
      type="button"
      className={`p-0 round-m clear muted pointer ${styles.copy}`}
      data-copies
      data-copied={copied}
      title="Copy as a picture"
      aria-label={`Copy ${name} as a picture`}
      onClick={(event) => {
        const panel = event.currentTarget.closest<HTMLElement>("section, article");
        if (panel !== null) report(copy(panel));
      }}
    >
      {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      <span className="visually-hidden" role="status">
        {copied ? "Copied" : ""}
      </span>
    </button>
  );
}

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly message: string | null;
}

/** Shows the error of a screen that fails to render; other screens and the run continue. */
export class ErrorBoundary extends Component<Props, State> {
  override readonly state: State = { message: null };

  static getDerivedStateFromError(thrown: unknown): State {
    return { message: thrownText(thrown) };
  }

  override render(): ReactNode {
    if (this.state.message === null) return this.props.children;
    return (
      <Empty
        title="This screen failed"
        actions={<Button onClick={() => this.setState({ message: null })}>Try again</Button>}
      >
        {this.state.message}; the run is not affected
      </Empty>
    );
  }
}
