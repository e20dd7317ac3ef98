// PNG of figures where there is no server: the SVG of the same figure, drawn on a canvas.

const kPointsPerInch = 72;
const kDefaultDpi = 150;

// The request for the SVG, and the resolution; null: this is no request for a PNG.
export function svgUrl(url: string): { url: string; dpi: number } | null {
  const [path, text = ""] = url.split("?");
  const query = new URLSearchParams(text);
  if (!path.endsWith("/figure") || (query.get("format") ?? "png") !== "png") return null;
  query.set("format", "svg");
  return { url: `${path}?${query.toString()}`, dpi: Number(query.get("dpi") ?? kDefaultDpi) };
}

// Sizes of an SVG are in points: <svg width="264.96pt" height="229.92pt">
export function sizeInPoints(svg: string): { width: number; height: number } {
  const [head] = /<svg[^>]*>/.exec(svg) ?? [""];
  const size = (name: string) => Number(new RegExp(`\\s${name}="([\\d.]+)(?:pt)?"`).exec(head)?.[1] ?? NaN);
  return { width: size("width"), height: size("height") };
}

export async function asPng(response: Response, dpi: number): Promise<Response> {
  if (!response.ok) return response;
  const svg = await response.text();
  const { width, height } = sizeInPoints(svg);
  const scale = dpi / kPointsPerInch;
  const blob = await drawn(svg, Math.round(width * scale), Math.round(height * scale));
  const headers = new Headers({ "Content-Type": "image/png" });
  const disposition = response.headers.get("Content-Disposition");
  if (disposition) headers.set("Content-Disposition", disposition.replace(/\.svg"/, '.png"'));
  return new Response(blob, { headers });
}

async function drawn(svg: string, width: number, height: number): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    canvas.getContext("2d")!.drawImage(image, 0, 0, width, height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error(`a picture of ${width} x ${height}`)))),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
