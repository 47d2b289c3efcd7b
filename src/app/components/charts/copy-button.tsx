import { type ReactNode, useState } from "react";
import { toLabError } from "../../../engine/errors.ts";
import { copyPicture } from "./copy-picture.ts";

/** Copies a chart as a picture. @param canvas what is drawn now; null while nothing is */
export function CopyPicture(props: {
  readonly title: string;
  readonly className?: string | undefined;
  readonly lines: () => readonly string[];
  readonly canvas: () => HTMLCanvasElement | null;
}): ReactNode {
  const [told, setTold] = useState("copy");
  const copy = async (): Promise<void> => {
    const canvas = props.canvas();
    if (canvas === null) return;
    try {
      await copyPicture(canvas, props.title, props.lines());
      setTold("copied");
    } catch (thrown) {
      setTold(toLabError(thrown).message);
    }
    setTimeout(() => setTold("copy"), 2500);
  };
  return (
    <button
      type="button"
      className={props.className}
      title="Copy as a picture"
      aria-label={`Copy ${props.title} as a picture`}
      onClick={() => void copy()}
    >
      <span role="status">{told}</span>
    </button>
  );
}
