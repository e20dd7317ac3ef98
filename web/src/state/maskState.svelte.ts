// State of the masks view and its panel: the edited mask and the server's answers.
import { app } from "./app.svelte";
import { requestJson, HttpError } from "../api/http";
import { recordingUrl } from "../api/routes";
import { type Facts, type Stack, stackOf, type Token } from "../api/facts";
import {
  requestMask,
  emptyRows,
  withCausal,
  computedShare,
  kNoMask,
  kPaintable,
  type MaskAnswer,
  type Shares,
  sharesOf,
} from "../api/mask";

export interface Problem {
  text: string; // with the error
  said: string;
  column?: number;
}

class Masking {
  effective = $state.raw<MaskAnswer | null>(null); // the written mask and the model's own rule
  written = $state.raw<MaskAnswer | null>(null); // the written mask
  answeredSize = $state(0); // the size of `effective`
  problem = $state.raw<Problem | null>(null);
  stroke = $state.raw<Shares | null>(null); // painted, not yet answered
  tokenStack = $state.raw<{ id: string; stack: Stack } | null>(null); // of tokens, while the page shows words

  readonly text = $derived(app.urlState.draft || app.recordRequest?.mask || kNoMask);
  readonly stack: Stack | null = $derived(
    !app.urlState.words
      ? stackOf(app.facts, "self")
      : this.tokenStack?.id === app.facts.id
        ? this.tokenStack.stack
        : null,
  );
  readonly tokens: Token[] = $derived(this.stack?.query_tokens ?? []);
  readonly causal = $derived(this.stack?.causal ?? false);
  readonly size = $derived(app.urlState.size || this.tokens.length);
  readonly ofText = $derived(this.size === this.tokens.length);
  readonly paintable = $derived(this.size <= kPaintable);
  readonly shares: Shares | null = $derived(this.stroke ?? (this.written && sharesOf(this.written)));
  readonly effectiveShares: Shares | null = $derived(this.effective && sharesOf(this.effective));
  readonly emptyRows: number[] = $derived(this.effective?.rows ? emptyRows(this.effective.rows) : []);
  readonly computed = $derived(
    this.effective && computedShare(this.effective.tiles, this.answeredSize, this.answeredSize),
  );
  readonly dirty = $derived((app.recordRequest?.mask ?? "") !== (this.written?.text === kNoMask ? "" : this.text));

  private turn = new AbortController();

  // Requests the mask; the last answer stays until then.
  async update(text: string, size: number, causal: boolean): Promise<void> {
    this.turn.abort();
    const turn = (this.turn = new AbortController());
    if (!size) return;
    try {
      const written = await requestMask(text, size, turn.signal);
      const holds = causal ? await requestMask(withCausal(written.text, true), size, turn.signal) : written;
      if (this.turn !== turn) return;
      [this.written, this.effective, this.answeredSize] = [written, holds, size];
      this.problem = this.stroke = null;
    } catch (problem) {
      if (this.turn !== turn || turn.signal.aborted) return;
      if (!(problem instanceof HttpError)) return app.fail(problem as Error);
      this.problem = { text, said: problem.message, column: problem.column };
    }
  }

  // A mask is between tokens: fetches them where the page shows words.
  async loadTokens(): Promise<void> {
    const { id } = app.facts;
    if (!app.urlState.words || this.tokenStack?.id === id) return;
    try {
      const facts = await requestJson<Facts>(recordingUrl(id));
      this.tokenStack = { id, stack: stackOf(facts, "self") };
    } catch (problem) {
      app.fail(problem as Error);
    }
  }

  leave(): void {
    this.turn.abort();
    this.stroke = null;
  }
}

export const maskState = new Masking();
