// Thumbnails of all heads, painted when first drawn.
import { maximum } from "./maximum";
import { type MapName, pixels } from "./colour";

export class Thumbnails {
  private readonly painted = new Map<number, HTMLCanvasElement>();
  private look = "";

  constructor(
    private readonly bytes: Uint8Array, // [heads][rows][columns]
    readonly rows: number,
    readonly columns: number,
  ) {}

  // The largest byte of a head: thumbnails hold maxima, so it is that of the whole head.
  top(head: number): number {
    return maximum(this.cells(head));
  }

  picture(head: number, map: MapName, fit: boolean): HTMLCanvasElement {
    const look = `${map}/${fit}`;
    if (this.look !== look) this.painted.clear();
    this.look = look;
    let canvas = this.painted.get(head);
    if (!canvas) {
      canvas = paint(this.cells(head), this.rows, this.columns, pixels(map, fit ? this.top(head) : 255));
      this.painted.set(head, canvas);
    }
    return canvas;
  }

  private cells(head: number): Uint8Array {
    const size = this.rows * this.columns;
    return this.bytes.subarray(head * size, (head + 1) * size);
  }
}

export function paint(bytes: Uint8Array, rows: number, columns: number, colours: Uint32Array): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(columns, rows);
  const out = new Uint32Array(image.data.buffer);
  for (let i = 0; i < bytes.length; ++i) out[i] = colours[bytes[i]];
  context.putImageData(image, 0, 0);
  return canvas;
}
