// npm run dev: the page as it is built, with answers from made-up specimens.
import { fileURLToPath } from "node:url";
import { mergeConfig } from "vite";
import page from "../vite.config";
import { mock } from "./mock";

export default mergeConfig(page, { root: fileURLToPath(new URL("..", import.meta.url)), plugins: [mock()] });
