// What the ablation view and its panel share.
import { app } from "./app.svelte";
import type { HeadName } from "../api/facts";
import { compact, make, type Origin, sameOrigin } from "../api/origin";
import type { Effects, Predictions } from "../api/predictions";
import { ablatedAt, withOff } from "./switches";
import { Latest } from "./latest.svelte";
import { writing } from "./writing.svelte";

class AblationState {
  readonly predicted = new Latest<Predictions>();
  private readonly ranking = new Latest<Effects>();
  private rankedFrom = $state.raw<Origin | null>(null);

  // As the reader has set them, which may be ahead of what is shown.
  get off(): HeadName[] {
    return app.place.model ? app.place.off : (app.origin?.off ?? []);
  }

  // Every place of the address is asked with the heads that are off there, and compared with all of them on.
  askPredictions(): void {
    const { program, facts } = app;
    if (!program) return;
    const at = app.place.words ? null : ablatedAt(facts, writing.row);
    const query = { top: 10, temperature: app.place.temperature, ...(at === null ? {} : { at }) };
    const off = facts.origin?.off ?? [];
    this.predicted.ask(async (signal) => {
      if (!off.length) return program.json("predictions", query, { signal });
      const against = await make(withOff(facts, []), signal);
      return program.json("predictions", { ...query, against }, { signal });
    });
  }

  set(off: HeadName[]): void {
    app.look(withOff(app.facts, off));
  }

  // Effects stay while heads are switched: they are those of the same text.
  get effects(): Effects | null {
    const now = app.origin && compact({ ...app.origin, off: [] });
    const then = this.rankedFrom && compact({ ...this.rankedFrom, off: [] });
    return sameOrigin(now, then) ? this.ranking.value : null;
  }

  get rankedOff(): number {
    return this.rankedFrom?.off?.length ?? 0;
  }

  get ranks(): Latest<Effects> {
    return this.ranking;
  }

  rank(): void {
    const { program, origin } = app;
    if (!program || !origin) return;
    this.ranking.forget();
    this.rankedFrom = origin;
    this.ranking.ask((signal, on) => program.long("effects", {}, { signal, on: on as never }));
  }
}

export const ablation = new AblationState();
