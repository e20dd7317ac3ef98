import { mount } from "svelte";
import App from "./App.svelte";
import { app } from "./state/app.svelte";
import "./style.css";

const target = document.getElementById("page")!;
if (!__OFFLINE__ && location.pathname.endsWith("/learn")) {
  void import("./course").then((course) => course.open(target));
} else {
  void app.start();
  mount(App, { target });
}
