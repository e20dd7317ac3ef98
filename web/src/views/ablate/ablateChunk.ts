export { default as View } from "./AblateView.svelte";
export { default as Panel } from "../../panels/AblatePanel.svelte";
