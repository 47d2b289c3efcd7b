/**
 * Renders the drawings of the pocket scenes into one picture with transparency.
 *
 *   npx tsx scripts/build-pocket-sprites.ts
 *
 * The drawings are Microsoft's Fluent Emoji Flat (MIT), taken from @iconify-json/fluent-emoji-flat; the licence is
 * beside the picture. Run this only after changing the list of kinds.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { badInput } from "../src/engine/errors.ts";
import { ALL_KINDS } from "../tools/pocket/world/kinds.ts";
import { COLUMNS, SPRITE_SIDE, SPRITES_PATH } from "../tools/pocket/world/sprites.ts";
import { runTool } from "./lib/arguments.ts";
import { ensurePackages, root } from "./lib/ensure.mjs";

interface IconSet {
  readonly width: number;
  readonly height: number;
  readonly icons: Readonly<Record<string, { readonly body: string } | undefined>>;
}

type Renderer = new (svg: string) => { render(): { asPng(): Uint8Array } };

await runTool(async () => {
  ensurePackages(join(root, "bench"));
  const packages = createRequire(join(root, "bench", "package.json"));
  const { Resvg } = packages("@resvg/resvg-js") as { readonly Resvg: Renderer };
  const path = packages.resolve("@iconify-json/fluent-emoji-flat/icons.json");
  const set = JSON.parse(readFileSync(path, "utf8")) as IconSet;
  const scale = SPRITE_SIDE / set.width;
  const drawings = ALL_KINDS.map(({ icon }, at) => {
    const body = set.icons[icon]?.body;
    if (body === undefined) throw badInput(`${path} has no drawing "${icon}"`);
    const [x, y] = [(at % COLUMNS) * SPRITE_SIDE, Math.floor(at / COLUMNS) * SPRITE_SIDE];
    return `<g transform="translate(${x} ${y}) scale(${scale})">${body}</g>`;
  });
  const [width, height] = [COLUMNS * SPRITE_SIDE, Math.ceil(ALL_KINDS.length / COLUMNS) * SPRITE_SIDE];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${drawings.join("")}</svg>`;
  writeFileSync(join(root, SPRITES_PATH), new Resvg(svg).render().asPng());
  process.stdout.write(`${ALL_KINDS.length} drawings in ${SPRITES_PATH}\n`);
  return Promise.resolve(0);
});
