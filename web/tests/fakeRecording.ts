// A made-up recording that answers like the server, for `npm run dev` and for tests.
import { deflateSync } from "node:zlib";
import type { Facts, HeadFacts, Kind, Stack, Token } from "../src/api/facts";
import { byteOfWeight } from "../src/api/sources/source";

export interface Wanted {
  name: string;
  layers: number;
  heads: number;
  text: string;
  causal?: boolean;
}

// Mulberry32: the same numbers everywhere.
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const kPatterns = ["previous token", "same token", "sink", "broad", "local"];

export class FakeRecording {
  readonly tokens: Token[];

  constructor(
    readonly id: string,
    private readonly wanted: Wanted,
  ) {
    const words = wanted.text.split(/(?<=\s)|(?=[.,|])/).filter((w) => w.trim());
    let sequence = 0;
    this.tokens = [{ text: "[CLS]", special: true, word: null, sequence: 0 }];
    words.forEach((word, w) => {
      const text = word.trim();
      const separates = text === "|";
      this.tokens.push({ text: separates ? "[SEP]" : text, special: separates, word: separates ? null : w, sequence });
      if (separates) ++sequence;
    });
    this.tokens.push({ text: "[SEP]", special: true, word: null, sequence });
  }

  get size(): number {
    return this.tokens.length;
  }

  weight(layer: number, head: number, i: number, j: number): number {
    return this.row(layer, head, i)[j];
  }

  // Caches the last heads: a map reads the same rows many times.
  row(layer: number, head: number, i: number): Float32Array {
    const key = `${layer}/${head}`;
    const rows = this.kept.get(key) ?? [];
    if (!this.kept.has(key) && this.kept.size >= 4) this.kept.delete([...this.kept.keys()][0]);
    this.kept.set(key, rows);
    rows[i] ??= this.newRow(layer, head, i);
    return rows[i];
  }
  private readonly kept = new Map<string, Float32Array[]>();

