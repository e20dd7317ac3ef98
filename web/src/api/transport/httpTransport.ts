import { fileUrl } from "../routes";
import type { PutOptions, Transport, TransportRequest } from "./transport";

const kPiece = 1 << 20; // bytes: the server takes no larger body

export class HttpTransport implements Transport {
  readonly mostBytes = null;
  readonly first = null;

  send(url: string, { method, body, accept, signal }: TransportRequest): Promise<Response> {
    const headers: Record<string, string> = accept ? { Accept: accept } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(url, { signal, headers, ...(method === "GET" ? {} : { method }), ...(body ? { body } : {}) });
  }

  // In order: each piece begins where the last one ended.
  async putFile(folder: string, name: string, file: Blob, { signal, progress }: PutOptions = {}): Promise<void> {
    for (let offset = 0; offset === 0 || offset < file.size; offset += kPiece) {
      const body = file.slice(offset, offset + kPiece);
      const headers = { "Content-Type": "application/octet-stream" };
      const response = await fetch(fileUrl(folder, name, offset), { method: "PUT", headers, body, signal });
      if (!response.ok) throw new Error((await response.json().catch(() => null))?.error ?? response.statusText);
      progress?.(Math.min(file.size, offset + kPiece));
    }
  }

  // The server keeps files only until it has opened them.
  dropFolder(): void {
    return;
  }
}
