import { mount } from "svelte";
import App from "./App.svelte";
import { app } from "./app.svelte";
import "./style.css";

void app.start();
mount(App, { target: document.getElementById("page")! });
