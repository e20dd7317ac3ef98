// Strings about the measures of the matrix view.
export const en = {
  name: "Measure",
  names: { raw: "weights", value: "weight × value", rollout: "rollout" },
  hints: {
    raw: "the attention weights as the model has them",
    value: "each weight times the norm of what it brings, |weight · v W_O|",
    rollout: "what tokens are made of after several layers (attention rollout)",
  },
  why: {
    self: "self-attention only",
    long: "at most 512 tokens",
    recorded: "not recorded",
  },
  scales: {
    value: (most: string) => `norm of weight × value, up to ${most}, square-root scale`,
    rollout: (layer: number) =>
      layer === 0 ? "rollout of layer 0, square-root scale" : `rollout of layers 0 to ${layer}, square-root scale`,
  },
  sees: {
    value: "Each weight times the norm of what it brings: strong weights on values that say nothing fade.",
    rollout: "How much of each token (column) is in each token (row) after these layers; heads are averaged.",
  },
  labels: { raw: "weight", value: "|weight · v W_O|", rollout: "rollout" },
  headless: "Of all heads together: which head is chosen does not matter here.",
  madeOf: (token: string) => `What “${token}” is made of`,
  onlyForWeights: "sinks can be removed only from weights",
  alwaysFits: "the last colour is always the largest here",
};

export const zh: typeof en = {
  name: "度量",
  names: { raw: "权重", value: "权重 × 值", rollout: "rollout（逐层累积）" },
  hints: {
    raw: "模型的注意力权重本身",
    value: "每个权重乘以它带来的向量的范数，|权重 · v W_O|",
    rollout: "经过若干层之后，词元由哪些词元构成（attention rollout）",
  },
  why: { self: "仅限自注意力", long: "最多 512 个词元", recorded: "没有记录" },
  scales: {
    value: (most) => `权重 × 值的范数，最大 ${most}，平方根标度`,
    rollout: (layer) => (layer === 0 ? "第 0 层的 rollout，平方根标度" : `第 0 到 ${layer} 层的 rollout，平方根标度`),
  },
  sees: {
    value: "每个权重乘以它带来的向量的范数：落在无内容的值上的大权重会变淡。",
    rollout: "经过这些层之后，每个词元（行）里含有多少各词元（列）；各头取平均。",
  },
  labels: { raw: "权重", value: "|权重 · v W_O|", rollout: "rollout" },
  headless: "这是所有头合起来的结果：选哪个头都一样。",
  madeOf: (token) => `“${token}”由什么构成`,
  onlyForWeights: "只有权重可以去除汇聚点",
  alwaysFits: "这里最后一种颜色总是最大值",
};
