export { default as View } from "../views/Compare.svelte";
export { default as Panel } from "../parts/ComparePanel.svelte";
