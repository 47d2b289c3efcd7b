/** The evaluation suites, with the numbers that are published for them and where they come from. */

/** A published score, 0..100. */
export interface PublishedScore {
  readonly model: string;
  readonly value: number;
  readonly source: string;
}

/** What is asked of the model. */
export interface Suite {
  readonly name: string;
  readonly what: string;
  /** Masks for sentences, or captions of masks. */
  readonly task: "masks" | "captions";
  /** Whether the rows must come from a refs file, of which one split is read. */
  readonly refs: boolean;
  /** The metric of the published numbers. */
  readonly metric: string;
  /** Published scores by split. */
  readonly published: Readonly<Record<string, readonly PublishedScore[]>>;
}

const CARD = "model card of ByteDance/Sa2VA (InternVL2.5 weights)";
const LISA = "LISA paper, fine-tuned on RefCOCO";
const GLAMM = "GLaMM paper, fine-tuned";

function scores(source: string, entries: Readonly<Record<string, number>>): PublishedScore[] {
  return Object.entries(entries).map(([model, value]) => ({ model, value, source }));
}

/** Scores of the released card and of two papers for `val`; the papers also print the other splits. */
export const SUITES: readonly Suite[] = [
  {
    name: "refcoco",
    what: "RefCOCO (UNC), masks for referring expressions",
    task: "masks",
    refs: true,
    metric: "cIoU",
    published: {
      val: [
        ...scores(CARD, { "Sa2VA-1B": 79.6, "Sa2VA-4B": 82.4, "Sa2VA-8B": 82.6, "Sa2VA-26B": 82.9 }),
        ...scores(LISA, { "LISA-7B": 74.9 }),
        ...scores(GLAMM, { GLaMM: 79.5 }),
      ],
      testA: [...scores(LISA, { "LISA-7B": 79.1 }), ...scores(GLAMM, { GLaMM: 83.2 })],
      testB: [...scores(LISA, { "LISA-7B": 72.3 }), ...scores(GLAMM, { GLaMM: 76.9 })],
    },
  },
  {
    name: "refcoco+",
    what: "RefCOCO+ (UNC), masks for referring expressions",
    task: "masks",
    refs: true,
    metric: "cIoU",
    published: {
      val: [
        ...scores(CARD, { "Sa2VA-1B": 73.6, "Sa2VA-4B": 77.6, "Sa2VA-8B": 78.0, "Sa2VA-26B": 79.3 }),
        ...scores(LISA, { "LISA-7B": 65.1 }),
        ...scores(GLAMM, { GLaMM: 72.6 }),
      ],
      testA: [...scores(LISA, { "LISA-7B": 70.8 }), ...scores(GLAMM, { GLaMM: 78.7 })],
      testB: [...scores(LISA, { "LISA-7B": 58.1 }), ...scores(GLAMM, { GLaMM: 64.6 })],
    },
  },
  {
    name: "refcocog",
    what: "RefCOCOg (UMD), masks for referring expressions",
    task: "masks",
    refs: true,
    metric: "cIoU",
    published: {
      val: [
        ...scores(CARD, { "Sa2VA-1B": 77.7, "Sa2VA-4B": 79.7, "Sa2VA-8B": 80.3, "Sa2VA-26B": 81.2 }),
        ...scores(LISA, { "LISA-7B": 67.9 }),
        ...scores(GLAMM, { GLaMM: 74.2 }),
      ],
      test: [...scores(LISA, { "LISA-7B": 70.6 }), ...scores(GLAMM, { GLaMM: 74.9 })],
    },
  },
  {
    name: "masks",
    what: "masks for the captions of any rows",
    task: "masks",
    refs: false,
    metric: "cIoU",
    published: {},
  },
  {
    name: "captions",
    what: "captions for the masks of any rows",
    task: "captions",
    refs: false,
    metric: "CIDEr-D",
    published: {},
  },
];
