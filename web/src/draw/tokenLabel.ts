// Labels of tokens beside a picture: every character is visible, as in src/figure/scene/label.h.

// Characters that are invisible, change the direction of the text, or are not assigned.
const hidden = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u200b\\u200e\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ufffe\\uffff]",
  "g",
);
const kEscapes: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return (
    kEscapes[character] ??
    (code < 0x80 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0"))
  );
}

export function visibleText(text: string): string {
  return text
    .replace(/^ +| +$/g, (spaces) => "·".repeat(spaces.length))
    .replace(hidden, escaped)
    .replace(/^[\u200c\u200d]|[\u200c\u200d]$/g, escaped);
}

// The direction of the first letter that has one.
export function textDirection(text: string): "ltr" | "rtl" {
  const first = /[\p{L}]/u.exec(text)?.[0];
  return first && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(first)
    ? "rtl"
    : "ltr";
}
