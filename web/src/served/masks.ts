export { default as View } from "../views/Masks.svelte";
export { default as Panel } from "../parts/MasksPanel.svelte";
