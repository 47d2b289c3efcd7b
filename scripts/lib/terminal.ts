import { markUnseen } from "../../src/engine/errors.ts";

type Write = typeof process.stdout.write;

/**
 * Lets nothing of what a tool reads act on the terminal: control characters and bidirectional marks in its texts are
 * written as their numbers. In lines of JSON these stand for the same text.
 */
export function guardTerminal(streams: readonly { write: Write }[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? markUnseen(chunk) : chunk, ...rest)) as Write;
  }
}
