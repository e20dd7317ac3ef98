// npm run dev: the page as it is built, with answers from made-up recordings.
import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vite";
import page from "../vite.config";
import { fakeServer } from "./fakeServer";

export default defineConfig((env) =>
  mergeConfig(page(env), { root: fileURLToPath(new URL("..", import.meta.url)), plugins: [fakeServer()] }),
);
