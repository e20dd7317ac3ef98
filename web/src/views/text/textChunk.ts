export { default as View } from "./TextView.svelte";
export { default as Panel } from "../../panels/TextPanel.svelte";
