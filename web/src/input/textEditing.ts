// Edits of a record request by typing and choosing.
import { type Choice, type Facts, type ModelFacts, recordRequestOf, type Step, type Token } from "../api/facts";
import type { RecordRequest } from "../api/recordRequest";
import { kGaps } from "../api/predictions";

// A new text drops the target and the generation of the old one.
export const withText = (request: RecordRequest, text: string): RecordRequest => ({
  ...request,
  text,
  target: null,
  generate: null,
});

// A new model drops switched-off heads, and the second text if it reads no pairs.
export const withModel = (request: RecordRequest, model: ModelFacts): RecordRequest => ({
  ...request,
  model: model.name,
  pair: model.form === "encoder" ? request.pair : null,
  target: null,
  off: [],
  generate: null,
});

// Whether a text fits the top bar.
export const fitsOneLine = (text: string): boolean => text.length <= 300 && !/[\r\n]/.test(text);

const kClose = /^[.,!?;:'’)\]]/; // follow without a space
const kDense = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303f\uff00-\uffef]/u; // have no spaces

// Joins tokens by their own spaces, else by the rules of word pieces ("##ing") and words.
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

// Whether tokens contain their spaces.
const isSpaced = (tokens: { text: string }[]): boolean => tokens.some(({ text }) => /^\s|\s$/.test(text));

// Appends a token to the text.
export const appendToken = (text: string, choice: { text: string }, tokens: Token[]): string =>
  appended(text, choice.text, isSpaced(tokens) || tokens.length === 0);

// Makes generated tokens part of the text, or of the target.
export function keepGenerated(
  request: RecordRequest,
  steps: Step[],
  form: ModelFacts["form"] | undefined,
): RecordRequest {
  const texts = steps.map(({ text }) => text);
  if (form === "encoder-decoder") return { ...request, target: joinTokens(texts).trim(), generate: null };
  return { ...request, text: request.text + joinTokens(texts), generate: null };
}

// Replaces a [MASK] of either text by a word. Null: there is no such gap.
export function fillGap(request: RecordRequest, gap: number, word: string): RecordRequest | null {
  let left = gap;
  for (const part of ["text", "pair"] as const) {
    const text = request[part] ?? "";
    for (const found of text.matchAll(kGaps)) {
      if (left-- === 0) return { ...request, [part]: replaced(text, found.index, found.index + found[0].length, word) };
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

// Spans of the tokens in their text, as far as they can be found: a tokenizer may change
// case and accents. Null: not found.
export function tokenSpans(text: string, tokens: Token[], sequence: number): ([number, number] | null)[] {
  const low = text.toLowerCase();
  const same = low.length === text.length ? low : text;
  let at = 0;
  let lost = false; // text before the next token may belong to one that was not found
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

// Replaces a token by a word; null: its position is unknown.
export function replaceToken(
  request: RecordRequest,
  tokens: Token[],
  token: number,
  word: string,
): RecordRequest | null {
  const part = tokens[token]?.sequence === 1 ? "pair" : "text";
  const text = request[part] ?? "";
  const span = tokenSpans(text, tokens, part === "pair" ? 1 : 0)[token];
  return span && { ...request, [part]: replaced(text, ...span, word) };
}

// The target up to this row plus the choice: row 0 of the target is its start token.
export function extendAnswer(request: RecordRequest, target: Token[], row: number, choice: Choice): RecordRequest {
  const texts = target.slice(0, row + 1).flatMap((token) => (token.special ? [] : [token.text]));
  return { ...request, target: joinTokens([...texts, choice.text]).trim(), generate: null };
}

// The request for the same tokens without generation, to change its conditions.
export function withoutGeneration(facts: Facts): RecordRequest | null {
  const { generated, model } = facts;
  const request = recordRequestOf(facts);
  if (!request || !request.generate) return request ?? null;
  return keepGenerated(request, generated?.steps ?? [], model?.form);
}
