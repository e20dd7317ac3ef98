// The microscope as one file, attnscope.html, which the server hands out if it has it (make web-app). It opens where its
// reader left: the file has a place for an address.
import { type Facts, recordRequestOf } from "./facts";
import { request, requestJson } from "./http";
import { stateOfRequest } from "./recordRequest";
import { recordingsUrl } from "./routes";
import { toHash, type UrlState } from "../state/urlState";

const kFile = "attnscope.html";
const kStart = "attnscope-start";
const kModels = ["tiny-bert", "tiny-gpt", "tiny-translate", "imdb-sentiment"]; // that the file carries

// As pack/file.mjs writes it.
const startElement = (address: string): string => `<meta name="${kStart}" content="${address}" />`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

// The address of this view in the file. Null: its models cannot make this recording.
export function viewInFile(facts: Facts, state: UrlState): string | null {
  const recorded = recordRequestOf(facts);
  const models = [recorded?.model ?? "", ...(state.modelB ? [state.modelB] : [])];
  if (!recorded || !models.every((model) => kModels.includes(model))) return null;
  return toHash({ ...state, ...stateOfRequest(recorded) });
}

export const lessonInFile = (hash: string): string => `?learn${hash}`;

export async function hasFile(): Promise<boolean> {
  try {
    return (await requestJson<{ app?: boolean }>(recordingsUrl())).app === true;
  } catch {
    return false;
  }
}

// The file, made to open at this address.
export async function fileAt(address: string): Promise<Blob> {
  return withStart(await (await request(kFile)).blob(), address);
}

export async function withStart(file: Blob, address: string): Promise<Blob> {
  const empty = startElement("");
  const at = (await file.slice(0, 8192).text()).indexOf(empty);
  if (at < 0) return file;
  return new Blob([file.slice(0, at), startElement(escaped(address)), file.slice(at + empty.length)], {
    type: file.type,
  });
}

// Goes to the address that the file was saved at, unless it was opened at another.
export function goToStart(): void {
  const start = document.querySelector<HTMLMetaElement>(`meta[name="${kStart}"]`)?.content;
  if (start && !location.hash && !location.search) history.replaceState(null, "", start);
}
