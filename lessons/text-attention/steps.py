"""Attention on real words, in Python."""

import attnscope as at
import numpy as np

# [vectors]
VOCABULARY = {
    "我": [1.0, 0.2, 0.5, 0.8],
    "喜欢": [0.8, 0.9, 0.1, 0.3],
    "学习": [0.6, 0.4, 0.8, 0.7],
    "AI": [0.3, 0.7, 0.6, 0.9],
    "技术": [0.5, 0.5, 0.7, 0.6],
    "编程": [0.7, 0.3, 0.6, 0.8],
    "很": [0.4, 0.6, 0.3, 0.5],
    "有趣": [0.9, 0.8, 0.4, 0.2],
}


# [look]
def look(sentence):
    words = sentence.split()
    unknown = [word for word in words if word not in VOCABULARY]
    if unknown:
        raise ValueError(f"there is no vector for {', '.join(unknown)}")
    x = np.array([VOCABULARY[word] for word in words], np.float32)
    weights = at.attention(x, x, x, return_weights=True)[1]
    for word, row in zip(words, weights, strict=True):
        first = np.argsort(-row, kind="stable")[:3]
        shares = (f"{mark} {words[j]} {row[j]:.4f} ({row[j]:.1%})" for mark, j in zip("🎯👀📌", first, strict=False))
        print(word, "→", *shares)
    return weights


weights = look("我 喜欢 学习 AI 技术")

# [sentences]
second_weights = look("编程 很 有趣")
third_weights = look("我 喜欢 编程")

# [length]
x = np.array([VOCABULARY[word] for word in "我 喜欢 学习 AI 技术".split()], np.float32)
lengths = np.stack([np.linalg.norm(x, axis=1), weights.sum(axis=0)], axis=1)

# [unknown]
VOCABULARY |= {"深度": [0.6, 0.7, 0.5, 0.8], "是": [0.5, 0.5, 0.5, 0.5], "未来": [0.8, 0.6, 0.7, 0.9]}
try:
    look("深度 学习 是 AI 技术 的 未来")
except ValueError as error:
    print(error)
VOCABULARY["的"] = [0.3, 0.4, 0.3, 0.4]
longer_weights = look("深度 学习 是 AI 技术 的 未来")
