// Diagrams of boxes and arrows: those that src/course/diagram.cc draws as text.

export interface Box {
  id: string;
  x: number; // in columns, of its middle
  y: number; // in rows
  text: string;
  plain?: boolean; // without a frame
}

export interface Drawing {
  columns: number;
  rows: number;
  boxes: Box[];
  arrows: [from: string, to: string, label?: string][];
}

const attention: Drawing = {
  columns: 6,
  rows: 3,
  boxes: [
    { id: "q", x: 0.5, y: 0, text: "Q" },
    { id: "k", x: 0.5, y: 1, text: "K" },
    { id: "v", x: 0.5, y: 2, text: "V" },
    { id: "scores", x: 1.7, y: 0.5, text: "Q Kᵀ" },
    { id: "scale", x: 2.9, y: 0.5, text: "/ √d_k" },
    { id: "softmax", x: 4.1, y: 0.5, text: "softmax" },
    { id: "output", x: 5.4, y: 1.25, text: "output" },
  ],
  arrows: [
    ["q", "scores"],
    ["k", "scores"],
    ["scores", "scale"],
    ["scale", "softmax"],
    ["softmax", "output"],
    ["v", "output"],
  ],
};

const heads: Drawing = {
  columns: 7,
  rows: 3,
  boxes: [
    { id: "x", x: 0.4, y: 1, text: "X" },
    ...[0, 1, 2].flatMap((n) => [
      { id: `w${n}`, x: 1.8, y: n, text: "W_q W_k W_v" },
      { id: `a${n}`, x: 3.3, y: n, text: n < 2 ? `head ${n}` : "head h" },
    ]),
    { id: "concat", x: 4.6, y: 1, text: "concat" },
    { id: "o", x: 5.5, y: 1, text: "W_o" },
    { id: "output", x: 6.5, y: 1, text: "output" },
  ],
  arrows: [
    ...[0, 1, 2].flatMap((n): [string, string][] => [
      ["x", `w${n}`],
      [`w${n}`, `a${n}`],
      [`a${n}`, "concat"],
    ]),
    ["concat", "o"],
    ["o", "output"],
  ],
};

const cross: Drawing = {
  columns: 6,
  rows: 3,
  boxes: [
    { id: "decoder", x: 0.5, y: 0, text: "decoder" },
    { id: "encoder", x: 0.5, y: 1.5, text: "encoder" },
    { id: "q", x: 1.9, y: 0, text: "Q" },
    { id: "k", x: 1.9, y: 1, text: "K" },
    { id: "v", x: 1.9, y: 2, text: "V" },
    { id: "weights", x: 3.6, y: 0.5, text: "softmax(Q Kᵀ / √d_k)" },
    { id: "output", x: 5.4, y: 1.25, text: "output" },
  ],
  arrows: [
    ["decoder", "q", "W_q"],
    ["encoder", "k", "W_k"],
    ["encoder", "v", "W_v"],
    ["q", "weights"],
    ["k", "weights"],
    ["weights", "output"],
    ["v", "output"],
  ],
};

const steps = [1, 2, 3, 4];
const rnn: Drawing = {
  columns: 6,
  rows: 5,
  boxes: [
    { id: "rnn", x: 0.5, y: 0, text: "RNN", plain: true },
    ...[0, ...steps].map((n) => ({ id: `h${n}`, x: 1.4 + n, y: 0, text: `h_${n}` })),
    ...steps.map((n) => ({ id: `x${n}`, x: 1.4 + n, y: 1, text: `x_${n}` })),
    { id: "attention", x: 0.5, y: 2.6, text: "attention", plain: true },
    ...steps.map((n) => ({ id: `a${n}`, x: 1.4 + n, y: 2.6, text: `x_${n}` })),
    ...steps.map((n) => ({ id: `b${n}`, x: 1.4 + n, y: 4, text: `y_${n}` })),
  ],
  arrows: [
    ...steps.map((n): [string, string] => [`h${n - 1}`, `h${n}`]),
    ...steps.map((n): [string, string] => [`x${n}`, `h${n}`]),
    ...steps.flatMap((n) => steps.map((m): [string, string] => [`a${n}`, `b${m}`])),
  ],
};

const transformer: Drawing = {
  columns: 7,
  rows: 3,
  boxes: [
    { id: "source", x: 0.5, y: 0, text: "source" },
    { id: "self", x: 2.1, y: 0, text: "self-attention" },
    { id: "feed", x: 3.9, y: 0, text: "feed-forward" },
    { id: "memory", x: 5.5, y: 0, text: "memory" },
    { id: "written", x: 0.5, y: 2, text: "written" },
    { id: "causal", x: 2.1, y: 2, text: "causal attention" },
    { id: "cross", x: 3.9, y: 2, text: "cross-attention" },
    { id: "feed2", x: 5.5, y: 2, text: "feed-forward" },
    { id: "next", x: 6.6, y: 2, text: "next" },
  ],
  arrows: [
    ["source", "self"],
    ["self", "feed"],
    ["feed", "memory"],
    ["memory", "cross", "K, V"],
    ["written", "causal"],
    ["causal", "cross"],
    ["cross", "feed2"],
    ["feed2", "next"],
  ],
};

export const kDrawings: Record<string, Drawing> = { attention, heads, cross, rnn, transformer };
