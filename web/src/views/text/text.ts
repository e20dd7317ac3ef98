export { default as View } from "./Text.svelte";
export { default as Panel } from "../../panels/TextPanel.svelte";
