/**
 * Chooses the form of a product or an attention: the one measured for its bucket, else the built-in one of the
 * adapter's class. A choice depends only on table, sizes and device, so a step is repeatable under the same table.
 */
import { KEPT_SCORE_BYTES } from "../memory-sizes.ts";
import { type AdapterClass, BUILT_IN, type BuiltIn } from "./built-in.ts";
import {
  ATTENTION_FORMS,
  type AttentionForm,
  type AttentionName,
  type AttentionSizes,
  attentionBucket,
  attentionFits,
  type FormLimits,
  IN_PLACE_OF,
  PRODUCT_FORMS,
  type ProductForm,
  type ProductName,
  type ProductSizes,
  productBucket,
  productFits,
} from "./records.ts";

/** Measured forms by bucket; undefined where none was measured. */
export interface FormTable {
  readonly get: (bucket: string) => ProductName | AttentionName | undefined;
}

/** A shape for which a form was requested. */
export type SeenShape = (
  | { readonly family: "product"; readonly sizes: ProductSizes }
  | { readonly family: "attention"; readonly sizes: AttentionSizes }
) & {
  readonly bucket: string;
  /** Number of requests. */
  readonly times: number;
};

let builtIn: BuiltIn = BUILT_IN.integrated;
let limits: FormLimits | undefined;
let table: FormTable = new Map();
const seen = new Map<string, SeenShape>();

/**
 * Set by device.ts: the built-in table of the adapter, and its limits.
 * @param own entries in place of the table's, for tests
 */
export function setAdapterClass(of: AdapterClass, its?: FormLimits, own: Partial<BuiltIn> = {}): void {
  builtIn = { ...BUILT_IN[of], ...own };
  if (its !== undefined) limits = its;
}

/** The forms that run on this class of adapter without a measurement. */
export function builtInForms(): BuiltIn {
  return builtIn;
}

/** Uses a table from now on; an empty one leaves the built-in forms. Do not call it during a step. */
export function setFormTable(next: FormTable): void {
  table = next;
}

export function formTable(): FormTable {
  return table;
}

/** Runs `work` under another table. */
export async function withFormTable<T>(other: FormTable, work: () => Promise<T>): Promise<T> {
  const before = table;
  table = other;
  try {
    return await work();
  } finally {
    table = before;
  }
}

/** The shapes for which a form was requested since this thread began; the latest one per bucket. */
export function seenShapes(): readonly SeenShape[] {
  return [...seen.values()];
}

/** Returns a function that forgets the shapes requested from now on, because measuring requests forms too. */
export function holdShapes(): () => void {
  const before = [...seen];
  return () => {
    seen.clear();
    for (const [bucket, shape] of before) seen.set(bucket, shape);
  };
}

export function forgetShapes(): void {
  seen.clear();
}

const LEAST: FormLimits = {
  maxComputeWorkgroupStorageSize: 16_384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxStorageBuffersPerShaderStage: 8,
};

/** Limits of the open device; before one is open, the limits that every device supports. */
export function formLimits(): FormLimits {
  return limits ?? LEAST;
}

/** The form of a product: the measured one, else the built-in one, else "registers", whichever runs here first. */
export function productForm(sizes: ProductSizes): ProductForm {
  const bucket = productBucket(sizes);
  seen.set(bucket, { family: "product", bucket, sizes, times: 1 + (seen.get(bucket)?.times ?? 0) });
  const measured = table.get(bucket);
  if (measured !== undefined && fitsProduct(measured, sizes)) return PRODUCT_FORMS[measured];
  const usual = builtIn.product(sizes);
  const fitting = [usual, IN_PLACE_OF[usual]].find((name) => name !== undefined && fitsProduct(name, sizes));
  return PRODUCT_FORMS[fitting ?? "registers"];
}

function fitsProduct(name: ProductName | AttentionName, { epilogue }: ProductSizes): name is ProductName {
  return name in PRODUCT_FORMS && productFits(name as ProductName, epilogue, formLimits());
}

/** The form of an attention: the measured one, else the built-in one, else "runs", whichever runs here first. */
export function attentionForm(sizes: AttentionSizes): AttentionForm {
  const bucket = attentionBucket(sizes);
  seen.set(bucket, { family: "attention", bucket, sizes, times: 1 + (seen.get(bucket)?.times ?? 0) });
  const measured = table.get(bucket);
  if (measured !== undefined && fitsAttention(measured, sizes)) return ATTENTION_FORMS[measured];
  const usual = builtIn.attention(sizes);
  return ATTENTION_FORMS[fitsAttention(usual, sizes) ? usual : "runs"];
}

function fitsAttention(name: ProductName | AttentionName, sizes: AttentionSizes): name is AttentionName {
  return name in ATTENTION_FORMS && attentionFits(name as AttentionName, sizes, formLimits(), KEPT_SCORE_BYTES);
}
