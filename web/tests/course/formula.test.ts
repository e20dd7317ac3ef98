import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseFormula, plain } from "../../src/course/content/formula";

const set = (formula: string) => plain(parseFormula(formula));

describe("a formula", () => {
  test.each([
    ["weights = softmax(Q K^T / sqrt(d_k))", "weights = softmax({Q K^{T}}/{√{d_{k}}})"],
    ["scaled = scores / sqrt(d_k)", "scaled = {scores}/{√{d_{k}}}"],
    ["output = phi(Q) S / (phi(Q) z)", "output = {φ(Q) S}/{φ(Q) z}"],
    ["head_i = Attention(Q W_q^i, K W_k^i)", "head_{i} = Attention(Q W_{q}^{i}, K W_{k}^{i})"],
    ["PE[p, 2i] = sin(p / 10000^(2i/d))", "PE[p, 2i] = sin({p}/{10000^{2i/d}})"],
    ["exp(a - m) / exp(b - m) = exp(a) / exp(b)", "{exp(a − m)}/{exp(b − m)} = {exp(a)}/{exp(b)}"],
    ["d weights / d scores = diag(p) - p p^T", "{d weights}/{d scores} = diag(p) − p p^{T}"],
    ["S_i = S_(i-1) + phi(k_i)^T v_i", "S_{i} = S_{i−1} + φ(k_{i})^{T} v_{i}"],
    ["entropy = - sum_j w_j log w_j", "entropy = − Σ_{j} w_{j} log w_{j}"],
    ["scores[i, j] = -inf for j > i", "scores[i, j] = −∞ for j > i"],
    ["[2: nothing, / d_k or / sqrt(d_k)]", "[2: nothing, / d_{k} or / √{d_{k}}]"],
    ["score = q_i k_j / sqrt(d_k) + bias", "score = {q_{i} k_{j}}/{√{d_{k}}} + bias"],
    ["x = norm(x + feed_forward(x))", "x = norm(x + feed_forward(x))"],
    ["var(q . k) = d_k", "var(q · k) = d_{k}"],
  ])("%s", (formula, wanted) => expect(set(formula)).toBe(wanted));

  test("of every lesson keeps all its letters and digits, in both languages", () => {
    const lessons = new URL("../../../lessons/", import.meta.url);
    const folders = readdirSync(lessons, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    let count = 0;
    for (const { name } of folders)
      for (const file of ["en.md", "zh.md"]) {
        const lines = readFileSync(new URL(`${name}/${file}`, lessons), "utf8").split("\n");
        for (const line of lines.filter((one) => one.startsWith("$ "))) {
          const letters = (text: string) => text.replace(/[^\p{L}\d]/gu, "");
          const named = line
            .slice(2)
            .replaceAll("sqrt", "")
            .replaceAll("phi", "φ")
            .replaceAll("-inf", "")
            .replaceAll("sum_", "Σ");
          expect(letters(set(line.slice(2))), line).toBe(letters(named));
          ++count;
        }
      }
    expect(count).toBeGreaterThan(50);
  });
});
