import { markUnseen } from "../../src/engine/errors.ts";

type Write = typeof process.stdout.write;

/**
 * Protects the terminal from texts that a tool reads: control characters and bidirectional marks are written as numeric
 * escapes, which JSON reads as the same characters.
 */
export function guardTerminal(streams: readonly { write: Write }[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? markUnseen(chunk) : chunk, ...rest)) as Write;
  }
}
