// The course: loaded on its own page only.
import { mount } from "svelte";
import { app } from "../state/app.svelte";
import { course } from "./courseState.svelte";
import CoursePage from "./CoursePage.svelte";

export function open(target: HTMLElement): Record<string, unknown> {
  app.applyPreferences();
  void course.start();
  return mount(CoursePage, { target });
}
