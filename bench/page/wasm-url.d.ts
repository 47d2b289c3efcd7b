/** Vite's address of a file that is copied beside the page. */
declare module "*.wasm?url" {
  const url: string;
  export default url;
}
