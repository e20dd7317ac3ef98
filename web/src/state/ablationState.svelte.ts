// What the ablation view and its panel share.
import { app } from "./app.svelte";
import { type HeadName, recordRequestOf } from "../api/facts";
import { compact, requestRecording, type RecordRequest, sameRequest } from "../api/recordRequest";
import type { Effects, Predictions } from "../api/predictions";
import { ablatedToken, withHeadsOff } from "./headSwitches";
import { LatestRequest } from "./latestRequest.svelte";
import { textState } from "./textState.svelte";

class AblationState {
  readonly predictions = new LatestRequest<Predictions>();
  private readonly ranking = new LatestRequest<Effects>();
  private rankedFrom = $state.raw<RecordRequest | null>(null);

  // The requested switches, which may be ahead of what is shown.
  get off(): HeadName[] {
    return app.urlState.model ? app.urlState.off : (app.recordRequest?.off ?? []);
  }

  // Loads predictions with the heads off, compared with all heads on.
  loadPredictions(): void {
    const { server, facts } = app;
    if (!server) return;
    const at = app.urlState.words ? null : ablatedToken(facts, textState.row);
    const query = { top: 10, temperature: app.urlState.temperature, ...(at === null ? {} : { at }) };
    const off = recordRequestOf(facts)?.off ?? [];
    this.predictions.start(async (signal) => {
      if (!off.length) return server.json("predictions", query, { signal });
      const against = await requestRecording(withHeadsOff(facts, []), signal);
      return server.json("predictions", { ...query, against }, { signal });
    });
  }

  switchOff(off: HeadName[]): void {
    app.openRequest(withHeadsOff(app.facts, off));
  }

  // Effects stay while heads are switched, as long as the text is the same.
  get effects(): Effects | null {
    const now = app.recordRequest && compact({ ...app.recordRequest, off: [] });
    const then = this.rankedFrom && compact({ ...this.rankedFrom, off: [] });
    return sameRequest(now, then) ? this.ranking.value : null;
  }

  get rankedOff(): number {
    return this.rankedFrom?.off?.length ?? 0;
  }

  get ranks(): LatestRequest<Effects> {
    return this.ranking;
  }

  rank(): void {
    const { server, recordRequest } = app;
    if (!server || !recordRequest) return;
    this.ranking.clear();
    this.rankedFrom = recordRequest;
    this.ranking.start((signal, on) => server.long("effects", {}, { signal, on: on as never }));
  }
}

export const ablationState = new AblationState();
