export { default as View } from "../views/Ablate.svelte";
export { default as Panel } from "../parts/AblatePanel.svelte";
