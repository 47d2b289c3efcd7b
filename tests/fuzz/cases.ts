/** Cases of a target: one of its valid inputs, with one to four damages in files of it. */
import fc, { type Arbitrary } from "fast-check";
import { BYTE_DAMAGE, type Damage } from "./bytes.ts";
import type { Case, Files, Target } from "./target.ts";

/** Damages specific to a format; damages of bytes are always drawn as well. */
export type DamageOf = (path: string) => Arbitrary<Damage> | undefined;

type Change = (files: Files) => Files;
interface Step {
  readonly what: string;
  readonly change: Change;
}

const without = (files: Files, path: string): Files =>
  Object.fromEntries(Object.entries(files).filter(([own]) => own !== path));

/**
 * @param inputs valid ones, by name
 * @param damageOf damages that fit a file, by its path
 */
export function casesOf(
  inputs: Readonly<Record<string, Files>>,
  damageOf: DamageOf = () => undefined,
): Pick<Target, "inputs" | "cases"> {
  const cases = fc.constantFrom(...Object.keys(inputs)).chain((name) => {
    const input = inputs[name] as Files;
    const paths = Object.keys(input);
    const damage = fc.constantFrom(...paths).chain((path) => {
      const own = damageOf(path);
      const drawn = own === undefined ? BYTE_DAMAGE : fc.oneof({ arbitrary: own, weight: 3 }, BYTE_DAMAGE);
      return drawn.map(
        ({ what, apply }): Step => ({
          what: `${path}: ${what}`,
          change: (files) => ({ ...files, [path]: apply(files[path] ?? new Uint8Array()) }),
        }),
      );
    });
    const missing = fc.constantFrom(...paths).map(
      (path): Step => ({
        what: `${path}: missing`,
        change: (files) => without(files, path),
      }),
    );
    const swapped = fc.constantFrom(...paths).chain((path) =>
      fc.constantFrom(...paths).map(
        (other): Step => ({
          what: `${path}: as ${other}`,
          change: (files) => ({ ...files, [path]: input[other] as Files[string] }),
        }),
      ),
    );
    const several = [
      { arbitrary: missing, weight: 1 },
      { arbitrary: swapped, weight: 1 },
    ];
    const step = fc.oneof({ arbitrary: damage, weight: 20 }, ...(paths.length > 1 ? several : []));
    return fc.array(step, { minLength: 1, maxLength: 4 }).map(
      (steps): Case => ({
        what: `${name}; ${steps.map(({ what }) => what).join("; ")}`,
        files: () => steps.reduce((files, { change }) => change(files), input),
      }),
    );
  });
  return { inputs, cases };
}
