// Changes to how a specimen is made, as a reader writes and chooses.
import type { Choice, Facts, ModelFacts, Step, Token } from "../api/facts";
import type { Origin } from "../api/origin";
import { kGaps } from "../api/predictions";

// Another text makes what was written for the old one void.
export const withText = (origin: Origin, text: string): Origin => ({ ...origin, text, target: null, generate: null });

// Heads are those of one model; a second text is for those that read pairs.
export const withModel = (origin: Origin, model: ModelFacts): Origin => ({
  ...origin,
  model: model.name,
  pair: model.form === "encoder" ? origin.pair : null,
  target: null,
  off: [],
  generate: null,
});

// One line of a top bar has room for these.
export const isShort = (text: string): boolean => text.length <= 300 && !/[\r\n]/.test(text);

const kClose = /^[.,!?;:'’)\]]/; // follow without a space
const kDense = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff00-\uffef]/u; // have no spaces

// Tokens put together: with the spaces they have, else by the rules of pieces ("##ing") and of words.
export function joinTokens(texts: string[]): string {
  if (texts.some((text) => /^\s|\s$/.test(text))) return texts.join("");
  return texts.reduce((all, text) => {
    if (text.startsWith("##")) return all + text.slice(2);
    return all && !kClose.test(text) && !kDense.test(all.at(-1)! + text[0]) ? `${all} ${text}` : all + text;
  }, "");
}

const appended = (text: string, more: string, spaced: boolean): string => {
  if (more.startsWith("##")) return text.trimEnd() + more.slice(2);
  return spaced || !text || /\s$/.test(text) ? text + more : joinTokens([text, more]);
};

// Whether the tokens of a text bring their spaces with them.
export const isSpaced = (tokens: { text: string }[]): boolean => tokens.some(({ text }) => /^\s|\s$/.test(text));

// The text with one more token behind it.
export const continued = (text: string, choice: { text: string }, tokens: Token[]): string =>
  appended(text, choice.text, isSpaced(tokens) || tokens.length === 0);

// What was generated becomes part of the text, or of the answer.
export function kept(origin: Origin, steps: Step[], form: ModelFacts["form"] | undefined): Origin {
  const texts = steps.map(({ text }) => text);
  if (form === "encoder-decoder") return { ...origin, target: joinTokens(texts).trim(), generate: null };
  return { ...origin, text: origin.text + joinTokens(texts), generate: null };
}

// The gap'th mask among both texts gives way to a word. Null: the texts do not have it.
export function filled(origin: Origin, gap: number, word: string): Origin | null {
  let left = gap;
  for (const part of ["text", "pair"] as const) {
    const text = origin[part] ?? "";
    for (const found of text.matchAll(kGaps)) {
      if (left-- === 0) return { ...origin, [part]: replaced(text, found.index, found.index + found[0].length, word) };
    }
  }
  return null;
}

function replaced(text: string, first: number, last: number, word: string): string {
  const before = text.slice(0, first);
  const after = text.slice(last);
  if (word.startsWith("##")) return before.trimEnd() + word.slice(2) + after;
  return before + (/^$|\s$/.test(before) ? word.trimStart() : word) + after;
}

// Where the tokens of one text stand in it, as far as they can be found in what was written; a model may have changed
// case and accents. Null: not there.
export function spans(text: string, tokens: Token[], sequence: number): ([number, number] | null)[] {
  const low = text.toLowerCase();
  const same = low.length === text.length ? low : text;
  let at = 0;
  let lost = false; // what stands before the next one may belong to a token that was not found
  return tokens.map((token) => {
    const piece = token.text.replace(/^##/, "").trim();
    if (token.special || !piece || (token.sequence ?? 0) !== sequence) return null;
    const found = same.indexOf(same === low ? piece.toLowerCase() : piece, at);
    const astray = found < 0 || (!lost && /\S/.test(text.slice(at, found)));
    lost = astray;
    if (astray) return null;
    at = found + piece.length;
    return [found, at];
  });
}

// Another word in the place of a token; null: where it stands is not known.
export function exchanged(origin: Origin, tokens: Token[], token: number, word: string): Origin | null {
  const part = tokens[token]?.sequence === 1 ? "pair" : "text";
  const text = origin[part] ?? "";
  const span = spans(text, tokens, part === "pair" ? 1 : 0)[token];
  return span && { ...origin, [part]: replaced(text, ...span, word) };
}

// The answer up to and with this row's choice: rows of the target begin with a sign for its start.
export function answered(origin: Origin, target: Token[], row: number, choice: Choice): Origin {
  const texts = target.slice(0, row + 1).flatMap((token) => (token.special ? [] : [token.text]));
  return { ...origin, target: joinTokens([...texts, choice.text]).trim(), generate: null };
}

// How what is looked at would be made without generating: for conditions under which the same tokens are read.
export function fixed(facts: Facts): Origin | null {
  const { origin, generated, model } = facts;
  if (!origin || !origin.generate) return origin ?? null;
  return kept(origin, generated?.steps ?? [], model?.form);
}
