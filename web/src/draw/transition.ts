// Animates a picture of one view into its position in the next view.

export interface Box {
  x: number; // on the screen
  y: number;
  width: number;
  height: number;
}

const kLasts = 140; // ms
const kSoon = 400; // ms: later transitions are dropped

let waiting: { picture: HTMLCanvasElement; from: Box; at: number } | null = null;

const moves = (): boolean => !matchMedia("(prefers-reduced-motion: reduce)").matches;

// Starts a transition at `from`; the next view calls finishTransition().
export function startTransition(picture: HTMLCanvasElement, from: Box): void {
  waiting = moves() ? { picture, from, at: performance.now() } : null;
}

// The transform that maps `to` onto `from`.
export const transformBetween = (from: Box, to: Box): string =>
  `translate(${from.x - to.x}px, ${from.y - to.y}px) scale(${from.width / to.width}, ${from.height / to.height})`;

// Null: the next view does not show it.
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
