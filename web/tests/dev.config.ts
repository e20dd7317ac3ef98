// npm run dev: the page as it is built, with answers from made-up specimens.
import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vite";
import page from "../vite.config";
import { mock } from "./mock";

export default defineConfig((env) =>
  mergeConfig(page(env), { root: fileURLToPath(new URL("..", import.meta.url)), plugins: [mock()] }),
);
