// State of the compare view and its panel: A is the current recording, B is loaded here.
import { app } from "./app.svelte";
import { requestStream, type Progress, HttpError } from "../api/http";
import { oncePerFrame } from "../draw/canvas";
import { unpaired, type Comparison, partnerIndices } from "../api/comparison";
import { type Facts, type Kind, keysOf, stackOf, type Token } from "../api/facts";
import { LazySource } from "../api/sources/lazySource";
import { requestRecording, type RecordRequest } from "../api/recordRequest";
import { compareUrl } from "../api/routes";
import { DifferenceSource } from "../api/sources/difference";
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
  differences: LazySource;
  ofA: LazySource;
  ofB: LazySource;
  largest: Map<Kind, Promise<Uint8Array>>; // per head: the largest distance of a byte from the middle
}

const kRetry = 5000; // ms between attempts to reload a dropped recording

class Comparing {
  result = $state.raw<Compared | null>(null);
  problem = $state<string | null>(null);
  stopped = $state(false);
  busy = $state<"" | "read" | "compare">("");
  progress = $state.raw<Progress | null>(null);
  loadCount = $state(0);

  private turn = new AbortController();
  private retried = 0;
  private readonly countLoad = oncePerFrame(() => ++this.loadCount);

  // Starts a comparison; the last result stays until then, unless A changed.
  async start(a: Source, request: RecordRequest | null, words: boolean): Promise<void> {
    this.turn.abort();
    const turn = (this.turn = new AbortController());
    this.problem = null;
    this.stopped = false;
    this.busy = "";
    if (!request || (this.result && this.result.a !== a)) this.result = null;
    if (!request) return;
    try {
      const found = await this.load(a, request, words, turn.signal);
      if (this.turn === turn) this.show(found);
    } catch (problem) {
      if (this.turn === turn && !turn.signal.aborted) this.fail(problem as Error);
    }
    if (this.turn !== turn) return;
    this.busy = "";
    this.progress = null;
  }

  showMostChanged = false; // no head chosen yet: show the most changed one

  private show(found: Compared): void {
    const [most] = found.comparison.heads;
    if (this.showMostChanged && most) app.navigate({ kind: most.kind, layer: most.layer, head: most.head });
    this.showMostChanged = false;
    this.result = found;
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
    if (!this.result) return null;
    const { comparison, a, b } = this.result;
    const stack = comparison.stacks.find((each) => each.kind === kind);
    if (!stack) return null;
    const [ofA, ofB] = [stackOf(a.facts, kind), stackOf(b.facts, kind)];
    const queries = partnerIndices(stack.query_pairs, ofA.queries);
    const keys = partnerIndices(stack.key_pairs, ofA.keys);
    return {
      queries: { a: ofA.query_tokens, b: ofB.query_tokens, partner: queries, alone: unpaired(queries) },
      keys: { a: keysOf(ofA), b: keysOf(ofB), partner: keys, alone: unpaired(keys) },
    };
  }

  private async load(a: Source, request: RecordRequest, words: boolean, signal: AbortSignal): Promise<Compared> {
    const on = { progress: (progress: Progress) => !signal.aborted && (this.progress = progress) };
    this.progress = null;
    this.busy = "read";
    const id = await requestRecording(request, signal, on);
    const b = await ServedSource.open(id, words, signal, on);
    this.busy = "compare";
    const comparison = await requestStream<Comparison>(compareUrl(a.facts.id, id, words), { signal, on });
    const numbers = (source: Source) => new LazySource(source, this.countLoad, (problem) => this.fail(problem));
    const differences = new DifferenceSource(a.facts, { a: a.facts.id, b: id, words });
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

  // Thumbnails hold the largest differences: they give the colour range before any tile is loaded.
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
    if (problem instanceof HttpError && problem.status === 404 && Date.now() - this.retried > kRetry) {
      this.retried = Date.now();
      void app.open();
    } else if (problem instanceof HttpError) this.problem = problem.message;
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

export const compareState = new Comparing();
