/**
 * Waits until every call has ended, even if one fails, because all calls are charged to the same account.
 * @throws the first failure in order
 */
export async function together<Value>(calls: readonly Promise<Value>[]): Promise<Value[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
