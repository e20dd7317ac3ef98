export { default as View } from "./Ablate.svelte";
export { default as Panel } from "../../panels/AblatePanel.svelte";
