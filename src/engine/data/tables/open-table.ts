/** Opens files of rows of any container. */
import { isRecord, parseJson } from "../../bytes/json.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { LabError, quote } from "../../errors.ts";
import { openArrow } from "../arrow/arrow-table.ts";
import { openParquet } from "../parquet/table.ts";
import { unlessDamaged } from "../records/records.ts";
import { type Cell, type Column, type ColumnType, fieldsOf, itemOf, type Table } from "./table.ts";

// What columns mean beyond their stored type: extension types of Arrow (tensors of a shape, booleans of eight bits) and
// class labels in the features of the `datasets` library. Their cells are converted when they are read.

/** Converts a stored value that is not null. @throws LabError when the value cannot be what its column says */
type Convert = (cell: Cell) => Cell;

/** A type as it is meant; without `convert` the stored values are meant. */
interface Meant {
  readonly type: ColumnType;
  readonly convert?: Convert;
}

/**
 * Extension types whose stored values are what they mean: JSON as text, identifiers, and the arrays and pictures of the
 * `datasets` library, which are nested lists and structs.
 */
const AS_STORED = /^(arrow\.(json|uuid|parquet\.variant)|datasets\.)/;
/** Maximum dimensions and values of a tensor. */
const MOST_DIMENSIONS = 8;
const MOST_VALUES = 2 ** 27;

/** A table whose columns and cells are as its metadata means them. */
async function withMeanings(table: Table): Promise<Table> {
  const text = table.metadata?.get("huggingface");
  const known = text === undefined ? undefined : await unlessDamaged(async () => parseJson(text, "the features"));
  const info = isRecord(known) && isRecord(known.info) ? known.info.features : undefined;
  const features = isRecord(info) ? info : {};
  const meant = table.columns.map((column) => meaning(column, features[column.name]));
  if (meant.every(({ convert }) => convert === undefined)) return table;
  return {
    ...table,
    columns: table.columns.map((column, at) => ({ ...column, type: (meant[at] as Meant).type })),
    cell: async (column, row, pass) => {
      const cell = await table.cell(column, row, pass);
      return cell === null ? null : (meant[column]?.convert?.(cell) ?? cell);
    },
  };
}

/** The meaning of a column, by its extension type and the feature of its name. */
function meaning(column: Column, feature: unknown): Meant {
  const { type, extension } = column;
  if (extension !== undefined && !AS_STORED.test(extension.name)) return extended(column, extension);
  const labels = labelsOf(feature);
  if (labels !== undefined && type.kind === "int") {
    return { type: { kind: "text", layout: "small" }, convert: (cell) => labels[Number(cell)] ?? null };
  }
  const inner = isRecord(feature) && isRecord(feature.feature) ? feature.feature : undefined;
  if (type.kind === "struct") {
    // Older releases store a Sequence of a dictionary as a struct of lists.
    const of = (name: string): unknown =>
      inner === undefined ? (isRecord(feature) ? feature[name] : undefined) : { feature: inner[name] };
    const fields = type.fields.map((field) => ({ field, meant: meaning(field, of(field.name)) }));
    const changed = fields.filter(({ meant }) => meant.convert !== undefined);
    if (changed.length === 0) return { type };
    return {
      type: { ...type, fields: fields.map(({ field, meant }) => ({ ...field, type: meant.type })) },
      convert: (cell) => {
        const values = { ...(cell as Readonly<Record<string, Cell>>) };
        for (const { field, meant } of changed) values[field.name] = converted(values[field.name] ?? null, meant);
        return values;
      },
    };
  }
  if (type.kind === "list" || type.kind === "fixed-list") {
    const [first]: unknown[] = Array.isArray(feature) ? feature : [inner];
    const item = meaning(type.item, first);
    if (item.convert === undefined) return { type };
    return {
      type: { ...type, item: { ...type.item, type: item.type } },
      convert: (cell) => (cell as readonly Cell[]).map((one) => converted(one, item)),
    };
  }
  return { type };
}

function converted(cell: Cell, { convert }: Meant): Cell {
  return cell === null || convert === undefined ? cell : convert(cell);
}

/** Names of a class label. */
function labelsOf(feature: unknown): readonly string[] | undefined {
  if (!isRecord(feature) || feature._type !== "ClassLabel" || !Array.isArray(feature.names)) return undefined;
  return (feature.names as unknown[]).map(String);
}

