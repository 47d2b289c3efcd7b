/** Modules of the bench's page that TypeScript does not find: Vite's address of a copied file, and a package that is installed later. */
declare module "*.wasm?url" {
  const url: string;
  export default url;
}

declare module "onnxruntime-web/webgpu" {
  const library: import("../baselines/ort.ts").OrtLibrary;
  export = library;
}
