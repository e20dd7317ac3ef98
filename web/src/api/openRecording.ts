// Opens the recording that the URL names.
import type { Listeners } from "./http";
import { EmbeddedSource, unpack } from "./sources/embedded";
import { requestRecording, requestAt } from "./recordRequest";
import type { UrlState } from "../state/urlState";
import { ServedSource } from "./sources/served";
import { transport } from "./transport";
import type { Recording } from "./sources/source";

const kData = "attnscope-data"; // the element with the data of an offline page

const data = (): HTMLElement | null => document.getElementById(kData);

// The hash of the URL, else the initial state of an offline page.
export const initialHash = (): string => location.hash || "#" + (data()?.dataset.state ?? "");

export async function openEmbedded(): Promise<Recording | null> {
  const text = data()?.textContent;
  return text ? new EmbeddedSource(await unpack(text)) : null;
}

// The recording that the state requests, else the one with this id, else the first one. Null: there is none.
export async function openServed(
  state: UrlState,
  id: string,
  signal: AbortSignal,
  on: Listeners,
): Promise<Recording | null> {
  const request = requestAt(state) ?? (id ? null : transport.first);
  const found = request ? await requestRecording(request, signal, on) : id;
  return found ? ServedSource.open(found, state.words, signal, on) : null;
}
