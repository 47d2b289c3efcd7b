/** Signals that ask a tool to stop where it can continue later: Ctrl+C, and those of batch systems and containers. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Calls `stop` at the first such signal and says so; the next one ends the process at once. @param how what the tool does
 * before it ends
 * @returns stops listening
 */
export function onStopSignal(stop: () => void, how = "what is done will be saved"): () => void {
  const leave = (): void => {
    for (const signal of SIGNALS) process.off(signal, heard);
  };
  const heard = (): void => {
    leave();
    // Nothing else shows for the minutes that a phase of a large model takes.
    process.stderr.write(`Stopping: ${how}. Press Ctrl+C again to end at once\n`);
    stop();
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  return leave;
}
