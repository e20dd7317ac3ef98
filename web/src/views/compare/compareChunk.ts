export { default as View } from "./CompareView.svelte";
export { default as Panel } from "../../panels/ComparePanel.svelte";
