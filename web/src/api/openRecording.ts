// Which specimen an address asks for, and how it is opened.
import type { Listeners } from "./http";
import { EmbeddedSource, unpack } from "./sources/embedded";
import { requestRecording, requestAt } from "./recordRequest";
import type { UrlState } from "../state/urlState";
import { ServedSource } from "./sources/served";
import type { Recording } from "./sources/source";

const kData = "attnscope-data"; // the element of an offline page that holds what a server would answer

const data = (): HTMLElement | null => document.getElementById(kData);

// What an offline page begins with, where its address says nothing.
export const initialHash = (): string => location.hash || "#" + (data()?.dataset.state ?? "");

export async function openEmbedded(): Promise<Recording | null> {
  const text = data()?.textContent;
  return text ? new EmbeddedSource(await unpack(text)) : null;
}

// The recording that the state requests, else the one with this id. Null: there is none.
export async function openServed(
  state: UrlState,
  id: string,
  signal: AbortSignal,
  on: Listeners,
): Promise<Recording | null> {
  const request = requestAt(state);
  const found = request ? await requestRecording(request, signal, on) : id;
  return found ? ServedSource.open(found, state.words, signal, on) : null;
}
