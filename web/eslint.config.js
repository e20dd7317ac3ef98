// Mistakes that neither the compiler nor svelte-check sees; prettier decides about layout.
import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import { defineConfig } from "eslint/config";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default defineConfig(
  { ignores: ["dist/", "node_modules/", "test-results/", "playwright-report/"] },
  js.configs.recommended,
  ts.configs.recommended,
  svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      "no-undef": "off", // the compiler's
      "svelte/no-unused-svelte-ignore": "off", // svelte-check's, which also sees a warning that is ignored elsewhere
      "svelte/prefer-svelte-reactivity": "off", // sets and maps are copied and replaced, never changed in place
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    },
  },
  { files: ["**/*.ts"], rules: { "prefer-const": ["error", { destructuring: "all" }] } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
  },
  { files: ["tests/**"], rules: { "no-empty-pattern": "off" } }, // a fixture of Playwright that needs no other
);
