import { describe, expect, test } from "vitest";
import { type OwnFile, thingOf } from "../../src/input/ownFiles";

const file = (path: string, size = 10): OwnFile => ({ path, file: { size, name: path } as File });
const files = (...paths: string[]) => paths.map((path) => file(path));
const kModel = ["m/config.json", "m/tokenizer.json", "m/model.safetensors"];
const of = (...paths: string[]) => thingOf(files(...paths), 1000);

describe("what was dropped", () => {
  test("is a recording or a table", () => {
    expect(of("My film.attn")).toMatchObject({ kind: "data", name: "My film.attn", files: [{ name: "file.attn" }] });
    expect(of("TABLE.NPY")).toMatchObject({ kind: "data", files: [{ name: "file.npy" }] });
    expect(of("a.json", ".DS_Store")).toMatchObject({ kind: "data", name: "a.json" });
  });

  test("is a model: a folder, or its files", () => {
    expect(of(...kModel, "m/README.md", "m/onnx/model.onnx")).toMatchObject({
      kind: "model",
      name: "m",
      bytes: 10,
      files: [{ name: "config.json" }, { name: "tokenizer.json" }, { name: "model.safetensors" }],
    });
    expect(of("config.json", "vocab.txt", "a.safetensors", "b.safetensors")).toMatchObject({
      name: "model",
      bytes: 20,
    });
    expect(of(...kModel, "m/onnx/config.json")).toMatchObject({ name: "m" });
    expect(of("x/m/config.json", "x/m/vocab.json", "x/m/w.safetensors")).toMatchObject({ name: "m" });
  });

  test("may be nothing, nothing known, or too many things", () => {
    expect(of()).toBe("nothing");
    expect(of(".DS_Store", "__MACOSX/a.npy")).toBe("nothing");
    expect(of("a.txt")).toBe("unknown");
    expect(of("a.npy", "b.csv")).toBe("several");
    expect(of(...kModel, "n/config.json")).toBe("several");
    expect(of(...kModel, "m/a.attn")).toBe("several");
  });

  test("may lack something", () => {
    expect(of("m/tokenizer.json", "m/model.safetensors")).toBe("noConfig");
    expect(of("tokenizer.json")).toBe("noConfig");
    expect(of("config.json", "model.safetensors")).toBe("noTokenizer");
    expect(of("config.json", "tokenizer.json")).toBe("noWeights");
    expect(of("config.json", "tokenizer.json", "pytorch_model.bin")).toBe("otherWeights");
    expect(of("model.gguf")).toBe("otherWeights");
  });

  test("may be too large, which is said before it is read", () => {
    const large = [...files("m/config.json", "m/tokenizer.json"), file("m/model.safetensors", 1001)];
    expect(thingOf(large, 1000)).toBe("tooLarge");
    expect(thingOf(large, null)).toMatchObject({ bytes: 1001 });
    expect(thingOf([file("a.attn", 1001)], 1000)).toBe("tooLarge");
  });
});
