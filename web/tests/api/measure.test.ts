import { describe, expect, test, vi } from "vitest";
import type { Facts } from "../../src/api/facts";
import { unavailableReason, availableMeasure } from "../../src/api/measure";
import { ServedSource } from "../../src/api/sources/served";
import { SourceCache } from "../../src/api/sources/sourceCache";
import { FakeRecording } from "../fakeRecording";

const made = new FakeRecording("1", { name: "made-up", layers: 2, heads: 3, text: "The cat , it 's here ." });

const facts: Facts = { ...made.facts(), measures: ["raw", "value", "rollout"] };

describe("measures", () => {
  test("unavailable ones have a reason, and weights are shown instead", () => {
    const [stack] = facts.stacks;
    expect(unavailableReason("rollout", facts, stack)).toBe("");
    expect(unavailableReason("rollout", facts, { ...stack, kind: "cross" })).toBe("self");
    expect(unavailableReason("rollout", { ...facts, measures: ["raw"] }, { ...stack, queries: 600 })).toBe("long");
    expect(unavailableReason("value", { ...facts, measures: ["raw"] }, stack)).toBe("recorded");
    expect(unavailableReason("raw", { ...facts, measures: undefined }, stack)).toBe("");
    expect(availableMeasure("value", { ...facts, measures: ["raw"] }, stack)).toBe("raw");
  });

  test("requests name the measure, and tiles keep the scale of their bytes", async () => {
    const asked: string[] = [];
    const answer = (url: string) => {
      asked.push(url);
      if (/tile/.test(url))
        return new Response(new Uint8Array(4), { headers: { "X-Shape": "2,2", "X-Scale": "3.25" } });
      if (/row|column/.test(url)) return new Response(new Float32Array(3));
      if (/profile/.test(url)) return Response.json({ download: [], entropy: [] });
      return Response.json(facts);
    };
    vi.stubGlobal("fetch", async (url: string) => answer(url));
    const whole = await ServedSource.open("1", false);
    const shelf = new SourceCache(
      () => undefined,
      () => undefined,
    );
    expect(shelf.withMeasure(whole, "raw", false)).toBe(whole);
    const value = shelf.withMeasure(whole, "value", false);
    expect(shelf.withMeasure(whole, "value", false)).toBe(value);
    const head = { kind: "self" as const, layer: 1, head: 2 };
    expect((await value.tile(head, { level: 0, row: 0, column: 0 })).scale).toBe(3.25);
    await value.row(head, 1);
    const withoutSinks = shelf.withMeasure(whole, "raw", true);
    await Promise.all([withoutSinks.column(head, 1), withoutSinks.profile(head)]);
    expect(asked.slice(2)).toEqual([
      "api/recordings/1/tile?kind=self&layer=1&head=2&level=0&row=0&column=0&measure=value",
      "api/recordings/1/row?kind=self&layer=1&head=2&row=1&measure=value",
      "api/recordings/1/column?kind=self&layer=1&head=2&column=1&without_sinks=1",
      "api/recordings/1/profile?kind=self&layer=1&head=2&without_sinks=1",
    ]);
  });
});
