/** The conditions that measured times depend on: adapter, browser and programs. */
import { sha256Hex } from "../bytes/hash.ts";
import { formLimits } from "../gpu/forms/active.ts";
import { type MatrixUnit, PRODUCT_FORMS, type ProductForm } from "../gpu/forms/records.ts";
import { attentionPrograms } from "../gpu/kernels/attention/attention-tiles.ts";
import { usualProducts } from "../gpu/matmul/matmul-program.ts";
import { tiledProgram } from "../gpu/matmul/tiled-code.ts";
import type { Arithmetic } from "../gpu/packed/half.ts";
import { tiledBackward, tiledForward } from "../gpu/packed/tile-programs.ts";
import type { GpuReport } from "../gpu/runtime/device.ts";
import { type GpuProgram, shaderSource } from "../gpu/runtime/pipelines.ts";
import { tf } from "../gpu/tf.ts";
import type { TableIdentity } from "./table.ts";

/** Identity of this device in this browser. */
export async function tableIdentity({ vendor, architecture, description }: GpuReport): Promise<TableIdentity> {
  const tiles = Object.values<ProductForm>(PRODUCT_FORMS).flatMap((tile) => {
    const unit = formLimits().unit;
    if (tile.kind !== "tiles" || (tile.matrices && unit === undefined)) return [];
    const packed = (type: Arithmetic, own?: MatrixUnit): GpuProgram[] => [
      tiledForward("q4", type, tile, false, own),
      tiledBackward("q4", type, false, tile, own),
    ];
    if (tile.matrices) return packed("f16", unit);
    const loads = tile.vectors ? 4 : 1;
    const along = { a: true, b: true };
    const form = { layout: "any", vectors: false, tile, loads, along, bounded: false, end: "extras" } as const;
    const plain = tiledProgram({ ...form, twice: true, activates: false });
    return [plain, ...packed("f32"), ...packed("f16")];
  });
  const sources = [...usualProducts(), ...tiles, ...attentionPrograms()].map(shaderSource);
  const kernels = await sha256Hex(new TextEncoder().encode([tf.version_core, ...sources].join("\n")));
  const cut = (given: string): string => given.slice(0, 200);
  return {
    vendor: cut(vendor),
    architecture: cut(architecture),
    description: cut(description),
    browser: cut(globalThis.navigator?.userAgent ?? "node"),
    kernels: kernels.slice(0, 16),
  };
}
