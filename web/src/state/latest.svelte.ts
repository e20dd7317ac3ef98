// The answer to the question that was put last. What was there stays until the next answer has come.
import type { Progress } from "../api/ask";

export class Latest<T> {
  value = $state.raw<T | null>(null);
  problem = $state<string | null>(null);
  waiting = $state(false);
  progress = $state.raw<Progress | null>(null);
  private stopping = new AbortController();
  private clock = 0;

  // `delay`: ms of quiet before it is really asked. Answers for whom nobody waits any more are not given.
  ask(put: (signal: AbortSignal, on: { progress: (far: Progress) => void }) => Promise<T>, delay = 0): void {
    this.stop();
    const { signal } = (this.stopping = new AbortController());
    this.waiting = true;
    this.clock = window.setTimeout(() => void this.run(put, signal), delay);
  }

  stop(): void {
    clearTimeout(this.clock);
    this.stopping.abort();
    this.waiting = false;
    this.progress = null;
  }

  forget(): void {
    this.stop();
    this.value = this.problem = null;
  }

  private async run(put: Parameters<Latest<T>["ask"]>[0], signal: AbortSignal): Promise<void> {
    try {
      const value = await put(signal, { progress: (far) => !signal.aborted && (this.progress = far) });
      if (signal.aborted) return;
      this.value = value;
      this.problem = null;
    } catch (problem) {
      if (signal.aborted) return;
      this.value = null;
      this.problem = (problem as Error).message;
    }
    this.waiting = false;
    this.progress = null;
  }
}
