// Changes to how a specimen is made, as a reader writes and chooses.
import { type Choice, type Facts, type ModelFacts, recordRequestOf, type Step, type Token } from "../api/facts";
import type { RecordRequest } from "../api/recordRequest";
import { kGaps } from "../api/predictions";

// Another text makes what was written for the old one void.
export const withText = (request: RecordRequest, text: string): RecordRequest => ({
  ...request,
  text,
  target: null,
  generate: null,
});

// Heads are those of one model; a second text is for those that read pairs.
export const withModel = (request: RecordRequest, model: ModelFacts): RecordRequest => ({
  ...request,
  model: model.name,
  pair: model.form === "encoder" ? request.pair : null,
  target: null,
  off: [],
  generate: null,
});

// One line of a top bar has room for these.
export const fitsOneLine = (text: string): boolean => text.length <= 300 && !/[\r\n]/.test(text);

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
const isSpaced = (tokens: { text: string }[]): boolean => tokens.some(({ text }) => /^\s|\s$/.test(text));

// The text with one more token behind it.
export const appendToken = (text: string, choice: { text: string }, tokens: Token[]): string =>
  appended(text, choice.text, isSpaced(tokens) || tokens.length === 0);

// What was generated becomes part of the text, or of the answer.
export function keepGenerated(
  request: RecordRequest,
  steps: Step[],
  form: ModelFacts["form"] | undefined,
): RecordRequest {
  const texts = steps.map(({ text }) => text);
  if (form === "encoder-decoder") return { ...request, target: joinTokens(texts).trim(), generate: null };
  return { ...request, text: request.text + joinTokens(texts), generate: null };
}

// The gap'th mask among both texts gives way to a word. Null: the texts do not have it.
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

// Where the tokens of one text stand in it, as far as they can be found in what was written; a model may have changed
// case and accents. Null: not there.
export function tokenSpans(text: string, tokens: Token[], sequence: number): ([number, number] | null)[] {
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

// The answer up to and with this row's choice: rows of the target begin with a sign for its start.
export function extendAnswer(request: RecordRequest, target: Token[], row: number, choice: Choice): RecordRequest {
  const texts = target.slice(0, row + 1).flatMap((token) => (token.special ? [] : [token.text]));
  return { ...request, target: joinTokens([...texts, choice.text]).trim(), generate: null };
}

// How what is looked at would be made without generating: for conditions under which the same tokens are read.
export function withoutGeneration(facts: Facts): RecordRequest | null {
  const { generated, model } = facts;
  const request = recordRequestOf(facts);
  if (!request || !request.generate) return request ?? null;
  return keepGenerated(request, generated?.steps ?? [], model?.form);
}
