/** The page's address: the screen and its state, and settings. */
import fc from "fast-check";
import { formatRoute, parseRoute, SCREENS } from "../../../src/app/stores/route-text.ts";
import { isUnlinked, parseConfig, SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import type { Bytes, Damage } from "../bytes.ts";
import { casesOf } from "../cases.ts";
import { check, checkSentence, type Target } from "../target.ts";
import { checkConfig } from "./settings.ts";

const FILE = "address";
const encode = (text: string): Bytes => new TextEncoder().encode(text);

const odd = fc.constantFrom(
  ...[
    "%ff",
    "%",
    "%%",
    "+",
    "%00",
    "%0a%1b[31m",
    "%u0000",
    "__proto__",
    "1e999",
    "-1",
    "0.5",
    "NaN",
    "",
    "=",
    "&&",
    "#",
  ],
  ...["a".repeat(100_000), "a,".repeat(20_000), "%f0%9f%98%80", "\u{1f600}", "\ud800", "9".repeat(400), "toString"],
);
const name = fc.oneof(
  fc.constantFrom(...SETTING_KEYS),
  fc.constantFrom("screen", "run", "compare", "step", "rollout", "layers", "smooth", "x", "preset", "max_steps"),
  odd,
);
const pair = fc.tuple(name, odd, fc.boolean()).map(
  ([key, value, first]): Damage => ({
    what: `${key.slice(0, 30)}=${value.slice(0, 30)}`,
    apply: (bytes) => {
      const text = new TextDecoder().decode(bytes).replace(/^#/, "");
      return encode(first ? `#${key}=${value}&${text}` : `#${text}&${key}=${value}`);
    },
  }),
);

export const address: Target = {
  ...casesOf(
    {
      train: { [FILE]: encode("#screen=train&step=12&smooth=0.9&x=time&compare=a,b&preset=demo") },
      settings: { [FILE]: encode("#screen=setup&steps=50&learningRate=1e-5&lossType=dapo&beta=0.04") },
    },
    () => pair,
  ),
  async read(files) {
    const hash = new TextDecoder().decode(files[FILE]);
    const route = parseRoute(hash);
    check(SCREENS.includes(route.screen), `a screen of ${route.screen}`);
    check(route.step === null || (Number.isInteger(route.step) && route.step >= 0), `a step of ${route.step}`);
    check(route.smooth >= 0 && route.smooth <= 0.999, `a smoothing of ${route.smooth}`);
    check(
      JSON.stringify(parseRoute(formatRoute(route, {}, "demo"))) === JSON.stringify(route),
      "another place when written",
    );
    const given = [...new URLSearchParams(hash.replace(/^#/, ""))].filter(([key]) => !isUnlinked(key));
    const { config, problems, translated } = parseConfig(Object.fromEntries(given));
    checkConfig(config);
    for (const problem of problems) checkSentence(problem);
    if (translated !== null) checkSentence(translated);
  },
};
