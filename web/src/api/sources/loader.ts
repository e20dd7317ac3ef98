// A cache with a request queue: a few requests at a time, the newest first; requests that are no longer wanted are
// dropped. A full cache evicts the least recently used entry.

interface Asked {
  load: (signal: AbortSignal) => Promise<unknown>;
  stop: AbortController;
  running: boolean;
}

const sizeOf = (value: unknown): number => {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  const bytes = (value as { bytes?: Uint8Array }).bytes;
  return bytes ? bytes.byteLength : 1024;
};

export class Loader {
  private readonly there = new Map<string, unknown>(); // least used first
  private readonly asked = new Map<string, Asked>();
  private readonly failures = new Set<string>();
  private held = 0;
  private running = 0;

  constructor(
    private readonly changed: () => void,
    private readonly failed: (problem: Error) => void,
    private readonly room = 96 << 20,
    private readonly atOnce = 6,
  ) {}

  // Undefined: requested; changed() is called when it arrives.
  get<T>(key: string, load: (signal: AbortSignal) => Promise<T>): T | undefined {
    const value = this.peek<T>(key);
    if (value !== undefined || this.failures.has(key)) return value;
    const before = this.asked.get(key);
    if (before) {
      if (before.running) return undefined;
      this.asked.delete(key); // moves it to the end: the newest is requested first
    }
    this.asked.set(key, before ?? { load, stop: new AbortController(), running: false });
    queueMicrotask(() => this.start());
    return undefined;
  }

  peek<T>(key: string): T | undefined {
    const value = this.there.get(key);
    if (value === undefined) return undefined;
    this.there.delete(key);
    this.there.set(key, value);
    return value as T;
  }

  // Drops queued requests that begin with `prefix`, except for these keys.
  keepOnly(prefix: string, keys: Set<string>): void {
    for (const [key, asked] of this.asked) {
      if (!key.startsWith(prefix) || keys.has(key)) continue;
      asked.stop.abort();
      this.asked.delete(key);
    }
  }

  get waiting(): boolean {
    return this.asked.size > 0;
  }

  private start(): void {
    while (this.running < this.atOnce) {
      const next = [...this.asked].reverse().find(([, asked]) => !asked.running);
      if (!next) return;
      void this.run(...next);
    }
  }

  private async run(key: string, asked: Asked): Promise<void> {
    asked.running = true;
    ++this.running;
    try {
      this.keep(key, await asked.load(asked.stop.signal));
    } catch (problem) {
      if (!asked.stop.signal.aborted) {
        this.failures.add(key);
        this.failed(problem as Error);
      }
    }
    --this.running;
    if (this.asked.get(key) === asked) this.asked.delete(key);
    this.changed();
    this.start();
  }

  private keep(key: string, value: unknown): void {
    this.there.set(key, value);
    this.held += sizeOf(value);
    for (const [oldest, old] of this.there) {
      if (this.held <= this.room || oldest === key) break;
      this.there.delete(oldest);
      this.held -= sizeOf(old);
    }
  }
}
