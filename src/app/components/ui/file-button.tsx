import { type ReactNode, useRef } from "react";
import { Button } from "./button.tsx";

/** A button that opens the browser's file picker for one file. */
export function FileButton(props: {
  readonly children: ReactNode;
  /** Accessible name of the file input. */
  readonly label: string;
  /** Extensions or types, as the `accept` attribute takes them. */
  readonly accept: string;
  readonly testId: string;
  readonly onFile: (file: File) => void;
}): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()}>{props.children}</Button>
      <input
        ref={input}
        type="file"
        hidden
        accept={props.accept}
        aria-label={props.label}
        data-testid={props.testId}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          // Emptied, so that the same file can be chosen again.
          event.currentTarget.value = "";
          if (file !== undefined) props.onFile(file);
        }}
      />
    </>
  );
}
