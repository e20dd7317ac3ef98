// The course: loaded on /learn only.
import { mount } from "svelte";
import { app } from "../state/app.svelte";
import { course } from "./courseState.svelte";
import CoursePage from "./CoursePage.svelte";

export function open(target: HTMLElement): void {
  app.applyPreferences();
  void course.start();
  mount(CoursePage, { target });
}
