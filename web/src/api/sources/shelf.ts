// What has been fetched or made of each source, kept for as long as the source is.
import { type Kind, stackOf } from "../facts";
import { Numbers } from "./numbers";
import type { Measure } from "../../state/place";
import type { Source, Whole } from "./source";

const kMostWait = 250; // ms

export class Shelf {
  private readonly pictures = new WeakMap<Source, Map<Kind, Promise<Uint8Array>>>();
  private readonly looks = new WeakMap<Source, Map<string, Source>>();
  private readonly known = new WeakMap<Source, Numbers>();

  constructor(
    private readonly changed: () => void,
    private readonly failed: (problem: Error) => void,
  ) {}

  thumbnails(source: Source, kind: Kind): Promise<Uint8Array> {
    const kinds = this.pictures.get(source) ?? new Map<Kind, Promise<Uint8Array>>();
    this.pictures.set(source, kinds);
    let bytes = kinds.get(kind);
    if (!bytes) {
      bytes = source.thumbnails(kind);
      kinds.set(kind, bytes);
      bytes.catch(() => kinds.delete(kind));
    }
    return bytes;
  }

  seen(source: Whole, measure: Measure, aside: boolean): Source {
    if (measure === "raw" && !aside) return source;
    const looks = this.looks.get(source) ?? new Map<string, Source>();
    this.looks.set(source, looks);
    const key = `${measure}/${aside}`;
    const look = looks.get(key) ?? source.seen(measure, aside);
    looks.set(key, look);
    return look;
  }

  numbers(source: Source): Numbers {
    const numbers = this.known.get(source) ?? new Numbers(source, this.changed, this.failed);
    this.known.set(source, numbers);
    return numbers;
  }

  // Fetches what is on the screen for the source that takes the other's place, so that nothing is empty in between.
  async prepare(source: Source, before: Source, kind: Kind): Promise<void> {
    const pictures = this.thumbnails(source, stackOf(source.facts, kind).kind).catch(() => undefined);
    await Promise.race([pictures, new Promise((done) => setTimeout(done, kMostWait))]);
    await this.numbers(source).warm(this.numbers(before), kMostWait);
  }
}
