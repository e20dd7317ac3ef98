export { default as View } from "../views/Trace.svelte";
export { default as Panel } from "../parts/TracePanel.svelte";
