import { viewOf } from "../../bytes/memory.ts";
/**
 * Short and long values of the first directory of a TIFF block (the format of EXIF), by tag. For a damaged block it
 * returns the readable entries, because a wrong orientation must not reject a picture.
 */
export function readTiffTags(bytes: Uint8Array): Map<number, number> {
  const tags = new Map<number, number>();
  if (bytes.length < 8) return tags;
  const view = viewOf(bytes);
  const order = view.getUint16(0);
  if (order !== 0x4949 && order !== 0x4d4d) return tags;
  const little = order === 0x4949;
  const directory = view.getUint32(4, little);
  if (directory + 2 > bytes.length) return tags;
  const count = view.getUint16(directory, little);
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    if (at + 12 > bytes.length) break;
    const type = view.getUint16(at + 2, little);
    if (view.getUint32(at + 4, little) !== 1) continue;
    if (type === 3) tags.set(view.getUint16(at, little), view.getUint16(at + 8, little));
    if (type === 4) tags.set(view.getUint16(at, little), view.getUint32(at + 8, little));
  }
  return tags;
}
