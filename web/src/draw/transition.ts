// Shows what became what: a picture of one view grows, or shrinks, into its place in the next.

export interface Box {
  x: number; // on the screen
  y: number;
  width: number;
  height: number;
}

const kLasts = 140; // ms
const kSoon = 400; // ms: what has not arrived by then stays away

let waiting: { picture: HTMLCanvasElement; from: Box; at: number } | null = null;

const moves = (): boolean => !matchMedia("(prefers-reduced-motion: reduce)").matches;

// A picture leaves `from`; the next view says where it belongs.
export function startTransition(picture: HTMLCanvasElement, from: Box): void {
  waiting = moves() ? { picture, from, at: performance.now() } : null;
}

// So that `to`, seen through this, stands where `from` is.
export const transformBetween = (from: Box, to: Box): string =>
  `translate(${from.x - to.x}px, ${from.y - to.y}px) scale(${from.width / to.width}, ${from.height / to.height})`;

// Null: it has no place there.
export function finishTransition(to: Box | null): void {
  const transition = waiting;
  waiting = null;
  if (!transition || !to || !(to.width > 0 && to.height > 0) || performance.now() - transition.at > kSoon) return;
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [transition.picture.width, transition.picture.height];
  copy.getContext("2d")!.drawImage(transition.picture, 0, 0);
  copy.ariaHidden = "true";
  Object.assign(copy.style, {
    position: "fixed",
    left: `${to.x}px`,
    top: `${to.y}px`,
    width: `${to.width}px`,
    height: `${to.height}px`,
    transformOrigin: "0 0",
    pointerEvents: "none",
    imageRendering: "pixelated",
    zIndex: "2",
  });
  copy.dataset.flight = "";
  document.body.append(copy);
  const steps = [{ transform: transformBetween(transition.from, to) }, { transform: "none" }];
  const motion = copy.animate(steps, { duration: kLasts, easing: "ease-out" });
  motion.onfinish = motion.oncancel = () => copy.remove();
}

// The part of a canvas that lies in `box`, a box within it in CSS pixels.
export function cropCanvas(canvas: HTMLCanvasElement, box: Box): HTMLCanvasElement {
  const ratio = devicePixelRatio;
  const part = document.createElement("canvas");
  [part.width, part.height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
  const { x, y, width, height } = box;
  part
    .getContext("2d")!
    .drawImage(canvas, x * ratio, y * ratio, width * ratio, height * ratio, 0, 0, part.width, part.height);
  return part;
}
