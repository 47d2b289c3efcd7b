/** Soft backgrounds behind the drawings, each a function from place to colour; the same at every size. */
import { type Dice, pick } from "./dice.ts";

/** Colour, 0..255, at a place in shares of the picture's side. */
export type Background = (x: number, y: number) => readonly [number, number, number];
type Rgb = readonly [number, number, number];

const mix = (a: Rgb, b: Rgb, t: number): Rgb => [
  a[0] + (b[0] - a[0]) * t,
  a[1] + (b[1] - a[1]) * t,
  a[2] + (b[2] - a[2]) * t,
];
/** 0 below the edge, 1 above, soft over `width`. */
const step = (value: number, width: number): number => Math.min(1, Math.max(0, value / width + 0.5));

const SKIES: readonly (readonly [Rgb, Rgb])[] = [
  [
    [176, 214, 240],
    [226, 240, 248],
  ],
  [
    [250, 214, 190],
    [252, 236, 214],
  ],
  [
    [196, 206, 236],
    [240, 228, 240],
  ],
];
const PASTELS: readonly Rgb[] = [
  [240, 228, 208],
  [208, 226, 236],
  [216, 232, 210],
  [236, 216, 226],
  [222, 218, 236],
  [246, 236, 200],
  [214, 232, 228],
  [232, 232, 236],
];

type Maker = (dice: Dice) => Background;

const gradient: Maker = (dice) => {
  const [from, to] = [pick(dice, PASTELS), pick(dice, PASTELS)];
  const turn = dice() * 2 * Math.PI;
  const [dx, dy] = [Math.cos(turn), Math.sin(turn)];
  return (x, y) => mix(from, to, step((x - 0.5) * dx + (y - 0.5) * dy, 1.3));
};

/** Sky over a rolling ground. */
const land =
  (grounds: readonly (readonly [Rgb, Rgb])[]): Maker =>
  (dice) => {
    const sky = pick(dice, SKIES);
    const ground = pick(dice, grounds);
    const [edge, swell, phase, waves] = [0.35 + 0.3 * dice(), 0.01 + 0.03 * dice(), dice() * 6.3, 3 + 4 * dice()];
    return (x, y) => {
      const horizon = edge + swell * Math.sin(waves * x + phase);
      const below = mix(ground[0], ground[1], step(y - 0.7, 0.6));
      return mix(mix(sky[0], sky[1], step(y - edge / 2, edge)), below, step(y - horizon, 0.008));
    };
  };
const meadow = land([
  [
    [176, 212, 150],
    [196, 224, 168],
  ],
  [
    [160, 204, 152],
    [190, 218, 160],
  ],
]);
const beach = land([
  [
    [240, 224, 184],
    [246, 234, 206],
  ],
  [
    [236, 216, 190],
    [244, 230, 210],
  ],
]);
const snow = land([
  [
    [232, 238, 246],
    [246, 248, 252],
  ],
]);

const water: Maker = (dice) => {
  const [deep, light]: readonly [Rgb, Rgb] = pick(dice, [
    [
      [150, 200, 222],
      [190, 224, 236],
    ],
    [
      [158, 210, 206],
      [200, 232, 226],
    ],
  ]);
  const [phase, waves] = [dice() * 6.3, 6 + Math.floor(4 * dice())];
  return (x, y) => {
    const wave = Math.sin(2 * Math.PI * (waves * y + 0.25 * Math.sin(9 * x + phase)));
    return mix(deep, light, 0.5 + 0.35 * wave * step(Math.abs(wave) - 0.4, 0.8));
  };
};

const table: Maker = (dice) => {
  const wood: Rgb = pick(dice, [
    [222, 190, 150],
    [206, 178, 146],
    [232, 208, 176],
  ]);
  const dark = mix(wood, [120, 90, 60], 0.3);
  const [planks, grain] = [3 + Math.floor(3 * dice()), 40 + 30 * dice()];
  return (x, y) => {
    const at = y * planks;
    const seam = Math.abs(at - Math.round(at)) / planks;
    const shade = 0.06 * Math.sin(grain * y + 3 * Math.sin(4 * x + Math.floor(at) * 2.1));
    return mix(wood, dark, Math.max(0.9 * (1 - step(seam - 0.004, 0.004)), 0.12 + shade + 0.05 * (Math.floor(at) % 2)));
  };
};

/** Dots, stripes or checks of two near pastels. */
const pattern: Maker = (dice) => {
  const ground = pick(dice, PASTELS);
  const figure = mix(
    ground,
    pick(dice, [
      [255, 255, 255],
      [190, 190, 205],
      [220, 190, 170],
    ] as const),
    0.6,
  );
  const count = 4 + Math.floor(5 * dice());
  const form = Math.floor(dice() * 3);
  return (x, y) => {
    const [u, v] = [(x * count) % 1, (y * count) % 1];
    if (form === 0) return mix(ground, figure, step(0.28 - Math.hypot(u - 0.5, v - 0.5), 0.06));
    if (form === 1) return mix(ground, figure, step(Math.abs((((x + y) * count * 0.7) % 1) - 0.5) - 0.25, 0.06));
    return mix(ground, figure, u < 0.5 === v < 0.5 ? 1 : 0);
  };
};

/** A wall, a skirting and a floor. */
const room: Maker = (dice) => {
  const [wall, floor] = [
    pick(dice, PASTELS),
    pick(dice, [
      [214, 190, 160],
      [196, 186, 182],
      [222, 206, 184],
    ] as const),
  ];
  const edge = 0.55 + 0.2 * dice();
  return (_x, y) =>
    Math.abs(y - edge) < 0.012 ? [248, 246, 242] : y < edge ? wall : mix(floor, [170, 150, 130], step(y - 1, 0.9));
};

const MAKERS: readonly Maker[] = [
  gradient,
  gradient,
  meadow,
  meadow,
  beach,
  snow,
  water,
  table,
  pattern,
  pattern,
  room,
];

export function drawBackground(dice: Dice): Background {
  return pick(dice, MAKERS)(dice);
}
