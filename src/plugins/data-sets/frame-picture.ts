import type { ByteSource } from "../../engine/bytes/source.ts";
import { isCutOff, readImageHeader } from "../../engine/data/image/image-header.ts";
import type { EncodedImage } from "../../engine/data/sample.ts";
import { badInput, type LabError, toLabError } from "../../engine/errors.ts";

/**
 * Height and width of all frames, read from their headers.
 * @throws LabError("bad-input") naming a file that cannot be used
 */
export async function clipSize(frames: readonly ByteSource[]): Promise<readonly [height: number, width: number]> {
  let first: readonly [height: number, width: number] | undefined;
  for (const source of frames) {
    const bad = (what: string): LabError => badInput(`${source.name}: ${what}`, source.name);
    const { width, height } = await readImageHeader({
      length: source.size,
      read: (start, end) => source.read(start, end),
    }).catch((thrown: unknown) => {
      throw bad(toLabError(thrown).message);
    });
    first ??= [height, width];
    if (first[0] !== height || first[1] !== width) {
      throw bad(`the frame is ${width} x ${height}, the clip began with ${first[1]} x ${first[0]}`);
    }
  }
  if (first === undefined) throw badInput("The clip has no frames");
  return first;
}

/** A frame as a picture for a decoder, as stored. @throws LabError("bad-input") naming the file */
export async function framePicture(source: ByteSource): Promise<EncodedImage> {
  try {
    const bytes = await source.read(0, source.size);
    const read = async (start: number, end: number): Promise<Uint8Array> => bytes.subarray(start, end);
    const { mime, width, height } = await readImageHeader({ length: bytes.length, read });
    if (isCutOff(mime, bytes.subarray(-4096))) throw badInput(`the ${mime} picture is cut off`);
    return { bytes, mime, width, height, orientation: 1 };
  } catch (thrown) {
    const { message } = toLabError(thrown);
    throw badInput(`${source.name}: ${message}`, source.name, thrown);
  }
}
