declare module "lz4js" {
  /** Decodes an LZ4 frame; `maxSize` is the size of the result when it is known. */
  export function decompress(source: Uint8Array, maxSize?: number): Uint8Array;
}
