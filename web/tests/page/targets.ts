// What the journeys run against: the program that serves the page, the page as one file, or the page as a site. The
// last two run attnscope.wasm; the program then only says what is right.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export type Target = "server" | "file" | "site";

const dist = process.env.ATTNSCOPE_SITE ?? fileURLToPath(new URL("../../../dist", import.meta.url));
export const kFile = join(dist, "attnscope.html");
export const kSite = join(dist, "site");

// Why a target cannot be tested; null: it can.
export function missing(target: Target): string | null {
  if (target === "file" && !existsSync(kFile)) return `${kFile} is missing: web/pack/pack.mjs writes it`;
  if (target === "site" && !existsSync(join(kSite, "index.html")))
    return `${kSite} is missing: web/pack/pack.mjs writes it`;
  return null;
}

const kTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
};
const kBelow = "/some/path/"; // hosts serve projects below their root

// A host of static files: no listings, nothing above the folder. `types` replaces MIME types.
export function serveFiles(folder: string, types = kTypes): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, "http://host").pathname);
    const inside = path.startsWith(kBelow) ? normalize(path.slice(kBelow.length) || "index.html") : "..";
    const file = join(folder, inside);
    if (inside.startsWith("..") || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end("not found");
      return;
    }
    response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  });
  return new Promise((ready) =>
    server.listen(0, "127.0.0.1", () =>
      ready({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${kBelow}`, server }),
    ),
  );
}

let site: Promise<{ url: string; server: Server }> | null = null; // one per process of tests

export async function pageUrl(target: "file" | "site"): Promise<string> {
  if (target === "file") return pathToFileURL(kFile).href;
  site ??= serveFiles(kSite);
  const { url, server } = await site;
  server.unref(); // must not keep the process
  return url;
}
