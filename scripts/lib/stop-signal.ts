/** Signals that ask a tool to stop where it can continue later: Ctrl+C, and those of batch systems and containers. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Calls `stop` at the first such signal; the next one ends the process at once.
 * @returns stops listening
 */
export function onStopSignal(stop: () => void): () => void {
  const leave = (): void => {
    for (const signal of SIGNALS) process.off(signal, heard);
  };
  const heard = (): void => {
    leave();
    stop();
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  return leave;
}
