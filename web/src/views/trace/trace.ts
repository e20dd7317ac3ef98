export { default as View } from "./Trace.svelte";
export { default as Panel } from "../../panels/TracePanel.svelte";
