export { default as View } from "../views/Text.svelte";
export { default as Panel } from "../parts/TextPanel.svelte";
