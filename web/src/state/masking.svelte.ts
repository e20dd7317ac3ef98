// The mask that is being written: what the program says of it, shared by the view and its panel.
import { app } from "./app.svelte";
import { askJson, Refused } from "../api/ask";
import { type Facts, type Stack, stackOf, type Token } from "../api/facts";
import {
  askMask,
  blind,
  both,
  computed,
  kEverything,
  kPaintable,
  type MaskAnswer,
  type Shares,
  sharesOf,
} from "../api/mask";

export interface Problem {
  text: string; // that could not be read
  said: string;
  column?: number;
}

class Masking {
  holds = $state.raw<MaskAnswer | null>(null); // what is written, and the model's own rule
  written = $state.raw<MaskAnswer | null>(null); // alone
  answered = $state(0); // the size of what `holds`
  problem = $state.raw<Problem | null>(null);
  stroke = $state.raw<Shares | null>(null); // painted, and not yet answered
  whole = $state.raw<{ id: string; stack: Stack } | null>(null); // the tokens, while the page shows words

  readonly text = $derived(app.place.draft || app.origin?.mask || kEverything);
  readonly stack: Stack | null = $derived(
    !app.place.words ? stackOf(app.facts, "self") : this.whole?.id === app.facts.id ? this.whole.stack : null,
  );
  readonly tokens: Token[] = $derived(this.stack?.query_tokens ?? []);
  readonly causal = $derived(this.stack?.causal ?? false);
  readonly size = $derived(app.place.size || this.tokens.length);
  readonly ofText = $derived(this.size === this.tokens.length);
  readonly paintable = $derived(this.size <= kPaintable);
  readonly shares: Shares | null = $derived(this.stroke ?? (this.written && sharesOf(this.written)));
  readonly held: Shares | null = $derived(this.holds && sharesOf(this.holds));
  readonly blind: number[] = $derived(this.holds?.rows ? blind(this.holds.rows) : []);
  readonly computed = $derived(this.holds && computed(this.holds.tiles, this.answered, this.answered));
  readonly dirty = $derived((app.origin?.mask ?? "") !== (this.written?.text === kEverything ? "" : this.text));

  private turn = new AbortController();

  // Asks the program; what was there stays until it has answered.
  async look(text: string, size: number, causal: boolean): Promise<void> {
    this.turn.abort();
    const turn = (this.turn = new AbortController());
    if (!size) return;
    try {
      const written = await askMask(text, size, turn.signal);
      const holds = causal ? await askMask(both(written.text, true), size, turn.signal) : written;
      if (this.turn !== turn) return;
      [this.written, this.holds, this.answered] = [written, holds, size];
      this.problem = this.stroke = null;
    } catch (problem) {
      if (this.turn !== turn || turn.signal.aborted) return;
      if (!(problem instanceof Refused)) return app.fail(problem as Error);
      this.problem = { text, said: problem.message, column: problem.column };
    }
  }

  // A mask is between tokens: where the page shows words, the tokens are asked for.
  async readTokens(): Promise<void> {
    const { id } = app.facts;
    if (!app.place.words || this.whole?.id === id) return;
    try {
      const facts = await askJson<Facts>(`api/specimens/${encodeURIComponent(id)}`);
      this.whole = { id, stack: stackOf(facts, "self") };
    } catch (problem) {
      app.fail(problem as Error);
    }
  }

  leave(): void {
    this.turn.abort();
    this.stroke = null;
  }
}

export const masking = new Masking();
