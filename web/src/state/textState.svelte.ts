// State of the text view and its panel: predictions, and the current step of a generated text.
import { app } from "./app.svelte";
import { type HeadName, stackOf, type Step } from "../api/facts";
import { predictedToken, type Predictions, outputStack } from "../api/predictions";
import { LatestRequest } from "./latestRequest.svelte";

class Writing {
  readonly predictions = new LatestRequest<Predictions>();

  // The token with predictions: a row of the output stack.
  get row(): number | null {
    if (this.step !== null) return this.attendingToken;
    const { kind } = outputStack(app.facts);
    const rows = app.urlState.kind === "self" ? "self" : "decoder";
    return kind === rows ? app.urlState.row : null;
  }

  get at(): number | null {
    return app.urlState.words ? null : predictedToken(app.facts, this.row);
  }

  get steps(): Step[] {
    return app.facts.generated?.steps ?? [];
  }

  // The current step; null: none.
  get step(): number | null {
    const { step } = app.urlState;
    return step !== null && step < this.steps.length && !app.urlState.words ? step : null;
  }

  // The index of the first generated token: a target begins after its start token.
  get from(): number {
    const { from } = app.facts.generated!;
    return app.facts.model?.form === "encoder-decoder" ? from + 1 : from;
  }

  // The last token before the step: its row has the attention of that step.
  get attendingToken(): number | null {
    return this.step === null ? null : this.from + this.step - 1;
  }

  // The head whose row is shown, in a stack with output tokens as queries.
  get head(): HeadName {
    const { kind } = outputStack(app.facts);
    if (kind === "self" || app.urlState.kind !== "self") return app.head;
    const cross = stackOf(app.facts, "cross");
    const { layer, head } = app.urlState;
    return { kind: cross.kind, layer: Math.min(layer, cross.layers - 1), head: Math.min(head, cross.heads - 1) };
  }

  get weights(): Float32Array | undefined {
    const row = this.attendingToken;
    const there = row !== null && row < stackOf(app.facts, this.head.kind).queries;
    return there ? app.summedWeights(this.head, "query", [row]) : undefined;
  }

  // Selects a step; the other views show its row.
  showStep(step: number, push = false): void {
    const row = this.from + step - 1;
    const { kind, layer, head } = this.head;
    app.navigate({ kind, layer, head, step, row, column: null, pins: [row], side: "query" }, push);
  }

  pick(row: number): void {
    const { kind, layer, head } = this.head;
    const step = app.facts.generated ? row + 1 - this.from : -1;
    if (step >= 0 && step < this.steps.length) this.showStep(step);
    else app.navigate({ kind, layer, head, row, step: null, column: null, pins: [] });
  }
}

export const textState = new Writing();
