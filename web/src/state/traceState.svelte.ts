// State of the trace view and its panel.
import { app } from "./app.svelte";
import { isHighlighted, largestAt, orderOf, runningSums, scoresOf, type Term, type Trace } from "../api/trace";

class Tracing {
  trace = $state.raw<Trace | null>(null);
  row = $state.raw<Float32Array | null>(null); // all weights of the query
  loading = $state(false);
  problem = $state<string | null>(null);
  d = $state<number | null>(null); // of the products
  hovered = $state<Term | null>(null);
  focused = $state<Term | null>(null);
  pinned = $state<Term | null>(null); // clicked
  bySize = $state(false);

  readonly order: number[] = $derived(this.trace ? orderOf(this.trace.products, this.bySize) : []);
  readonly sums: Float64Array = $derived(
    this.trace ? runningSums(this.trace.products, this.order) : new Float64Array(0),
  );
  readonly scores: Float64Array | null = $derived(this.trace && this.row ? scoresOf(this.row, this.trace.lse) : null);
  readonly activeTerm: Term | null = $derived(this.hovered ?? this.focused ?? this.pinned);

  isHighlighted(term: Term): boolean {
    return (
      isHighlighted(term, this.activeTerm) || (this.d !== null && (term === "q" || term === "k" || term === "products"))
    );
  }

  // Without a cell in the URL, chooses the strongest key of a token.
  async choose(signal: AbortSignal): Promise<void> {
    const { row, column, pins, side } = app.urlState;
    const { queries, causal } = app.stack;
    const query = row ?? (side === "query" ? pins[0] : undefined) ?? (causal ? queries - 1 : Math.min(1, queries - 1));
    const weights = column === null ? await app.recording!.row(app.head, query, signal) : null;
    if (!signal.aborted) app.navigate({ row: query, column: column ?? largestAt(weights!) });
  }

  async load(signal: AbortSignal): Promise<void> {
    const { row, column } = app.urlState;
    const { kind, layer, head } = app.head;
    this.loading = true;
    this.problem = null;
    try {
      const [trace, weights] = await Promise.all([
        app.server!.json<Trace>("trace", { kind, layer, head, row: row!, column: column! }, { signal }),
        app.recording!.row(app.head, row!, signal),
      ]);
      if (signal.aborted) return;
      this.trace = trace;
      this.row = weights;
      if (this.d !== null && this.d >= trace.products.length) this.d = null;
    } catch (problem) {
      if (signal.aborted) return;
      this.trace = null;
      this.problem = (problem as Error).message;
    }
    this.loading = false;
  }

  // Moves by `step` positions in the shown order.
  move(step: number): void {
    if (!this.order.length) return;
    const at = this.d === null ? (step > 0 ? -1 : this.order.length) : this.order.indexOf(this.d);
    this.d = this.order[Math.min(Math.max(at + step, 0), this.order.length - 1)];
  }

  // True: there was a selection to clear.
  clearSelection(): boolean {
    const held = this.d !== null || this.pinned !== null;
    this.d = this.pinned = this.hovered = this.focused = null;
    return held;
  }
}

export const traceState = new Tracing();
