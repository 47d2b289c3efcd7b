import type { ReactNode } from "react";
import type { Places } from "../place/page-plugin.ts";
import { PluginPanels } from "../place/place.tsx";
import { CopyText } from "../ui/button.tsx";
import styles from "./rollout.module.css";

/** A text as it was said; a plug-in can mark its difference to the reference. */
export function CaptionDiff(props: Places["caption"]): ReactNode {
  return <PluginPanels at="caption" given={props} instead={<Caption name={props.name} text={props.text} />} />;
}

/** A named text with a button that copies it. */
export function Caption(props: {
  readonly name: string;
  readonly text: string;
  /** A button beside the name. */
  readonly action?: ReactNode;
  /** In place of the plain text, unless false. */
  readonly children?: ReactNode;
}): ReactNode {
  const { name, text, action } = props;
  const marked = [props.children].flat().some(Boolean);
  return (
    <div>
      <div className="row gap-2 muted small">
        {name}
        <CopyText kind="small" label="Copy" aria-label={`Copy ${name}`} text={() => text} />
        {action}
      </div>
      <p className={`anywhere ${styles.captionText}`}>
        {marked ? props.children : text.trim() === "" ? <em>empty</em> : text}
      </p>
    </div>
  );
}