function extended(column: Column, { name, metadata }: NonNullable<Column["extension"]>): Meant {
  const refused = (why: string): Meant => ({
    type: column.type,
    convert: () => {
      const what = `the column ${quote(column.name)} has the extension type ${quote(name)}`;
      throw new LabError("unsupported", `${what}, ${why}; store its values as plain lists`);
    },
  });
  const item = itemOf(column.type)?.type;
  switch (name) {
    case "arrow.bool8":
      return { type: { kind: "bool" }, convert: (cell) => Number(cell) !== 0 };
    // Ray writes only the shape.
    case "ray.data.arrow_tensor":
    case "ray.data.arrow_tensor_v2":
    case "arrow.fixed_shape_tensor": {
      const said = jsonOf(metadata);
      const { shape, permutation } = isRecord(said) ? said : { shape: said, permutation: undefined };
      const order = orderOf(permutation, shape);
      if (item === undefined || !isShape(shape)) return refused("whose shape cannot be read");
      if (order === undefined) return refused(`whose permutation ${quote(metadata)} has no single meaning`);
      const logical = order.map((axis) => shape[axis] as number);
      return { type: nested(item, logical), convert: (cell) => tensor(cell as readonly Cell[], shape, order) };
    }
    case "arrow.variable_shape_tensor":
    case "ray.data.arrow_variable_shaped_tensor": {
      const [data, shapes] = ["data", "shape"].map((one) => fieldsOf(column.type).find((field) => field.name === one));
      const of = itemOf(data?.type ?? column.type)?.type;
      if (of === undefined || shapes === undefined) return refused("whose parts are missing");
      const said = jsonOf(metadata);
      const permutation = isRecord(said) ? (said.permutation ?? undefined) : undefined;
      const dimensions =
        shapes.type.kind === "fixed-list" ? shapes.type.size : Number(isRecord(said) ? said.ndim : said);
      return {
        type: nested(of, Array.from({ length: dimensions >= 1 && dimensions <= MOST_DIMENSIONS ? dimensions : 2 })),
        convert: (cell) => {
          const parts = cell as Readonly<Record<string, Cell>>;
          const shape = Array.isArray(parts.shape) ? (parts.shape as readonly Cell[]).map(Number) : undefined;
          const order = orderOf(permutation, shape);
          if (!isShape(shape) || order === undefined || !Array.isArray(parts.data)) {
            throw new LabError("bad-input", `the tensor of the column ${quote(column.name)} has no readable shape`);
          }
          return tensor(parts.data as readonly Cell[], shape, order);
        },
      };
    }
    // Releases up to 2.14 of `datasets` name their types in a pickle.
    case "arrow.py_extension_type":
      if (metadata.includes("datasets.features")) return { type: column.type };
      return refused("whose meaning is code of a Python program");
    default:
      return refused("whose meaning is unknown");
  }
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text, "the shape");
  } catch (thrown) {
    if (thrown instanceof LabError) return undefined;
    throw thrown;
  }
}

function isShape(shape: unknown): shape is readonly number[] {
  if (!Array.isArray(shape) || shape.length < 1 || shape.length > MOST_DIMENSIONS) return false;
  const sides = shape as unknown[];
  if (!sides.every((side) => Number.isSafeInteger(side) && Number(side) >= 0)) return false;
  return sides.reduce<number>((product, side) => product * Number(side), 1) <= MOST_VALUES;
}

/**
 * The stored axis of each axis that is meant. Undefined for a permutation that is not its own inverse: the format counts
 * one way, pyarrow's writer the other, and no reader can tell them apart.
 */
function orderOf(permutation: unknown, shape: unknown): readonly number[] | undefined {
  const axes = Array.isArray(shape) ? [...shape.keys()] : [];
  if (permutation === undefined || permutation === null) return axes;
  if (!Array.isArray(permutation) || permutation.length !== axes.length) return undefined;
  const order = (permutation as unknown[]).map(Number);
  return axes.every((axis) => order[order[axis] as number] === axis) ? order : undefined;
}

/** Lists of lists of these lengths; of any length where none is known. */
function nested(item: ColumnType, lengths: readonly (number | undefined)[]): ColumnType {
  return lengths.reduceRight<ColumnType>((type, size) => {
    const inner: Column = { name: "item", type, nullable: true };
    return size === undefined
      ? { kind: "list", item: inner, layout: "small" }
      : { kind: "fixed-list", item: inner, size };
  }, item);
}

/** Stored values in C order over `shape` as lists of lists in the order of the axes that is meant. */
function tensor(values: readonly Cell[], shape: readonly number[], order: readonly number[]): Cell {
  const size = shape.reduce((product, side) => product * side, 1);
  if (values.length !== size) {
    throw new LabError("bad-input", `a tensor has ${values.length} values, not ${shape.join(" x ")} = ${size}`);
  }
  const steps = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, side) => product * side, 1));
  const part = (depth: number, from: number): Cell => {
    const axis = order[depth];
    if (axis === undefined) return values[from] ?? null;
    const step = steps[axis] as number;
    return Array.from({ length: shape[axis] as number }, (_, at) => part(depth + 1, from + at * step));
  };
  return part(0, 0);
}

/**
 * Opens a file of rows, Arrow or Parquet by its first bytes, without loading it.
 * @throws LabError("bad-input") for an unsupported format; LabError("cancelled") when the signal aborts
 */
export async function openTable(source: ByteSource, signal?: AbortSignal): Promise<Table> {
  const magic = String.fromCharCode(...(await source.read(0, Math.min(4, source.size))));
  const stored = magic === "PAR1" || magic === "PARE" ? await openParquet(source) : await openArrow(source, signal);
  return withMeanings(stored);
}
