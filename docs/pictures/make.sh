#!/usr/bin/env bash
# docs/pictures/make.sh [FOLDER] - draws the pictures of docs/figures.md, by default beside this script.
#
# ATTNSCOPE=/path/to/attnscope and PYTHON=/path/to/python (with numpy) choose others than build/attnscope and .venv's.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
to=$(realpath "${1:-$root/docs/pictures}")
attnscope=${ATTNSCOPE:-$root/build/attnscope}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# Five words whose vectors are random and look at themselves; eight heads that look at different things.
"${PYTHON:-$root/.venv/bin/python}" - "$work" <<'PY'
import sys
import numpy as np

def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)

folder = sys.argv[1]
random = np.random.RandomState(42)
words = random.randn(5, 5)
np.save(f"{folder}/words.npy", softmax(words @ words.T / np.sqrt(5)))
i, j = np.indices((5, 5))
shapes = [j == i, j == i - 1, j == i + 1, j == 0, j == 4, abs(i - j) <= 1, j <= i, i == i]
np.save(f"{folder}/heads.npy", np.stack([softmax(4.0 * shape + random.randn(5, 5) / 2) for shape in shapes]))
PY

words=(--table "$work/words.npy" --tokens "我 喜欢 学习 AI 技术")
heads=(--table "$work/heads.npy" --tokens "[CLS] The cat sat [SEP]")
"$attnscope" heatmap "${words[@]}" --cmap YlOrRd --values --title "Five words" -o "$to/heatmap.svg"
"$attnscope" heads "${heads[@]}" --cmap Blues --range 0,1 --title "Eight heads" -o "$to/heads.svg"
"$attnscope" headview "${heads[@]}" --heads 0,2,3 --threshold 0.1 --title "Three of them" -o "$to/headview.svg"
"$attnscope" overview --model "$root/tests/golden/models/bert" --text "The quick brown fox jumps over the lazy dog." \
  --title "A tiny BERT with random weights" -o "$to/overview.svg"
"$attnscope" mask "causal & window(4)" -o "$to/mask.svg"
