import {
  Binary,
  Field,
  Int64,
  List,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import type { Rle } from "../../../src/engine/data/mask/rle.ts";

/** A row to write; `null` is a missing value, which readers must handle. */
export interface ShardRow {
  readonly image: ShardPicture | null;
  /** Replaces the picture with `layout: "clip"`. */
  readonly frames?: readonly ShardPicture[];
  /** One mask; with `layout: "relation"` a list of masks; with "clip" one per frame. */
  readonly mask: Rle | readonly (Rle | null)[] | null;
  readonly conversations: readonly { readonly from: string; readonly value: string }[] | null;
  readonly category?: readonly string[] | null;
}

export interface ShardPicture {
  readonly bytes: Uint8Array | null;
  readonly path: string | null;
}

type ShardLayout = "fine-grained" | "relation" | "clip";

export interface ShardOptions {
  /** "fine-grained": one mask per row (struct); "relation": a list of masks; "clip": a list of frames, one mask each. */
  readonly layout?: ShardLayout;
  /** Rows per record batch; 100 is what current `datasets` releases write for pictures. */
  readonly batchRows?: number;
}

/**
 * Rows as an Arrow IPC stream of the kind `datasets` writes with save_to_disk: columns image (frames of clips), mask_rle, conversations
 * and catagory (spelled as in GAR), `huggingface` schema metadata, no compression.
 */
export function writeRegionShard(rows: readonly ShardRow[], options: ShardOptions = {}): Uint8Array<ArrayBuffer> {
  const { layout = "fine-grained", batchRows = 100 } = options;
  const text = new Utf8();
  const picture = new Struct([new Field("bytes", new Binary(), true), new Field("path", text, true)]);
  const image = layout === "clip" ? new List(new Field("item", picture, true)) : picture;
  const name = layout === "clip" ? "frames" : "image";
  const one = new Struct([
    new Field("counts", text, true),
    new Field("size", new List(new Field("item", new Int64(), true)), true),
  ]);
  const mask = layout !== "fine-grained" ? new List(new Field("item", one, true)) : one;
  const turn = new Struct([new Field("from", text, true), new Field("value", text, true)]);
  const turns = new List(new Field("item", turn, true));
  const labels = new List(new Field("item", text, true));
  const metadata = new Map([["huggingface", JSON.stringify({ info: { features: features(layout) } })]]);
  const fields = [
    new Field(name, image, true),
    new Field("mask_rle", mask, true),
    new Field("conversations", turns, true),
    new Field("catagory", labels, true),
  ];
  const schema = new Schema(fields, metadata);
  const plain = (rle: Rle): object => ({ counts: rle.counts, size: rle.size.map(BigInt) });
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (let first = 0; first < rows.length; first += batchRows) {
    const slice = rows.slice(first, first + batchRows);
    const table = new Table({
      [name]: vectorFromArray(
        slice.map((row) => (layout === "clip" ? row.frames : row.image)),
        image as Struct,
      ),
      mask_rle: vectorFromArray(
        slice.map((row) =>
          row.mask === null ? null : isList(row.mask) ? row.mask.map((one) => one && plain(one)) : plain(row.mask),
        ),
        mask as Struct,
      ),
      conversations: vectorFromArray(
        slice.map((row) => row.conversations),
        turns,
      ),
      catagory: vectorFromArray(
        slice.map((row) => row.category ?? null),
        labels,
      ),
    });
    for (const batch of table.batches) writer.write(new RecordBatch(schema, batch.data) as never);
  }
  writer.finish();
  return writer.toUint8Array(true).slice() as Uint8Array<ArrayBuffer>;
}

/** Text of state.json for shards in order. @param fingerprint 16 hexadecimal digits that name this state of the data */
export function stateJson(shards: readonly string[], fingerprint: string): string {
  const state = {
    _data_files: shards.map((filename) => ({ filename })),
    _fingerprint: fingerprint,
    _format_columns: null,
    _format_kwargs: {},
    _format_type: null,
    _output_all_columns: false,
    _split: "train",
  };
  return JSON.stringify(state, null, 2);
}

/** Text of dataset_info.json for the columns of writeRegionShard. */
export function datasetInfoJson(
  options: { layout?: ShardLayout; description?: string; license?: string } = {},
): string {
  const { layout = "fine-grained", description = "", license = "" } = options;
  return JSON.stringify({ citation: "", description, features: features(layout), homepage: "", license }, null, 2);
}

/** Name of a shard as save_to_disk gives it: data-00000-of-00003.arrow. */
export function shardName(index: number, count: number): string {
  const digits = (n: number): string => String(n).padStart(5, "0");
  return `data-${digits(index)}-of-${digits(count)}.arrow`;
}

/** Feature description in the encoding of releases up to 3.x, which later releases read too. */
function features(layout: ShardLayout): Record<string, unknown> {
  const value = (dtype: string): object => ({ dtype, _type: "Value" });
  const sequence = (dtype: string): object => ({ feature: value(dtype), _type: "Sequence" });
  const mask = { counts: value("string"), size: sequence("int64") };
  return {
    ...(layout === "clip" ? { frames: [{ _type: "Image" }] } : { image: { _type: "Image" } }),
    mask_rle: layout === "fine-grained" ? mask : [mask],
    conversations: [{ from: value("string"), value: value("string") }],
    catagory: sequence("string"),
  };
}

function isList(mask: Rle | readonly (Rle | null)[]): mask is readonly (Rle | null)[] {
  return Array.isArray(mask);
}
