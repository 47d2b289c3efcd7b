/** A device that refuses a buffer as a full one does: the buffer is invalid, and the error is reported, not thrown. */
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";

/**
 * Refuses the next buffer of at least `bytes`: for lack of memory, or as larger than the device's `maxBufferSize`, which is
 * the device's own error for a buffer beyond its limit.
 * @returns whether it was refused, and what ends it
 */
export function refuseNextBuffer(
  { device }: EngineDevice,
  bytes = 4096,
  why: "memory" | "size" = "memory",
): { refused: () => boolean; end: () => void } {
  const create = device.createBuffer;
  const end = (): void => {
    device.createBuffer = create;
  };
  let refused = false;
  device.createBuffer = (descriptor) => {
    if (descriptor.size < bytes || descriptor.mappedAtCreation === true) return create.call(device, descriptor);
    end();
    refused = true;
    if (why === "memory") device.pushErrorScope("validation");
    const invalid = create.call(device, { ...descriptor, size: 2 * device.limits.maxBufferSize });
    if (why === "memory") {
      void device.popErrorScope();
      const error = new GPUOutOfMemoryError("Allocation refused");
      device.onuncapturederror?.({ error } as unknown as GPUUncapturedErrorEvent);
    }
    // As large as requested, on which the backend's pool relies.
    return Object.defineProperty(invalid, "size", { value: descriptor.size });
  };
  return { refused: () => refused, end };
}
