import { expect } from "@playwright/test";
import { differences } from "../differences";
import { hasWorker } from "./program";

// Equal to what the program says; from the module, equal but for rounding.
export function expectSame(received: unknown, expected: unknown): void {
  if (hasWorker()) expect(differences(received, expected)).toEqual([]);
  else expect(received).toEqual(expected);
}
