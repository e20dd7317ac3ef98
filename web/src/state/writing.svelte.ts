// What the text view and its panel share: predictions, and the step of a generated text that is looked at.
import { app } from "./app.svelte";
import { type HeadName, stackOf, type Step } from "../api/facts";
import { askedAt, type Predictions, spoken } from "../api/predictions";
import { Latest } from "./latest.svelte";

class Writing {
  readonly predicted = new Latest<Predictions>();

  // The token at which predictions are asked for: a row of what is spoken, not of an encoder that only listens.
  get row(): number | null {
    if (this.step !== null) return this.lookedFrom;
    const { kind } = spoken(app.facts);
    const rows = app.place.kind === "self" ? "self" : "decoder";
    return kind === rows ? app.place.row : null;
  }

  get at(): number | null {
    return app.place.words ? null : askedAt(app.facts, this.row);
  }

  get steps(): Step[] {
    return app.facts.generated?.steps ?? [];
  }

  // Which step is looked at; null: none.
  get step(): number | null {
    const { step } = app.place;
    return step !== null && step < this.steps.length && !app.place.words ? step : null;
  }

  // Where the first generated token stands behind those that were read: an answer begins behind its start token.
  get from(): number {
    const { from } = app.facts.generated!;
    return app.facts.model?.form === "encoder-decoder" ? from + 1 : from;
  }

  // The last token that had been read when it was written: its row says where the model looked.
  get lookedFrom(): number | null {
    return this.step === null ? null : this.from + this.step - 1;
  }

  // The head whose row is shown: one that looks from what is spoken.
  get head(): HeadName {
    const { kind } = spoken(app.facts);
    if (kind === "self" || app.place.kind !== "self") return app.head;
    const cross = stackOf(app.facts, "cross");
    const { layer, head } = app.place;
    return { kind: cross.kind, layer: Math.min(layer, cross.layers - 1), head: Math.min(head, cross.heads - 1) };
  }

  get weights(): Float32Array | undefined {
    const row = this.lookedFrom;
    const there = row !== null && row < stackOf(app.facts, this.head.kind).queries;
    return there ? app.added(this.head, "query", [row]) : undefined;
  }

  // The other views show the row of the step that is looked at.
  goTo(step: number, push = false): void {
    const row = this.from + step - 1;
    const { kind, layer, head } = this.head;
    app.go({ kind, layer, head, step, row, column: null, pins: [row], side: "query" }, push);
  }

  pick(row: number): void {
    const { kind, layer, head } = this.head;
    const step = app.facts.generated ? row + 1 - this.from : -1;
    if (step >= 0 && step < this.steps.length) this.goTo(step);
    else app.go({ kind, layer, head, row, step: null, column: null, pins: [] });
  }
}

export const writing = new Writing();
