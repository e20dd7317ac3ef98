// Helpers for drawing on a canvas.
import { textDirection } from "./tokenLabel";

export const kFont = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif';

// Colours of the current theme, read from the style sheet.
export interface ThemeColours {
  background: string;
  ink: string;
  quiet: string;
  line: string;
  accent: string;
  wash: string;
}

export function themeColours(element: Element): ThemeColours {
  const style = getComputedStyle(element);
  const ink = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    background: ink("background"),
    ink: ink("ink"),
    quiet: ink("quiet"),
    line: ink("line"),
    accent: ink("accent"),
    wash: ink("wash"),
  };
}

// Resizes the canvas to device pixels and clears it; drawing uses CSS pixels.
export function prepareCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

const cut = new Map<string, string>();

// The text, cut with an ellipsis to fit the room.
function ellipsize(context: CanvasRenderingContext2D, text: string, room: number): string {
  const key = `${context.font}/${Math.round(room)}/${text}`;
  let short = cut.get(key);
  if (short === undefined) {
    short = text;
    if (context.measureText(text).width > room) {
      const letters = [...new Intl.Segmenter().segment(text)].map((part) => part.segment);
      do letters.pop();
      while (letters.length && context.measureText(letters.join("") + "…").width > room);
      short = letters.join("") + "…";
    }
    if (cut.size > 20000) cut.clear();
    cut.set(key, short);
  }
  return short;
}

export function drawText(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
  context.direction = textDirection(text);
  context.fillText(ellipsize(context, text, room), x, y);
}

// Calls `draw` at most once per frame.
export function oncePerFrame(draw: () => void): () => void {
  let asked = 0;
  return () => {
    if (asked) return;
    asked = requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  };
}

// Marks a complete picture for performance measurements; keeps only the last mark per name.
export function markDrawn(name: string): void {
  performance.clearMarks(name);
  performance.mark(name);
}
