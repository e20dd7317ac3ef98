// How requests reach attnscope: over HTTP, or in a Worker of the page. Callers do not know which.
import type { RecordRequest } from "../recordRequest";

export interface TransportRequest {
  method: string;
  body?: string; // JSON
  accept?: string;
  signal?: AbortSignal;
}

export interface PutOptions {
  signal?: AbortSignal;
  progress?: (bytes: number) => void; // so far
}

export interface Transport {
  // Like fetch(): rejects if there is nobody who answers, or if the request is aborted.
  send(url: string, request: TransportRequest): Promise<Response>;
  // Puts a file of the user's into a folder, where POST api/files/FOLDER/open finds it.
  putFile(folder: string, name: string, file: Blob, options?: PutOptions): Promise<void>;
  // Forgets the files of a folder.
  dropFolder(folder: string): void;
  // The most that the weights of a model may take. Null: as much as the server's machine has.
  readonly mostBytes: number | null;
  // What is shown if the address names nothing. Null: what the server was started with.
  readonly first: RecordRequest | null;
}

// By the build, so that a page has no code of the other one.
export const kHasWorker: boolean = __APP__ === "file" || __APP__ === "site";
