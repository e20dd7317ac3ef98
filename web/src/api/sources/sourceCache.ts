// Caches per source what was fetched or derived, as long as the source lives.
import { type Kind, stackOf } from "../facts";
import { LazySource } from "./lazySource";
import type { Measure } from "../../state/urlState";
import type { Source, Recording } from "./source";

const kMostWait = 250; // ms

export class SourceCache {
  private readonly thumbnailBytes = new WeakMap<Source, Map<Kind, Promise<Uint8Array>>>();
  private readonly measured = new WeakMap<Source, Map<string, Source>>();
  private readonly lazySources = new WeakMap<Source, LazySource>();

  constructor(
    private readonly changed: () => void,
    private readonly failed: (problem: Error) => void,
  ) {}

  thumbnails(source: Source, kind: Kind): Promise<Uint8Array> {
    const kinds = this.thumbnailBytes.get(source) ?? new Map<Kind, Promise<Uint8Array>>();
    this.thumbnailBytes.set(source, kinds);
    let bytes = kinds.get(kind);
    if (!bytes) {
      bytes = source.thumbnails(kind);
      kinds.set(kind, bytes);
      bytes.catch(() => kinds.delete(kind));
    }
    return bytes;
  }

  withMeasure(source: Recording, measure: Measure, withoutSinks: boolean): Source {
    if (measure === "raw" && !withoutSinks) return source;
    const measured = this.measured.get(source) ?? new Map<string, Source>();
    this.measured.set(source, measured);
    const key = `${measure}/${withoutSinks}`;
    const found = measured.get(key) ?? source.withMeasure(measure, withoutSinks);
    measured.set(key, found);
    return found;
  }

  lazySource(source: Source): LazySource {
    const lazySource = this.lazySources.get(source) ?? new LazySource(source, this.changed, this.failed);
    this.lazySources.set(source, lazySource);
    return lazySource;
  }

  // Fetches what is on the screen for the next source, so that nothing is empty in between.
  async prefetch(source: Source, before: Source, kind: Kind): Promise<void> {
    const thumbnailBytes = this.thumbnails(source, stackOf(source.facts, kind).kind).catch(() => undefined);
    await Promise.race([thumbnailBytes, new Promise((done) => setTimeout(done, kMostWait))]);
    await this.lazySource(source).prefetch(this.lazySource(before), kMostWait);
  }
}
