import type { ByteSource } from "../../bytes/source.ts";
import { LabError, toLabError } from "../../errors.ts";
import { isCutOff, readImageHeader } from "../image/image-header.ts";
import type { EncodedImage } from "../sample.ts";

/** A frame as a picture for a decoder, as it is stored. @throws LabError("bad-input") naming the file */
export async function framePicture(source: ByteSource): Promise<EncodedImage> {
  try {
    const bytes = await source.read(0, source.size);
    const read = async (start: number, end: number): Promise<Uint8Array> => bytes.subarray(start, end);
    const { mime, width, height } = await readImageHeader({ length: bytes.length, read });
    if (isCutOff(mime, bytes.subarray(-4096))) throw new LabError("bad-input", `the ${mime} picture is cut off`);
    return { bytes, mime, width, height, orientation: 1 };
  } catch (thrown) {
    const { message } = toLabError(thrown);
    throw new LabError("bad-input", `${source.name}: ${message}`, { subject: source.name, cause: thrown });
  }
}
