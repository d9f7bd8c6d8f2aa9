// Reads a JSON list of texts from stdin; writes a JSON list: null where Mermaid accepts, else its message.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ securityLevel: "strict" });

const answers = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await mermaid.parse(text);
    answers.push(null);
  } catch (error) {
    answers.push(String(error));
  }
}
process.stdout.write(JSON.stringify(answers));
