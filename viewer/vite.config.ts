import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const PAGE = resolve(import.meta.dirname, "../src/weft/viewer/page.html");
const LIMIT = 150 * 1024;

/** Put script and style into the one HTML file, and that file into the Python package. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      let html = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (name.endsWith(".css")) style += String(part.source);
        else if (name.endsWith(".html")) html = String(part.source);
        delete bundle[name];
      }
      // The end of a script element inside a text of the script would end the script.
      const safe = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      html = html
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="(stylesheet|modulepreload)"[^>]*>/g, "")
        .replace("</head>", () => `  <style nonce="__NONCE__">${style}</style>\n  </head>`)
        .replace("</body>", () => `  <script type="module" nonce="__NONCE__">${safe}</script>\n  </body>`);
      if (!html.includes('<script type="application/json" id="weft-page">null</script>'))
        throw new Error("the place for the page's JSON is gone from index.html");
      const size = gzipSync(html).length;
      const text = `page.html: ${(html.length / 1024).toFixed(0)} KB, ${(size / 1024).toFixed(1)} KB gzipped`;
      if (size > LIMIT) throw new Error(`${text}; the limit is ${LIMIT / 1024} KB`);
      mkdirSync(dirname(PAGE), { recursive: true });
      if (existsSync(PAGE)) rmSync(PAGE);
      writeFileSync(PAGE, html);
      this.info(text);
      console.log(text);
    },
  };
}

export default defineConfig({
  base: "./",
  logLevel: "warn",
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    outDir: resolve(import.meta.dirname, "node_modules/.page"),
    emptyOutDir: true,
  },
  worker: { format: "iife" },
  plugins: [oneFile()],
});
