// Whether this browser can run a page without a server.
import type { Surroundings } from "../../i18n/surroundings";

// (module (func (result v128) (i32x4.splat (i32.const 0))))
const kSimdModule = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 17, 11,
]);

// (module (func (try (do) (catch_all)))), in the form of exceptions that the module has
const kExceptionModule = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 6, 64, 25, 11, 11,
]);

// What is missing. Null: nothing that can be known before the Worker has been started.
export function missingFeature(): Surroundings | null {
  if (
    typeof WebAssembly !== "object" ||
    ![kSimdModule, kExceptionModule].every((module) => WebAssembly.validate(module))
  )
    return "noWebAssembly";
  if (typeof DecompressionStream === "undefined") return "noDecompression";
  if (typeof Worker === "undefined") return "noWorker";
  return null;
}
