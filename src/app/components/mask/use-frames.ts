import { useEffect, useMemo, useState } from "react";
import { visibleFrames } from "../../../engine/data/clips/film-strip.ts";
import { decodeRle } from "../../../engine/data/mask/rle.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import type { Frame } from "./draw.ts";

/** Milliseconds of a frame while a clip plays. */
const FRAME_MS = 160;

/** The first frame of a row that shows its object; undefined for a picture. */
export function usePoster({ mask, frames }: Pick<RegionSummary, "mask" | "frames">): Frame | undefined {
  return useMemo(() => {
    return frames === undefined ? undefined : { at: visibleFrames(decodeRle(mask), frames)[0] ?? 0, of: frames };
  }, [mask, frames]);
}

/** The frame to show: the poster, or while `playing` one after the other. People who ask for less motion see the poster. */
export function usePlayed(poster: Frame | undefined, playing: boolean): Frame | undefined {
  const [step, setStep] = useState(0);
  const runs = playing && poster !== undefined;
  useEffect(() => {
    if (!runs || window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const timer = setInterval(() => setStep((before) => before + 1), FRAME_MS);
    return () => {
      clearInterval(timer);
      setStep(0);
    };
  }, [runs]);
  return poster === undefined ? undefined : { at: (poster.at + step) % poster.of, of: poster.of };
}
