// Parses the text of a lesson: words, `code`, names with an index (W_q), and changed numbers.

export interface Piece {
  kind: "text" | "code" | "name";
  text: string;
  sub?: string;
  sup?: string;
  changed?: boolean;
}

const kPieces =
  /`([^`]+)`|sqrt\((\w+)\)|(?<![\w/.-])([A-Za-z]{1,2})_([a-z]+|\d)(?![\w[(])|(?<![\w/.-])([A-Za-z])\^([T\d])(?!\w)/g;
const kNumber = /[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?/g;

// Marks changed numbers if only numbers differ.
export function prose(text: string, before = text): Piece[] {
  const [now, old] = [text.match(kNumber) ?? [], before.match(kNumber) ?? []];
  const isSame = text !== before && text.replace(kNumber, "#") === before.replace(kNumber, "#");
  let number = 0;
  const pieces: Piece[] = [];
  const plain = (part: string) => {
    let from = 0;
    for (const found of part.matchAll(kNumber)) {
      const changed = isSame && now[number] !== old[number];
      ++number;
      if (!changed) continue;
      if (found.index > from) pieces.push({ kind: "text", text: part.slice(from, found.index) });
      pieces.push({ kind: "text", text: found[0], changed });
      from = found.index + found[0].length;
    }
    if (from < part.length) pieces.push({ kind: "text", text: part.slice(from) });
  };
  let from = 0;
  for (const found of text.matchAll(kPieces)) {
    plain(text.slice(from, found.index));
    number += found[0].match(kNumber)?.length ?? 0;
    pieces.push(...setPieces(found));
    from = found.index + found[0].length;
  }
  plain(text.slice(from));
  return pieces;
}

function setPieces([, code, root, base, sub, powered, sup]: RegExpMatchArray): Piece[] {
  if (code !== undefined) return [{ kind: "code", text: code }];
  if (root !== undefined) return [{ kind: "text", text: "√" }, ...prose(root)];
  return [base !== undefined ? { kind: "name", text: base, sub } : { kind: "name", text: powered, sup }];
}
