import { beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { tokenLoss } from "../../../src/plugins/supervised/forward.ts";
import { candidateLoss, namingLoss, pointingLoss } from "../../../tools/pocket/losses.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

async function number(make: () => Tensor): Promise<number> {
  const tensor = tf.tidy(make);
  const [value] = await tensor.data();
  tensor.dispose();
  return value as number;
}

const softmax = (row: readonly number[]): number[] => {
  const total = row.reduce((sum, z) => sum + Math.exp(z), 0);
  return row.map((z) => Math.exp(z) / total);
};

describe("supervised losses", () => {
  const logits = [
    [0.3, -1.2, 2],
    [1, 1, -0.5],
    [0, 4, 0.25],
  ];

  it("averages tokens over the supervised ones alone", async () => {
    const got = await number(() =>
      tokenLoss(tf.tensor2d(logits), tf.tensor1d([2, 0, 1], "int32"), tf.tensor1d([1, 0, 1])),
    );
    const wanted =
      -(Math.log(softmax(logits[0] ?? [])[2] as number) + Math.log(softmax(logits[2] ?? [])[1] as number)) / 2;
    expect(got).toBeCloseTo(wanted, 5);
  });

  it("names with distributions and leaves rows of zeros out", async () => {
    const target = [
      [0.5, 0, 0.5],
      [0, 0, 0],
      [0, 1, 0],
    ];
    const got = await number(() => namingLoss(tf.tensor2d(logits), tf.tensor2d(target)));
    const [first, , last] = logits.map(softmax);
    const [a, c, e] = [first?.[0] as number, first?.[2] as number, last?.[1] as number];
    expect(got).toBeCloseTo(-(0.5 * Math.log(a) + 0.5 * Math.log(c) + Math.log(e)) / 2, 5);
  });

  it("points by scaled products", async () => {
    const [seg, visual] = [
      tf.tensor3d([[[1, 2, 0, -1]]]),
      tf.tensor3d([
        [
          [1, 0, 0, 0],
          [0, 3, 0, 0],
        ],
      ]),
    ];
    const got = await number(() => pointingLoss(seg, visual, tf.tensor3d([[[0.25, 0.75]]])));
    const [p, q] = softmax([1 / 2, 6 / 2]) as [number, number];
    expect(got).toBeCloseTo(-(0.25 * Math.log(p) + 0.75 * Math.log(q)), 5);
    tf.dispose([seg, visual]);
  });

  it("weighs the best candidate most, never the unused first mask, and sees real overlaps", async () => {
    const truth = tf.tensor3d([[[1, 0]]]);
    const masks = tf.tensor4d([[[[9, 9]], [[-3, 3]], [[4, -4]], [[4, 4]]]]);
    const iou = tf.tensor2d([[0.9, 0, 1, 0.5]]);
    const loss = candidateLoss(masks, iou, truth, 0);
    const softplus = (z: number): number => Math.log1p(Math.exp(z));
    expect((await loss.bce.data())[0]).toBeCloseTo(softplus(-4), 5);
    expect(Array.from(await loss.realIou.data())).toEqual([0, 1, 0.5]);
    expect((await loss.iou.data())[0]).toBeCloseTo(0, 6);
    const gradient = tf.grad((m) => candidateLoss(m, iou, truth, 0.1).bce.asScalar())(masks);
    const parts = Array.from(await gradient.data());
    expect(parts.slice(0, 2)).toEqual([0, 0]);
    expect(parts.slice(2).every((value) => value !== 0)).toBe(true);
    tf.dispose([truth, masks, iou, ...Object.values(loss), gradient]);
  });
});
