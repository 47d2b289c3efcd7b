/** Questions to the loaded model: fetches or decodes the picture, asks the session, can be stopped. */
import { sha256Hex } from "../src/engine/bytes/hash.ts";
import type { RgbImage } from "../src/engine/data/sample.ts";
import type { RowSource } from "../src/engine/data/training-row.ts";
import { LabError } from "../src/engine/errors.ts";
import type { Session } from "../src/engine/session/session.ts";
import { type FromTrainer, MAX_OWN_SIDE, type ToTrainer, type TryPicture } from "../src/protocol/trainer.ts";

export interface TryOuts {
  /** Where pictures of rows come from. */
  drawFrom(rows: RowSource): void;
  answer(lab: Session, message: Extract<ToTrainer, { type: "try-out" }>): Promise<void>;
  /** Ends the question under way, if there is one. */
  stop(): void;
}

export function tryOuts(send: (message: FromTrainer) => void): TryOuts {
  let rows: RowSource | undefined;
  let controller = new AbortController();
  return {
    drawFrom(source) {
      rows = source;
    },
    stop: () => controller.abort(),
    async answer(lab, { request, picture, task, weights }) {
      controller = new AbortController();
      const { signal } = controller;
      const began = performance.now();
      const asked = { picture: await pictureOf(picture, rows), task, from: weights };
      const onPhase = (phase: Extract<FromTrainer, { type: "try-phase" }>["phase"]): void =>
        send({ type: "try-phase", phase });
      const answer = await lab.tryOut(asked, onPhase, signal);
      send({ type: "tried", request, answer, seconds: (performance.now() - began) / 1000 });
    },
  };
}

async function pictureOf(
  picture: TryPicture,
  rows: RowSource | undefined,
): Promise<{ readonly id: string; readonly rgb: RgbImage }> {
  if (picture.kind === "row") {
    if (rows === undefined) throw new LabError("internal", "A row was requested before the data worker started");
    const { summary, rgb } = await rows(picture.index);
    return { id: summary.imageId, rgb };
  }
  const bytes = new Uint8Array(await picture.file.arrayBuffer());
  return { id: `own ${await sha256Hex(bytes)}`, rgb: await decodeOwn(picture.file) };
}

/** Pixels as the browser shows them: turned as the camera says, transparency on white. */
async function decodeOwn(file: Blob): Promise<RgbImage> {
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" }).catch((cause: unknown) => {
    throw new LabError("bad-input", "The picture cannot be decoded by this browser; nothing was asked", { cause });
  });
  try {
    const scale = Math.min(1, MAX_OWN_SIDE / Math.max(bitmap.width, bitmap.height));
    const [width, height] = [Math.round(bitmap.width * scale), Math.round(bitmap.height * scale)];
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    if (context === null) throw new LabError("unsupported", "This browser gives workers no canvas to decode with");
    context.fillStyle = "white";
    context.fillRect(0, 0, width, height);
    context.drawImage(bitmap, 0, 0, width, height);
    const rgba = context.getImageData(0, 0, width, height).data;
    const data = new Uint8Array(width * height * 3);
    for (let pixel = 0; pixel < width * height; pixel++) {
      for (let channel = 0; channel < 3; channel++) data[pixel * 3 + channel] = rgba[pixel * 4 + channel] as number;
    }
    return { width, height, data };
  } finally {
    bitmap.close();
  }
}
