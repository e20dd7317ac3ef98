// Hatch patterns, so that colour is not the only cue.

export type Hatch = "rising" | "falling" | "dots";

const kSize = 8; // pixels of the screen after which it repeats
const made = new Map<string, HTMLCanvasElement>();

function tileOf(hatch: Hatch, colour: string): HTMLCanvasElement {
  const ratio = devicePixelRatio;
  const key = `${hatch}/${colour}/${ratio}`;
  let canvas = made.get(key);
  if (!canvas) {
    canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.round(kSize * ratio);
    const context = canvas.getContext("2d")!;
    const side = canvas.width;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = ratio;
    if (hatch === "dots") {
      for (const at of [side / 4, (3 * side) / 4]) context.fillRect(at - ratio, at - ratio, 2 * ratio, 2 * ratio);
    } else {
      const [from, to] = hatch === "rising" ? [side, 0] : [0, side];
      // Also beside the tile, so that lines meet where tiles do.
      for (const shift of [-side, 0, side]) {
        context.moveTo(shift, from);
        context.lineTo(shift + side, to);
      }
      context.stroke();
    }
    made.set(key, canvas);
  }
  return canvas;
}

// A fill style that ignores the scale of the context: lines stay one pixel wide and do not move with the map.
export function hatchPattern(context: CanvasRenderingContext2D, hatch: Hatch, colour: string): CanvasPattern {
  const pattern = context.createPattern(tileOf(hatch, colour), "repeat")!;
  pattern.setTransform(new DOMMatrix().scale(1 / devicePixelRatio));
  return pattern;
}
