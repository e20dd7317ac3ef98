export { default as View } from "./Compare.svelte";
export { default as Panel } from "../../panels/ComparePanel.svelte";
