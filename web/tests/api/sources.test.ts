import { describe, expect, test } from "vitest";
import { WithoutSinksSource } from "../../src/api/sources/withoutSinks";
import { EmbeddedSource, unpack } from "../../src/api/sources/embedded";
import type { HeadName } from "../../src/api/facts";
import { kWeightOfByte, byteOfWeight } from "../../src/api/sources/source";
import { FakeRecording } from "../fakeRecording";

const kText = Array.from({ length: 300 }, (_, i) => `w${i % 37}`).join(" ");
const short = new FakeRecording("1", { name: "short", layers: 2, heads: 2, text: "the cat sat , the cat ran ." });
const long = new FakeRecording("2", { name: "long", layers: 1, heads: 2, text: kText });
const kHead: HeadName = { kind: "self", layer: 0, head: 1 };

const opened = async (recording: FakeRecording, bits: 8 | 16) =>
  new EmbeddedSource(await unpack(recording.embedded(bits)));

describe("bytes", () => {
  test("are the nearest values on the square-root scale", () => {
    for (let b = 0; b < 256; ++b) expect(byteOfWeight(kWeightOfByte[b])).toBe(b);
    expect(byteOfWeight(1.0000002)).toBe(255);
  });
});

describe("data inside the page", () => {
  test("has an error of at most 7e-5 with 16 bits and 0.5 % with 8 bits", async () => {
    for (const [bits, error] of [
      [16, 2e-5],
      [8, 0.004],
    ] as const) {
      const source = await opened(short, bits);
      expect(source.exact).toBe(bits === 16);
      for (let i = 0; i < short.size; ++i) {
        const row = await source.row({ ...kHead, layer: 1 }, i);
        row.forEach((w, j) => expect(Math.abs(w - short.weight(1, 1, i, j))).toBeLessThan(error));
      }
    }
  });

  test("has columns that match its rows", async () => {
    const source = await opened(short, 16);
    const column = await source.column(kHead, 3);
    for (let i = 0; i < short.size; ++i) expect(column[i]).toBe((await source.row(kHead, i))[3]);
  });

  test.each([8, 16] as const)("has the server's tiles on every level (%i bits)", async (bits) => {
    const source = await opened(long, bits);
    for (const [level, row, column] of [
      [0, 0, 0],
      [0, 1, 0],
      [0, 1, 1],
      [1, 0, 0],
      [2, 0, 0],
    ]) {
      const tile = await source.tile(kHead, { level, row, column });
      const wanted = long.tile(0, 1, level, row, column);
      expect([tile.rows, tile.columns]).toEqual([wanted.rows, wanted.columns]);
      const off = tile.bytes.reduce((most, b, i) => Math.max(most, Math.abs(b - wanted.bytes[i])), 0);
      expect(off).toBeLessThanOrEqual(bits === 8 ? 0 : 1); // rounded twice
    }
  });

  test("has a profile that matches rows and columns", async () => {
    const { received, entropy } = await (await opened(short, 16)).profile(kHead);
    const wanted = short.profile(0, 1);
    wanted.received.forEach((sum, j) => expect(received![j]).toBeCloseTo(sum, 3));
    wanted.entropy.forEach((nats, i) => expect(entropy[i]).toBeCloseTo(nats, 3));
  });

  test("reports a head whose table was left out", async () => {
    const source = new EmbeddedSource(await unpack(short.embedded(8, (_, layer) => layer === 1)));
    expect(source.has(kHead)).toBe(false);
    expect(source.has({ ...kHead, layer: 1 })).toBe(true);
    await expect(source.row(kHead, 0)).rejects.toThrow("left out");
    expect(await source.thumbnails("self")).toEqual(short.thumbnails());
  });
});

// Straight from the definition.
function without(weights: number[], sinks: number[]): number[] {
  const rest = weights.map((w, j) => (sinks.includes(j) ? 0 : w));
  const sum = rest.reduce((a, b) => a + b, 0);
  return rest.map((w) => w / sum);
}

describe("without sinks", () => {
  const sinks = [0, short.size - 1];

  test("rows have no sink and sum to 1", async () => {
    const source = new WithoutSinksSource(await opened(short, 16));
    for (let i = 0; i < short.size; ++i) {
      const row = await source.row(kHead, i);
      const wanted = without(
        Array.from({ length: short.size }, (_, j) => short.weight(0, 1, i, j)),
        sinks,
      );
      row.forEach((w, j) => expect(w).toBeCloseTo(wanted[j], 3));
      expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 3);
    }
  });

  test("columns match the rows", async () => {
    const source = new WithoutSinksSource(await opened(short, 16));
    for (const j of [0, 3]) {
      const column = await source.column(kHead, j);
      for (let i = 0; i < short.size; ++i) expect(column[i]).toBeCloseTo((await source.row(kHead, i))[j], 6);
    }
  });

  test("the entropy of a row is that of its other weights", async () => {
    const source = new WithoutSinksSource(await opened(short, 16));
    const { entropy } = await source.profile(kHead);
    for (let i = 0; i < short.size; ++i) {
      const nats = (await source.row(kHead, i)).reduce((sum, w) => sum - (w > 0 ? w * Math.log(w) : 0), 0);
      expect(entropy[i]).toBeCloseTo(nats, 3);
    }
  });

  test("coarser tiles hold maxima of renormalised cells", async () => {
    const source = new WithoutSinksSource(await opened(long, 16));
    const tile = await source.tile(kHead, { level: 1, row: 0, column: 0 });
    expect([tile.rows, tile.columns]).toEqual([151, 151]);
    for (const [r, c] of [
      [0, 0],
      [10, 10],
      [75, 74],
      [150, 150],
    ]) {
      let most = 0;
      for (const i of [2 * r, 2 * r + 1]) {
        const row = await source.row(kHead, Math.min(i, long.size - 1));
        most = Math.max(most, row[2 * c] ?? 0, row[2 * c + 1] ?? 0);
      }
      expect(Math.abs(tile.bytes[r * tile.columns + c] - byteOfWeight(most))).toBeLessThanOrEqual(2);
    }
  });
});
