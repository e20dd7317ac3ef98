export { default as View } from "./MasksView.svelte";
export { default as Panel } from "../../panels/MasksPanel.svelte";