  private newRow(layer: number, head: number, i: number): Float32Array {
    const next = random(1 + i + 1009 * (head + 64 * layer));
    const pattern = kPatterns[(head + layer) % kPatterns.length];
    const n = this.size;
    const scores = Float64Array.from({ length: n }, (_, j) => {
      if (this.wanted.causal && j > i) return -Infinity;
      const noise = 2 * next() * next();
      if (pattern === "previous token") return noise + (j === i - 1 ? 5 + Math.log(n) / 2 : 0);
      if (pattern === "same token")
        return noise + (j === i ? 4 : this.tokens[j].text === this.tokens[i].text ? 3.5 : 0);
      if (pattern === "sink") return noise + (j === 0 || this.tokens[j].special ? 4 + Math.log(n) / 3 : 0);
      if (pattern === "local") return noise - Math.abs(i - j) / 3;
      return noise;
    });
    const most = Math.max(...scores);
    const powers = scores.map((s) => Math.exp(s - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    return Float32Array.from(powers, (p) => p / sum);
  }

  facts(): Facts {
    const { layers, heads, causal, name, text } = this.wanted;
    const side = Math.ceil(this.size / Math.ceil(this.size / 64));
    const stack: Stack = {
      kind: "self",
      layers,
      heads,
      queries: this.size,
      keys: this.size,
      causal: causal ?? false,
      query_tokens: this.tokens,
      key_tokens: null,
      thumbnail: { rows: side, columns: side },
    };
    const all: HeadFacts[] = [];
    for (let l = 0; l < layers; ++l) for (let h = 0; h < heads; ++h) all.push(this.headFacts(l, h));
    const ranking = all.map((_, i) => i).sort((a, b) => all[b].interest - all[a].interest);
    const best = all[ranking[0]];
    return {
      id: this.id,
      name,
      text,
      pair: null,
      model: { name, type: "bert" },
      stacks: [stack],
      heads: all,
      ranking,
      look_at: { kind: "self", layer: best.layer, head: best.head, reason: best.reason },
      rule: "Interest is how far the share of a head's clearest pattern lies above an even head's.",
    };
  }

  thumbnails(): Uint8Array {
    this.small ??= this.newThumbnails();
    return this.small;
  }
  private small: Uint8Array | undefined;

  private newThumbnails(): Uint8Array {
    const { layers, heads } = this.wanted;
    const block = Math.ceil(this.size / 64);
    const side = Math.ceil(this.size / block);
    const out = new Uint8Array(layers * heads * side * side);
    for (let l = 0; l < layers; ++l) {
      for (let h = 0; h < heads; ++h) {
        const start = (l * heads + h) * side * side;
        for (let i = 0; i < this.size; ++i) {
          this.row(l, h, i).forEach((w, j) => {
            const at = start + Math.floor(i / block) * side + Math.floor(j / block);
            out[at] = Math.max(out[at], byteOfWeight(w));
          });
        }
      }
    }
    return out;
  }

  tile(layer: number, head: number, level: number, row: number, column: number) {
    const cell = 2 ** level;
    const rows = Math.min(256, Math.ceil(this.size / cell) - 256 * row);
    const columns = Math.min(256, Math.ceil(this.size / cell) - 256 * column);
    const bytes = new Uint8Array(rows * columns);
    for (let i = 256 * row * cell; i < Math.min(this.size, 256 * (row + 1) * cell); ++i) {
      const weights = this.row(layer, head, i);
      const r = Math.floor(i / cell) - 256 * row;
      for (let j = 256 * column * cell; j < Math.min(this.size, 256 * (column + 1) * cell); ++j) {
        const at = r * columns + Math.floor(j / cell) - 256 * column;
        bytes[at] = Math.max(bytes[at], byteOfWeight(weights[j]));
      }
    }
    return { rows, columns, bytes };
  }

  column(layer: number, head: number, j: number): Float32Array {
    return Float32Array.from({ length: this.size }, (_, i) => this.row(layer, head, i)[j]);
  }

  profile(layer: number, head: number): { received: number[]; entropy: number[] } {
    const received = new Array<number>(this.size).fill(0);
    const entropy = new Array<number>(this.size).fill(0);
    for (let i = 0; i < this.size; ++i) {
      this.row(layer, head, i).forEach((w, j) => {
        received[j] += w;
        if (w > 0) entropy[i] -= w * Math.log(w);
      });
    }
    return { received, entropy };
  }

  // The data of an offline page, in base64.
  embedded(bits: 8 | 16, keep: (kind: Kind, layer: number, head: number) => boolean = () => true): string {
    const facts = this.facts();
    const thumbnails = this.thumbnails();
    const { layers, heads, thumbnail } = facts.stacks[0];
    const shape = [layers * heads, thumbnail.rows, thumbnail.columns];
    const blocks: object[] = [{ name: "thumbnails/self", bits: 8, shape, offset: 0 }];
    const parts: Buffer[] = [Buffer.from(thumbnails)];
    let offset = thumbnails.length;
    for (const { layer, head } of facts.heads) {
      if (!keep("self", layer, head)) continue;
      const table = Buffer.alloc((this.size * this.size * bits) / 8);
      for (let i = 0; i < this.size; ++i) {
        this.row(layer, head, i).forEach((w, j) => {
          const at = i * this.size + j;
          if (bits === 8) table.writeUInt8(byteOfWeight(w), at);
          else table.writeUInt16LE(Math.round(65535 * Math.sqrt(w)), 2 * at);
        });
      }
      blocks.push({ name: `head/self/${layer}/${head}`, bits, shape: [this.size, this.size], offset });
      parts.push(table);
      offset += table.length;
    }
    const json = Buffer.from(JSON.stringify({ facts, blocks }), "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32LE(json.length);
    return deflateSync(Buffer.concat([length, json, ...parts])).toString("base64");
  }

  private headFacts(layer: number, head: number): HeadFacts {
    const pattern = kPatterns[(head + layer) % kPatterns.length];
    const share = {
      first: 0.05,
      separators: 0.1,
      punctuation: 0.1,
      duplicate: 0,
      induction: 0,
      near: 0.4,
      beyond: 0.2,
    };
    const score = 0.5 + 0.5 * random(7 + head + 31 * layer)();
    const resting = pattern === "sink" || pattern === "broad";
    return {
      kind: "self",
      layer,
      head,
      entropy: 3 * random(5 + head + 17 * layer)(),
      entropy_share: random(5 + head + 17 * layer)(),
      distance: 10 * random(3 + head + 13 * layer)(),
      shares: share,
      types: [{ name: pattern, score, reason: `${score.toFixed(2)} of its attention goes to ${pattern}` }],
      interest: resting ? 0 : score,
      resting,
      reason: `${score.toFixed(2)} of its attention goes to ${pattern}`,
    };
  }
}
