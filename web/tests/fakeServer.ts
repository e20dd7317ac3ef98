// Answers like the server for `npm run dev`, from made-up recordings.
import type { ServerResponse } from "node:http";
import type { Plugin } from "vite";
import { FakeRecording } from "./fakeRecording";

const kLong = Array.from({ length: 1022 }, (_, i) => `w${i % 97}`).join(" ");
const kRecordings = [
  new FakeRecording("1", { name: "made-up", layers: 4, heads: 4, text: "The cat sat on the mat . | It was happy ." }),
  new FakeRecording("2", {
    name: "made-up-zh",
    layers: 3,
    heads: 4,
    text: "今天 天气 很 好 ， 我们 去 公园 🌳 吧 שלום עולם 。",
  }),
  new FakeRecording("3", { name: "made-up-12x12", layers: 12, heads: 12, text: kLong.slice(0, 500) }),
  new FakeRecording("4", { name: "made-up-long", layers: 2, heads: 4, text: kLong, causal: true }),
];

function reply(response: ServerResponse, path: string, query: URLSearchParams): void {
  const number = (name: string) => Number(query.get(name) ?? 0);
  const json = (value: object) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(value));
  };
  const array = (value: Uint8Array | Float32Array) => {
    response.setHeader("Content-Type", "application/octet-stream");
    response.end(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  };
  const [, , , id, what] = path.split("/");
  if (!id) {
    const recordings = kRecordings.map((s) => ({
      id: s.id,
      name: s.facts().name,
      text: s.facts().text,
      tokens: s.size,
    }));
    return json({ version: "0.2.0", recordings });
  }
  const recording = kRecordings.find((s) => s.id === id);
  if (!recording) {
    response.statusCode = 404;
    return json({ error: `there is no recording ${id}` });
  }
  const [layer, head] = [number("layer"), number("head")];
  if (!what) return json(recording.facts());
  if (what === "thumbnails") return array(recording.thumbnails());
  if (what === "row") return array(recording.row(layer, head, number("row")));
  if (what === "column") return array(recording.column(layer, head, number("column")));
  if (what === "profile") return json(recording.profile(layer, head));
  const tile = recording.tile(layer, head, number("level"), number("row"), number("column"));
  response.setHeader("X-Shape", `${tile.rows},${tile.columns}`);
  array(tile.bytes);
}

export function fakeServer(): Plugin {
  return {
    name: "fake-server",
    apply: "serve",
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const url = new URL(request.url ?? "/", "http://localhost");
        if (url.pathname.startsWith("/api/recordings")) reply(response, url.pathname, url.searchParams);
        else next();
      });
    },
  };
}
