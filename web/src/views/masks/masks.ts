export { default as View } from "./Masks.svelte";
export { default as Panel } from "../../panels/MasksPanel.svelte";
