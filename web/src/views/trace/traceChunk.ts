export { default as View } from "./TraceView.svelte";
export { default as Panel } from "../../panels/TracePanel.svelte";
