import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeBase64, unpackFiles } from "../../src/api/transport/carried";
import { sizeInPoints, svgUrl } from "../../src/api/transport/figurePng";

const kPack = fileURLToPath(new URL("../../pack/pack.mjs", import.meta.url));
let folder = "";

const put = (path: string, text: string) => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const pack = (out: string, ...more: string[]) =>
  spawnSync(process.execPath, [
    kPack,
    ...["wasm", "page", "models", "lessons", "offline"].flatMap((name) => [`--${name}`, join(folder, name)]),
    ...["--out", join(folder, out)],
    ...more,
  ]);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pack-"));
  const head = '<html><head><meta charset="utf-8" /></head><body>';
  put("wasm", "\0asm");
  put("offline", "<!--attnscope-data-->");
  put("page/app.html", `${head}<!--attnscope-blocks--><script type="module">let a = "</b>";</script></body></html>`);
  put("page/site/index.html", `${head}</body></html>`);
  put("page/site/assets/index-1.js", "1");
  for (const name of ["a-model", "tiny-bert"]) {
    put(`models/${name}/config.json`, `{"name":"${name}"}`);
    put(`models/${name}/model.safetensors`, `weights of ${name}`);
    put(`models/${name}/README.md`, "not packed");
  }
  put("models/README.md", "not a model");
  for (const name of ["lesson.json", "en.md", "steps.py", "words.csv", "compute.cc"]) put(`lessons/one/${name}`, name);
});
afterAll(() => rmSync(folder, { recursive: true }));

const elements = (page: string) =>
  new Map([...page.matchAll(/<script type="[^"]*" id="([^"]*)">([^<]*)<\/script>/g)].map(([, id, text]) => [id, text]));

interface Contents {
  wasm: string;
  files: string;
  models: { name: string; block: string; files: { path: string; size: number; url: string }[] }[];
}

describe("packing", () => {
  test("puts everything into one file, which forbids all else", () => {
    expect(pack("dist").stderr.toString()).toBe("");
    const page = readFileSync(join(folder, "dist/attnscope.html"), "utf8");
    const all = elements(page);
    const contents = JSON.parse(all.get("attnscope-contents")!) as Contents;
    expect(contents.models.map(({ name }) => name)).toEqual(["a-model", "tiny-bert"]);
    const unpacked = (id: string) => new Uint8Array(gunzipSync(decodeBase64(all.get(id)!)));
    expect(Buffer.from(unpacked(contents.wasm)).toString()).toBe("\0asm");
    const small = unpackFiles(unpacked(contents.files));
    expect(small.map(({ path }) => path)).toEqual([
      "/models/a-model/config.json",
      "/models/tiny-bert/config.json",
      "/lessons/one/en.md",
      "/lessons/one/lesson.json",
      "/lessons/one/steps.py",
      "/lessons/one/words.csv",
      "/page/offline.html",
    ]);
    const [weights] = unpackFiles(unpacked(contents.models[1].block));
    expect(new TextDecoder().decode(weights.content as Uint8Array)).toBe("weights of tiny-bert");
    expect(contents.models[1].files).toEqual([{ path: "/models/tiny-bert/model.safetensors", size: 20 }]);
    expect(page).toContain("default-src 'none'; script-src 'sha256-");
  });

  test("puts everything into a folder, under names that change with the contents", () => {
    const site = (name: string) => readFileSync(join(folder, "dist/site", name), "utf8");
    const contents = JSON.parse(elements(site("index.html")).get("attnscope-contents")!) as Contents;
    expect(site(contents.wasm)).toBe("\0asm");
    const [{ url, path, size }] = contents.models[0].files;
    expect([path, size]).toEqual(["/models/a-model/model.safetensors", 18]);
    expect(url).toMatch(/^models\/a-model\/model-[0-9a-f]{12}\.safetensors$/);
    expect(site(url)).toBe("weights of a-model");
    expect(readdirSync(join(folder, "dist/site"))).toContain("assets");
  });

  test("gives the same bytes again, and fewer models if asked to", () => {
    const read = (out: string) => readFileSync(join(folder, out, "attnscope.html"));
    pack("again");
    expect(read("again").equals(read("dist"))).toBe(true);
    pack("less", "--only", "a-model");
    expect(elements(read("less").toString()).has("attnscope-model-tiny-bert")).toBe(false);
    const wrong = pack("wrong", "--only", "nobody");
    expect([wrong.status, wrong.stderr.toString()]).toEqual([1, expect.stringContaining("no model nobody")]);
  });
});

test("a picture in PNG is asked for as SVG", () => {
  expect(svgUrl("api/recordings/1/figure?view=heatmap&format=png&dpi=300&layer=1")).toEqual({
    url: "api/recordings/1/figure?view=heatmap&format=svg&dpi=300&layer=1",
    dpi: 300,
  });
  expect(svgUrl("api/compare/figure?a=1&b=2")).toEqual({ url: "api/compare/figure?a=1&b=2&format=svg", dpi: 150 });
  expect(svgUrl("api/recordings/1/figure?format=svg")).toBeNull();
  expect(svgUrl("api/recordings/1/table?format=png")).toBeNull();
  expect(sizeInPoints('<?xml?><svg xmlns="x" width="264.96pt" height="229.92pt" viewBox="0 0 1 1">')).toEqual({
    width: 264.96,
    height: 229.92,
  });
});
