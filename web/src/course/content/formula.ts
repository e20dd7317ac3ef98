// Formulas as the lessons write them, "softmax(Q K^T / sqrt(d_k)) V", parsed for typesetting.

export type Piece =
  | { kind: "name" | "word" | "number" | "sign" | "space"; text: string }
  | { kind: "script"; base: Piece[]; sub: Piece[] | null; sup: Piece[] | null }
  | { kind: "root"; inside: Piece[] }
  | { kind: "fraction"; over: Piece[]; under: Piece[] };

const kSigns: [plain: RegExp, set: string][] = [
  [/^\.\.\./, "…"],
  [/^-inf\b/, "−∞"],
  [/^-/, "−"],
  [/^<=/, "≤"],
  [/^>=/, "≥"],
  [/^\*/, "·"],
];
const kGreek: Record<string, string> = { phi: "φ", sigma: "σ" };
const kEndsProduct = new Set([
  "=",
  "+",
  "−",
  ",",
  "(",
  ")",
  "[",
  "]",
  "|",
  "≤",
  "≥",
  "<",
  ">",
  ":",
  ";",
  "，",
  "；",
  "、",
  "/",
]);
const kWords = new Set(["or", "and", "if", "for", "else", "或"]); // between formulas

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  // Parses up to the closing bracket, which is not consumed, or to the end.
  pieces(close = ""): Piece[] {
    const out: Piece[] = [];
    while (this.at < this.text.length && !(close && this.text[this.at] === close)) {
      if (this.isDivision() && numeratorOf(out) < out.length) this.divide(out);
      else out.push(...this.next());
    }
    return out;
  }

  private get rest(): string {
    return this.text.slice(this.at);
  }

  private take(pattern: RegExp): string | null {
    const found = pattern.exec(this.rest);
    if (!found) return null;
    this.at += found[0].length;
    return found[0];
  }

  // " / " divides all of the product before it; "2i/d" stays on one line.
  private isDivision(): boolean {
    return /^ \/ /.test(this.rest);
  }

  private divide(out: Piece[]): void {
    this.at += 3;
    const over = out.splice(numeratorOf(out));
    while (over[0]?.kind === "space") out.push(over.shift()!);
    const differential = /^d [a-z]/.test(this.rest); // d scores
    const under = this.bare(this.next());
    if (differential) under.push(...this.next(), ...this.next());
    out.push({ kind: "fraction", over: this.bare(over), under });
  }

  // Removes brackets that a fraction bar or a script makes redundant.
  private bare(pieces: Piece[]): Piece[] {
    const [first, last] = [pieces[0], pieces[pieces.length - 1]];
    const isWrapped = first?.kind === "sign" && first.text === "(" && last?.kind === "sign" && last.text === ")";
    if (!isWrapped) return pieces;
    let depth = 0;
    for (const [n, piece] of pieces.entries()) {
      if (piece.kind === "sign" && piece.text === "(") ++depth;
      if (piece.kind === "sign" && piece.text === ")" && --depth === 0 && n < pieces.length - 1) return pieces;
    }
    return pieces.slice(1, -1);
  }

  // Parses a term: a call with its brackets, a name with its scripts.
  private next(): Piece[] {
    const space = this.take(/^\s+/);
    if (space) return [{ kind: "space", text: space }];
    return this.scripted(this.primary());
  }

  private primary(): Piece[] {
    if (this.take(/^sqrt\(/)) {
      const inside = this.pieces(")");
      this.take(/^\)/);
      return [{ kind: "root", inside }];
    }
    if (this.take(/^\(/)) return this.bracketed("(", ")");
    if (this.take(/^\[/)) return this.bracketed("[", "]");
    const number = this.take(/^\d+(\.\d+)?(e[+-]?\d+)?/);
    if (number) return [{ kind: "number", text: number }];
    const name = this.take(/^\p{L}+/u);
    if (name) return this.named(name);
    for (const [plain, set] of kSigns) if (this.take(plain)) return [{ kind: "sign", text: set }];
    if (this.take(/^\.(?= )/)) return [{ kind: "sign", text: "·" }];
    return [{ kind: "sign", text: this.text[this.at++] }];
  }

  private named(name: string): Piece[] {
    if (name === "sum" && /^_/.test(this.rest)) return [{ kind: "sign", text: "Σ" }];
    const more = name.length > 1 ? this.take(/^_\p{L}{2,}/u) : null; // feed_forward: one name
    const text = (kGreek[name] ?? name) + (more ?? "");
    return [{ kind: text.length === 1 ? "name" : "word", text }];
  }

  private bracketed(open: string, close: string): Piece[] {
    const inside = this.pieces(close);
    return this.take(close === ")" ? /^\)/ : /^\]/)
      ? [{ kind: "sign", text: open }, ...inside, { kind: "sign", text: close }]
      : [{ kind: "sign", text: open }, ...inside];
  }

  private scripted(base: Piece[]): Piece[] {
    let [sub, sup]: (Piece[] | null)[] = [null, null];
    for (;;) {
      if (!sub && this.take(/^_(?=[\p{L}\d(])/u)) sub = this.script();
      else if (!sup && this.take(/^\^(?=[\p{L}\d(])/u)) sup = this.script();
      else break;
    }
    const scripts: Piece[] = sub || sup ? [{ kind: "script", base, sub, sup }] : base;
    const isCalled = base[0]?.kind === "name" || base[0]?.kind === "word";
    return isCalled && this.take(/^\(/) ? this.call(scripts) : scripts;
  }

  // A call, f(x), may have an exponent of its own: phi(K)^T.
  private call(called: Piece[]): Piece[] {
    const whole = [...called, ...this.bracketed("(", ")")];
    return this.take(/^\^(?=[\p{L}\d(])/u) ? [{ kind: "script", base: whole, sub: null, sup: this.script() }] : whole;
  }

  private script(): Piece[] {
    const digits = this.take(/^\d+/);
    return digits ? [{ kind: "number", text: digits }] : this.bare(this.primary());
  }
}

// The index at which the last product begins.
function numeratorOf(pieces: Piece[]): number {
  let [from, depth] = [pieces.length, 0];
  while (from > 0) {
    const piece = pieces[from - 1];
    if ((piece.kind === "space" && piece.text.length > 2) || ("text" in piece && kWords.has(piece.text))) break;
    if (piece.kind === "sign") {
      if (piece.text === ")" || piece.text === "]") ++depth;
      else if ((piece.text === "(" || piece.text === "[") && depth > 0) --depth;
      else if (depth === 0 && kEndsProduct.has(piece.text)) break;
    }
    --from;
  }
  while (pieces[from]?.kind === "space") ++from;
  return from;
}

export const parseFormula = (formula: string): Piece[] => new Reader(formula).pieces();

// The formula as one line of text.
export function plain(pieces: Piece[]): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "root") return `√{${plain(piece.inside)}}`;
      if (piece.kind === "fraction") return `{${plain(piece.over)}}/{${plain(piece.under)}}`;
      if (piece.kind !== "script") return piece.text;
      const sub = piece.sub ? `_{${plain(piece.sub)}}` : "";
      return plain(piece.base) + sub + (piece.sup ? `^{${plain(piece.sup)}}` : "");
    })
    .join("");
}
