// The answer to the last request. The last value stays until the next answer.
import type { Progress } from "../api/http";

export class LatestRequest<T> {
  value = $state.raw<T | null>(null);
  problem = $state<string | null>(null);
  waiting = $state(false);
  progress = $state.raw<Progress | null>(null);
  private stopping = new AbortController();
  private clock = 0;

  // `delay`: ms to wait before the request is sent. Answers to older requests are dropped.
  start(send: (signal: AbortSignal, on: { progress: (far: Progress) => void }) => Promise<T>, delay = 0): void {
    this.stop();
    const { signal } = (this.stopping = new AbortController());
    this.waiting = true;
    this.clock = window.setTimeout(() => void this.run(send, signal), delay);
  }

  stop(): void {
    clearTimeout(this.clock);
    this.stopping.abort();
    this.waiting = false;
    this.progress = null;
  }

  clear(): void {
    this.stop();
    this.value = this.problem = null;
  }

  private async run(send: Parameters<LatestRequest<T>["start"]>[0], signal: AbortSignal): Promise<void> {
    try {
      const value = await send(signal, { progress: (far) => !signal.aborted && (this.progress = far) });
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
