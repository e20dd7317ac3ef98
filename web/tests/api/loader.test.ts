import { describe, expect, test, vi } from "vitest";
import { Loader } from "../../src/api/sources/loader";

describe("the loader", () => {
  const later = () => new Promise((done) => setTimeout(done, 5));

  test("requests once, reports the arrival and keeps the value", async () => {
    const changed = vi.fn();
    const load = vi.fn(async () => new Uint8Array(3));
    const loader = new Loader(changed, () => {});
    expect(loader.get("a", load)).toBeUndefined();
    expect(loader.get("a", load)).toBeUndefined();
    await later();
    expect(loader.get("a", load)).toHaveLength(3);
    expect(load).toHaveBeenCalledTimes(1);
    expect(changed).toHaveBeenCalledTimes(1);
  });

  test("evicts the least recently used entry", async () => {
    const loader = new Loader(
      () => {},
      () => {},
      250,
    );
    for (const key of ["a", "b"]) loader.get(key, async () => new Uint8Array(100));
    await later();
    loader.peek("a");
    loader.get("c", async () => new Uint8Array(100));
    await later();
    expect([loader.peek("a"), loader.peek("b"), loader.peek("c")].map((v) => v !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("aborts unwanted requests without reporting a failure", async () => {
    const failed = vi.fn();
    const loader = new Loader(() => {}, failed, 1000, 1);
    const asked: string[] = [];
    const load = (key: string) => (signal: AbortSignal) =>
      new Promise<Uint8Array>((_, no) => {
        asked.push(key);
        signal.addEventListener("abort", () => no(new Error("aborted")));
      });
    loader.get("tile/a", load("a"));
    await later();
    loader.get("tile/b", load("b"));
    loader.keepOnly("tile/", new Set());
    await later();
    expect(asked).toEqual(["a"]);
    expect(loader.waiting).toBe(false);
    expect(failed).not.toHaveBeenCalled();
  });

  test("reports a failure once and does not request again", async () => {
    const failed = vi.fn();
    const load = vi.fn(async () => Promise.reject(new Error("no")));
    const loader = new Loader(() => {}, failed);
    loader.get("a", load);
    await later();
    loader.get("a", load);
    await later();
    expect(failed).toHaveBeenCalledTimes(1);
    expect(load).toHaveBeenCalledTimes(1);
  });
});
