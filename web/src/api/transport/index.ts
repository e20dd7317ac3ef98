import { HttpTransport } from "./httpTransport";
import type { Transport } from "./transport";
import { workerTransport, type WorkerTransport } from "./workerTransport";

export const transport: Transport = __APP__ === "file" || __APP__ === "site" ? workerTransport() : new HttpTransport();

// Starts the Worker of a page that has one; rejects with a StartError.
export const startTransport = (): Promise<void> => (transport as WorkerTransport).start();
