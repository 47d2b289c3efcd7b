/** Masks as files hold them: compressed text, lists of runs, and values that only look like them. */
import { decodeRle, encodeRle, maskIou, parseRle, rleArea, rleBox } from "../../../src/engine/data/mask/rle.ts";
import { boxMask } from "../../unit/data/make.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { check, type Target } from "../target.ts";

const FILE = "mask.json";
const text = (value: unknown) => ({ [FILE]: new TextEncoder().encode(JSON.stringify(value)) });

export const rle: Target = {
  ...casesOf(
    {
      box: text(boxMask(24, 32, 4, 3, 10, 8)),
      runs: text({ size: [4, 5], counts: [3, 4, 5, 8] }),
      line: text(boxMask(1, 40, 3, 0, 9, 1)),
      stripes: text(
        encodeRle(
          Uint8Array.from({ length: 900 }, (_, at) => at % 2),
          30,
          30,
        ),
      ),
    },
    () => jsonDamage(),
  ),
  async read(files) {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(files[FILE]));
    } catch {
      // Only values reach the reader; the readers of files are targets of their own.
      return;
    }
    const mask = parseRle(value);
    const [height, width] = mask.size;
    const pixels = decodeRle(mask);
    const area = rleArea(mask);
    check(pixels.length === height * width, `${pixels.length} pixels for ${height} x ${width}`);
    check(pixels.reduce((sum, pixel) => sum + pixel, 0) === area && area <= height * width, `an area of ${area}`);
    const [x, y, w, h] = rleBox(mask);
    check(x >= 0 && y >= 0 && x + w <= width && y + h <= height && w * h >= area, `a box of ${[x, y, w, h]}`);
    check(rleArea(encodeRle(pixels, height, width)) === area, "another area after a round trip");
    const { iou } = maskIou(mask, mask);
    check(iou === (area === 0 ? 0 : 1), `an IoU of ${iou} with itself`);
  },
};
