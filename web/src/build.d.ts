// True in the single-file page, which leaves out all that needs a server.
declare const __OFFLINE__: boolean;
// What is built: the page of a server, the export without any, or a page that runs attnscope.wasm in a Worker, as one
// file or as the files of a site.
declare const __APP__: "served" | "offline" | "file" | "site";

declare module "virtual:worker" {
  // Starts worker/worker.ts.
  const PageWorker: new () => Worker;
  export default PageWorker;
}
