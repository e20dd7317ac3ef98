// What the page compares: A is what is looked at, B is read here; the view and its panel share it.
import { app } from "./app.svelte";
import { follow, type Progress, Refused } from "../api/ask";
import { onceAFrame } from "../draw/canvas";
import { alone, ComparedSource, type Comparison, compareUrl, partners } from "../api/compare";
import { type Facts, type Kind, keysOf, stackOf, type Token } from "../api/facts";
import { Numbers } from "../api/sources/numbers";
import { make, type Origin } from "../api/origin";
import { ServedSource } from "../api/sources/served";
import type { Source } from "../api/sources/source";

// Tokens of both sides of one kind of attention.
export interface Sides {
  queries: { a: Token[]; b: Token[]; partner: Int32Array; alone: Set<number> };
  keys: { a: Token[]; b: Token[]; partner: Int32Array; alone: Set<number> };
}

export interface Compared {
  comparison: Comparison;
  a: Source;
  b: ServedSource;
  words: boolean;
  differences: Numbers;
  ofA: Numbers;
  ofB: Numbers;
  largest: Map<Kind, Promise<Uint8Array>>; // a byte for each head: how far from the middle it goes
}

const kRetry = 5000; // ms: what was let go is read again, but not for ever

class Comparing {
  found = $state.raw<Compared | null>(null);
  problem = $state<string | null>(null);
  stopped = $state(false);
  busy = $state<"" | "read" | "compare">("");
  progress = $state.raw<Progress | null>(null);
  arrived = $state(0);

  private turn = new AbortController();
  private retried = 0;
  private readonly came = onceAFrame(() => ++this.arrived);

  // Starts anew; what was found before stays until then, unless it was of another A.
  async look(a: Source, origin: Origin | null, words: boolean): Promise<void> {
    this.turn.abort();
    const turn = (this.turn = new AbortController());
    this.problem = null;
    this.stopped = false;
    this.busy = "";
    if (!origin || (this.found && this.found.a !== a)) this.found = null;
    if (!origin) return;
    try {
      const found = await this.read(a, origin, words, turn.signal);
      if (this.turn === turn) this.take(found);
    } catch (problem) {
      if (this.turn === turn && !turn.signal.aborted) this.fail(problem as Error);
    }
    if (this.turn !== turn) return;
    this.busy = "";
    this.progress = null;
  }

  surprise = false; // the reader has chosen no head yet: the most changed one is shown

  private take(found: Compared): void {
    const [most] = found.comparison.heads;
    if (this.surprise && most) app.go({ kind: most.kind, layer: most.layer, head: most.head });
    this.surprise = false;
    this.found = found;
  }

  stop(): void {
    this.turn.abort();
    this.turn = new AbortController();
    this.busy = "";
    this.progress = null;
    this.stopped = true;
  }

  leave(): void {
    this.turn.abort();
    this.busy = "";
  }

  sides(kind: Kind): Sides | null {
    if (!this.found) return null;
    const { comparison, a, b } = this.found;
    const stack = comparison.stacks.find((each) => each.kind === kind);
    if (!stack) return null;
    const [ofA, ofB] = [stackOf(a.facts, kind), stackOf(b.facts, kind)];
    const queries = partners(stack.query_pairs, ofA.queries);
    const keys = partners(stack.key_pairs, ofA.keys);
    return {
      queries: { a: ofA.query_tokens, b: ofB.query_tokens, partner: queries, alone: alone(queries) },
      keys: { a: keysOf(ofA), b: keysOf(ofB), partner: keys, alone: alone(keys) },
    };
  }

  private async read(a: Source, origin: Origin, words: boolean, signal: AbortSignal): Promise<Compared> {
    const on = { progress: (progress: Progress) => !signal.aborted && (this.progress = progress) };
    this.progress = null;
    this.busy = "read";
    const id = await make(origin, signal, on);
    const b = await ServedSource.open(id, words, signal, on);
    this.busy = "compare";
    const comparison = await follow<Comparison>(compareUrl(a.facts.id, id, words), { signal, on });
    const numbers = (source: Source) => new Numbers(source, this.came, (problem) => this.fail(problem));
    const differences = new ComparedSource(a.facts, { a: a.facts.id, b: id, words });
    return {
      comparison,
      a,
      b,
      words,
      differences: numbers(differences),
      ofA: numbers(a),
      ofB: numbers(b),
      largest: new Map(),
    };
  }

  // Thumbnails hold the largest differences: they know how far the colours have to reach before any tile has come.
  largest(found: Compared, kind: Kind): Promise<Uint8Array> {
    let bytes = found.largest.get(kind);
    if (!bytes) {
      bytes = found.differences.source.thumbnails(kind).then((all) => reaches(all, found.a.facts, kind));
      found.largest.set(kind, bytes);
      bytes.catch(() => found.largest.delete(kind));
    }
    return bytes;
  }

  private fail(problem: Error): void {
    if (problem instanceof Refused && problem.status === 404 && Date.now() - this.retried > kRetry) {
      this.retried = Date.now();
      void app.open();
    } else if (problem instanceof Refused) this.problem = problem.message;
    else app.fail(problem);
  }
}

function reaches(bytes: Uint8Array, facts: Facts, kind: Kind): Uint8Array {
  const { layers, heads } = stackOf(facts, kind);
  const size = bytes.length / (layers * heads);
  return Uint8Array.from({ length: layers * heads }, (_, head) =>
    bytes
      .subarray(head * size, (head + 1) * size)
      .reduce((most, b) => (b ? Math.max(most, Math.abs(b - 128)) : most), 0),
  );
}

export const comparing = new Comparing();
