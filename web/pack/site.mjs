// site/: the page with attnscope.wasm, one pack of small files, and the large files of the models, each as a file.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzip, packFiles } from "./contents.mjs";
import { contentsElement, withPolicy } from "./html.mjs";

const kPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
];

// Names change with the contents, so that hosts and browsers may keep files for ever.
const hashed = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 12);

export function writeSite(source, { wasm, models, small }, target) {
  rmSync(target, { recursive: true, force: true });
  cpSync(source, target, { recursive: true });
  const write = (name, bytes) => {
    mkdirSync(dirname(join(target, name)), { recursive: true });
    writeFileSync(join(target, name), bytes);
    return name;
  };
  const pack = gzip(packFiles(small));
  const contents = {
    wasm: write(`attnscope-${hashed(wasm)}.wasm`, wasm),
    files: write(`files-${hashed(pack)}.pack`, pack),
    models: models.map(({ name, large }) => ({
      name,
      files: large.map(({ path, bytes }) => {
        const url = write(path.slice(1).replace(/(\.\w+)$/, `-${hashed(bytes)}$1`), bytes);
        return { path, size: bytes.length, url };
      }),
    })),
  };
  const page = readFileSync(join(target, "index.html"), "utf8");
  const whole = withPolicy(page, kPolicy).replace("</head>", () => `  ${contentsElement(contents)}\n  </head>`);
  writeFileSync(join(target, "index.html"), whole);
}
