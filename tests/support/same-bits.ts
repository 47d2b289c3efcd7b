/** Arrays that must not differ in one bit. `toEqual` takes three microseconds for each element, so it only tells the difference. */
import { expect } from "vitest";

/** Whether both are of one type and hold the same bytes. */
export function sameBits(a: ArrayBufferView, b: ArrayBufferView | undefined): boolean {
  if (a.constructor !== b?.constructor) return false;
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength));
}

/** @param what is told where they differ */
export function expectSameBits(found: ArrayBufferView, expected: ArrayBufferView | undefined, what?: string): void {
  if (!sameBits(found, expected)) expect(found, what).toEqual(expected);
}
