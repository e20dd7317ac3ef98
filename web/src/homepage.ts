// The page that runs without a program, as it is published.
import type { Facts } from "./api/facts";
import { recordRequestOf } from "./api/facts";
import { stateOfRequest } from "./api/recordRequest";
import { toHash, type UrlState } from "./state/urlState";

export const kHomepage = "https://attnscope.github.io/attnscope/";

const kModels = ["tiny-bert", "tiny-gpt", "tiny-translate", "imdb-sentiment"]; // that it carries

// The same view there. Null: it cannot make this recording.
export function viewAtHome(facts: Facts, state: UrlState): string | null {
  const request = recordRequestOf(facts);
  const models = [request?.model ?? "", ...(state.modelB ? [state.modelB] : [])];
  if (!request || !models.every((model) => kModels.includes(model))) return null;
  return kHomepage + toHash({ ...state, ...stateOfRequest(request) });
}

export const lessonAtHome = (hash: string): string => `${kHomepage}?learn${hash}`;
