/** Arrays that must not differ in one bit. `toEqual` takes three microseconds for each element, so it only tells the difference. */
import { expect } from "vitest";

/** Whether both hold the same bytes. */
export function sameBits(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength));
}

/** @param what is told where they differ */
export function expectSameBits(found: ArrayBufferView, expected: ArrayBufferView, what?: string): void {
  if (!sameBits(found, expected)) expect(found, what).toEqual(expected);
  expect(found.constructor, what).toBe(expected.constructor);
}
