import { changeOneWord, swapWords } from "../../src/input/textVariants";
import { describe, expect, it } from "vitest";
import { otherModel } from "../../src/api/comparison";
import type { ModelFacts } from "../../src/api/facts";

describe("suggested variants", () => {
  it.each([
    ["The film was great.", "The film was terrible."],
    ["Good films last.", "Bad films last."],
    ["She sang.", "He sang."],
    ["今天天气很好。", "今天天气很坏。"],
    ["Attention needs memory.", "memory needs Attention."],
    ["Hm", "H"],
  ])("change one word of %s", (text, other) => expect(changeOneWord(text)).toBe(other));

  it("never change part of a word", () => {
    expect(changeOneWord("Catalogues this thesis")).toBe("thesis this Catalogues");
  });

  const model = (name: string, layers: number, heads: number, form: ModelFacts["form"]): ModelFacts => ({
    name,
    type: "",
    form,
    layers,
    heads,
    decoder_layers: form === "encoder-decoder" ? layers : 0,
    max_tokens: 0,
    fills: false,
    continues: false,
    labels: [],
  });

  it("swap words", () => {
    expect(swapWords("The film was great, wonderful.")).toBe("The film was wonderful, great.");
    expect(swapWords("你好")).toBe("你");
  });

  it("name another model of the same form with as many heads", () => {
    const models = [
      model("own", 4, 4, "encoder"),
      model("small", 2, 4, "encoder"),
      model("writer", 4, 4, "decoder"),
      model("alike", 4, 4, "encoder"),
      model("both", 4, 4, "encoder-decoder"),
    ];
    expect(otherModel(models, "own")?.name).toBe("alike");
    expect(otherModel(models.slice(0, 3), "own")).toBeUndefined();
    expect(otherModel(models, "small")).toBeUndefined();
    expect(otherModel(models, "nobody")).toBeUndefined();
  });
});
