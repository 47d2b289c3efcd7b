declare module "@jitl/quickjs-wasmfile-release-sync/wasm?url" {
  /** Address of the interpreter's binary, emitted by the bundler. */
  const address: string;
  export default address;
}
