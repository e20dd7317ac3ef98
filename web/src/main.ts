import { mount } from "svelte";
import App from "./App.svelte";
import { isCoursePage } from "./api/routes";
import { goToStart } from "./api/takeAlong";
import { openWithWorker } from "./layout/openWithWorker";
import { app } from "./state/app.svelte";
import "./style.css";

if (__APP__ === "file") goToStart();
const target = document.getElementById("page")!;

async function open(): Promise<Record<string, unknown>> {
  if (!__OFFLINE__ && isCoursePage(location)) return (await import("./course")).open(target);
  void app.start();
  return mount(App, { target });
}

void (__APP__ === "file" || __APP__ === "site" ? openWithWorker(target, open) : open());
