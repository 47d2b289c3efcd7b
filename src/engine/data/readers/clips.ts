/** Files of clip data sets: they are opened by `data/clips`, not as rows of pictures. */
import { isRecord } from "../../bytes/json.ts";
import { has, type Reader } from "./reader.ts";

/** Kinds of files in the order in which they are tried. */
export const CLIPS: readonly Reader[] = [
  {
    label: "clip-expressions",
    what: "expressions of clips (Ref-YouTube-VOS, MeViS, ReVOS, Ref-DAVIS17)",
    recognise: ({ values }) => {
      const videos = values.find(({ key }) => key === "videos")?.value;
      const first = isRecord(videos) ? Object.values(videos)[0] : undefined;
      return has(first, "expressions", "frames") ? "videos with expressions and frames" : undefined;
    },
    open: "its rows are clips; npm run masklets reads them",
  },
  {
    label: "clip-masks",
    what: "masks of clips, a list of one a frame",
    recognise: ({ shape, values }) =>
      shape === "object" &&
      values.length > 0 &&
      values.some(({ item }) => has(item, "size", "counts")) &&
      values.every(({ item }) => item === null || has(item, "size", "counts"))
        ? "ids with lists of run-length masks"
        : undefined,
    open: "its masks belong to clips; npm run masklets reads them",
  },
];
