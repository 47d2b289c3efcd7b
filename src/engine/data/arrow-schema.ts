import { DataType, type Dictionary, type Field, Message, type Schema } from "apache-arrow";
import { Footer } from "apache-arrow/ipc/metadata/file";
import { checkType } from "./arrow-types.ts";
import { type FlatReader, flatReader } from "./flatbuffer.ts";

/** Fields a schema may have, children included: far beyond any data set, small enough to walk. */
const MAX_FIELDS = 20_000;
const MAX_DEPTH = 32;

/** A decoded schema and whether its values are stored in the unusual byte order. */
export interface DecodedSchema {
  readonly schema: Schema;
  readonly bigEndian: boolean;
}

/** Schema of a schema message. @throws when the metadata is damaged or of a type not known to the library */
export function decodeSchema(metadata: Uint8Array): DecodedSchema {
  const flat = flatReader(metadata);
  const bigEndian = walk(flat, flat.reference(flat.root(), 2));
  const message = Message.decode(metadata) as Message;
  if (!message.isSchema()) throw new Error("not a schema message");
  return checked(message.header(), bigEndian);
}

/** Schema and positions of all messages, dictionaries first, of a file's footer. @throws when it is damaged */
export function decodeFooter(bytes: Uint8Array): DecodedSchema & { readonly positions: number[] } {
  const flat = flatReader(bytes);
  const root = flat.root();
  const bigEndian = walk(flat, flat.reference(root, 1));
  // Blocks are structs of 24 bytes: offset, metadata length, body length.
  const positions = [flat.vector(root, 2, 24), flat.vector(root, 3, 24)].flatMap(({ start, length }) =>
    Array.from({ length }, (_, at) => Number(flat.view.getBigInt64(start + 24 * at, true))),
  );
  return { ...checked(Footer.decode(bytes).schema, bigEndian), positions };
}

function checked(schema: Schema, bigEndian: boolean): DecodedSchema {
  for (const field of schema.fields) checkType(field.type);
  nameAll(schema.fields);
  return { schema, bigEndian };
}

/** The format lets fields be without a name, and the library then hands out null where it promises a text. */
function nameAll(fields: readonly Field[]): void {
  for (const field of fields) {
    if ((field.name as string | null) === null) Object.assign(field, { name: "" });
    const { type } = field;
    nameAll((DataType.isDictionary(type) ? (type as Dictionary).dictionary : type).children ?? []);
  }
}

/**
 * Walks a Schema table within its bounds, so that the library's own decoder, which trusts lengths, can be let at it.
 * @returns whether the byte order (field 0, which the library drops) is the unusual one
 */
function walk(flat: FlatReader, schema: number): boolean {
  if (schema === 0) throw new Error("there is no schema");
  let left = MAX_FIELDS;
  /** Field tables hold name 0, dictionary 4, children 5, metadata 6; key-value tables two strings. */
  const fields = (table: number, index: number, depth: number): void => {
    const { start, length } = flat.vector(table, index, 4);
    left -= length;
    if (left < 0 || depth > MAX_DEPTH) throw new RangeError("the schema has too many fields");
    for (let at = start; at < start + 4 * length; at += 4) {
      const field = at + flat.view.getUint32(at, true);
      flat.vector(field, 0, 1);
      fields(field, 5, depth + 1);
      pairs(field, 6);
    }
  };
  const pairs = (table: number, index: number): void => {
    const { start, length } = flat.vector(table, index, 4);
    for (let at = start; at < start + 4 * length; at += 4) {
      const pair = at + flat.view.getUint32(at, true);
      flat.vector(pair, 0, 1);
      flat.vector(pair, 1, 1);
    }
  };
  fields(schema, 1, 0);
  pairs(schema, 2);
  const order = flat.field(schema, 0);
  return order !== 0 && flat.view.getInt16(order, true) === 1;
}
