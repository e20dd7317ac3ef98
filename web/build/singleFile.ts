// The page as one file: its script and style sheet inside the HTML. What reads the file later puts data at `marker`.
import type { Plugin } from "vite";

export function singleFile(fileName: string, marker: string): Plugin {
  return {
    name: "single-file",
    apply: "build",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        let script = "";
        let style = "";
        let page = "";
        for (const file of Object.values(bundle)) {
          if (file.type === "chunk") {
            if (script) this.error("the page must be one script, so that it can be one file");
            script = file.code.trim().replaceAll("</script", "<\\/script");
          } else if (file.fileName.endsWith(".css")) {
            style += String(file.source).trim();
          } else if (file.fileName === "index.html") {
            page = String(file.source);
          }
        }
        for (const name of Object.keys(bundle)) delete bundle[name];
        const source = page
          .replace(/\s*<script[^>]*src="[^"]*"[^>]*><\/script>/g, "")
          .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
          .replace("</head>", () => `<style>${style}</style>\n</head>`)
          .replace("</body>", () => `${marker}\n<script type="module">${script}</script>\n</body>`);
        this.emitFile({ type: "asset", fileName, source });
      },
    },
  };
}
