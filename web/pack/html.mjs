// Parts of the packed HTML.
import { createHash } from "node:crypto";

export const sha256 = (text) => createHash("sha256").update(text).digest("base64");

// An element that holds data. It is no script, so the policy need not allow it.
export const dataElement = (id, type, text) => `<script type="${type}" id="${id}">${text}</script>`;

// The list of what there is, with </ written so that it does not end the element.
export const contentsElement = (contents) =>
  dataElement("attnscope-contents", "application/json", JSON.stringify(contents).replaceAll("</", "<\\/"));

// Puts the policy, and other elements, before all else that the head loads.
export function withPolicy(page, directives, ...others) {
  const policy = `<meta http-equiv="Content-Security-Policy" content="${directives.join("; ")}" />`;
  return page.replace(/(<meta charset="utf-8" \/>)/, (charset) => [charset, policy, ...others].join("\n    "));
}
