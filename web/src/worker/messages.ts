// Messages between the page and its Worker. The Worker handles one request at a time, in order.
import type { AnswerHead, HostRequest, StartOptions } from "./host";
import type { VirtualFile } from "./files";

export type ToWorker =
  | { type: "start"; module: WebAssembly.Module; files: VirtualFile[]; options: StartOptions }
  | { type: "files"; files: VirtualFile[] } // more of them
  | { type: "request"; id: number; request: HostRequest; body: string };

export type FromWorker =
  | { type: "started" }
  | { type: "event"; id: number; name: string; json: string }
  // A long body comes in parts; the head comes with the first of them, or with the end.
  | { type: "part"; id: number; head: AnswerHead | null; bytes: Uint8Array<ArrayBuffer> }
  | { type: "end"; id: number; head: AnswerHead | null; bytes: Uint8Array<ArrayBuffer> }
  // The instance is of no use any more. Null: it could not be started.
  | { type: "crashed"; id: number | null; outOfMemory: boolean; message: string }
  | { type: "fetched"; path: string; content: Blob }; // a file that was a URL
