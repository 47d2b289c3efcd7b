/**
 * The bytes of an ONNX model of one operator, so that onnxruntime-web can be measured without a converter. Only the
 * fields that such a model needs are written (field numbers: onnx.proto3 of ONNX 1.17).
 */

export interface OnnxOperator {
  readonly type: string;
  /** "" is ONNX' own; "com.microsoft" holds the runtime's additions. */
  readonly domain?: string;
  readonly ints?: Readonly<Record<string, number | readonly number[]>>;
  readonly floats?: Readonly<Record<string, number>>;
}

export interface OnnxInput {
  readonly shape: readonly number[];
  readonly dtype: "float32" | "int32";
}

const WIRE = { varint: 0, bytes: 2, float: 5 };
const TYPES = { float32: 1, int32: 6 };
const ATTRIBUTE = { float: 1, int: 2, ints: 7 };
const VERSIONS = { format: 10, own: 23, microsoft: 1 };

const utf8 = new TextEncoder();

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return bytes;
}

const number = (field: number, value: number): number[] => [...varint((field << 3) | WIRE.varint), ...varint(value)];

function message(field: number, content: readonly number[] | string): number[] {
  const bytes = typeof content === "string" ? [...utf8.encode(content)] : content;
  return [...varint((field << 3) | WIRE.bytes), ...varint(bytes.length), ...bytes];
}

function float(field: number, value: number): number[] {
  return [...varint((field << 3) | WIRE.float), ...new Uint8Array(new Float32Array([value]).buffer)];
}

function attributes({ ints = {}, floats = {} }: OnnxOperator): number[] {
  const whole = Object.entries(ints).map(([name, value]) =>
    typeof value === "number"
      ? [...message(1, name), ...number(3, value), ...number(20, ATTRIBUTE.int)]
      : [...message(1, name), ...value.flatMap((item) => number(8, item)), ...number(20, ATTRIBUTE.ints)],
  );
  const broken = Object.entries(floats).map(([name, value]) => [
    ...message(1, name),
    ...float(2, value),
    ...number(20, ATTRIBUTE.float),
  ]);
  return [...whole, ...broken].flatMap((attribute) => message(5, attribute));
}

/** A graph's input or output; without a shape the runtime infers it. */
function valueInfo(name: string, dtype: OnnxInput["dtype"], shape?: readonly number[]): number[] {
  const dims = shape?.flatMap((size) => message(1, number(1, size)));
  const tensor = [...number(1, TYPES[dtype]), ...(dims === undefined ? [] : message(2, dims))];
  return [...message(1, name), ...message(2, message(1, tensor))];
}

/** Names of the model's inputs and of its only output. */
export const inputName = (index: number): string => `x${index}`;
export const OUTPUT = "y";

/**
 * @param inputs in the operator's order; null for an optional one that is absent
 */
export function onnxModel(operator: OnnxOperator, inputs: readonly (OnnxInput | null)[]): Uint8Array<ArrayBuffer> {
  const names = inputs.map((input, i) => (input === null ? "" : inputName(i)));
  const node = [
    ...names.flatMap((name) => message(1, name)),
    ...message(2, OUTPUT),
    ...message(4, operator.type),
    ...attributes(operator),
    ...message(7, operator.domain ?? ""),
  ];
  const graph = [
    ...message(1, node),
    ...message(2, "bench"),
    ...inputs.flatMap((input, i) =>
      input === null ? [] : message(11, valueInfo(inputName(i), input.dtype, input.shape)),
    ),
    ...message(12, valueInfo(OUTPUT, "float32")),
  ];
  const version = (domain: string, value: number): number[] => message(8, [...message(1, domain), ...number(2, value)]);
  return Uint8Array.from([
    ...number(1, VERSIONS.format),
    ...message(7, graph),
    ...version("", VERSIONS.own),
    ...version("com.microsoft", VERSIONS.microsoft),
  ]);
}
