// Which specimen an address asks for, and how it is opened.
import type { Listeners } from "./ask";
import { EmbeddedSource, unpack } from "./sources/embedded";
import { make, originAt } from "./origin";
import type { Place } from "../state/place";
import { ServedSource } from "./sources/served";
import type { Whole } from "./sources/source";

const kData = "attnscope-data"; // the element of an offline page that holds what a server would answer

const data = (): HTMLElement | null => document.getElementById(kData);

// What an offline page begins with, where its address says nothing.
export const firstHash = (): string => location.hash || "#" + (data()?.dataset.state ?? "");

export async function embedded(): Promise<Whole | null> {
  const text = data()?.textContent;
  return text ? new EmbeddedSource(await unpack(text)) : null;
}

// What the place says how to make, else the specimen of this id. Null: there is none.
export async function served(place: Place, id: string, signal: AbortSignal, on: Listeners): Promise<Whole | null> {
  const origin = originAt(place);
  const found = origin ? await make(origin, signal, on) : id;
  return found ? ServedSource.open(found, place.words, signal, on) : null;
}
