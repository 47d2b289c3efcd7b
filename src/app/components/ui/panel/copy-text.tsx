import { type ReactNode, useState } from "react";
import { report } from "../../../clients/lab.ts";
import { Button, type ButtonProps } from "../button.tsx";

/** A button that copies a text and then says so; a refusal is listed as a problem. */
export function CopyText(
  props: Pick<ButtonProps, "kind" | "title"> & { readonly text: () => string; readonly label: string },
): ReactNode {
  const { text, label, ...rest } = props;
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    setCopied(false);
    await navigator.clipboard.writeText(text());
    setCopied(true);
  };
  return (
    <Button {...rest} onClick={() => report(copy())}>
      {copied ? "Copied" : label}
    </Button>
  );
}
