// The width of a text in the typeface of the figures, for the layout of SVG.

// As kSvgFamilies of src/figure/layout/typesetter.h.
const kFamilies =
  "'Noto Sans','Noto Sans CJK SC','DejaVu Sans','Helvetica Neue',Arial,'PingFang SC','Microsoft YaHei',sans-serif";
const kMeasured = 100; // px: widths are measured at this size and scaled, because hinting rounds those of small letters
const kMostKept = 4096;

export type TextWidth = (text: string, size: number, bold: boolean) => number;

// Where there is no canvas: about as wide as the letters of a sans-serif face are.
export function estimatedWidth(text: string, size: number, bold: boolean): number {
  let width = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0)!;
    width += code >= 0x2e80 ? 1 : /[iljtfrI.,:;'|!() ]/.test(letter) ? 0.32 : /[mwMW@%]/.test(letter) ? 0.88 : 0.56;
  }
  return width * size * (bold ? 1.06 : 1);
}

export function canvasTextWidth(): TextWidth {
  const canvas = typeof OffscreenCanvas === "undefined" ? null : new OffscreenCanvas(1, 1).getContext("2d");
  if (!canvas) return estimatedWidth;
  const kept = new Map<string, number>(); // layouts measure the same tokens again and again
  return (text, size, bold) => {
    const key = (bold ? "b" : "r") + text;
    let width = kept.get(key);
    if (width === undefined) {
      canvas.font = `${bold ? 600 : 400} ${kMeasured}px ${kFamilies}`;
      width = canvas.measureText(text).width / kMeasured;
      if (kept.size >= kMostKept) kept.clear();
      kept.set(key, width);
    }
    return width * size;
  };
}
