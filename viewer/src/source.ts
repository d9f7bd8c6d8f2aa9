/** Lines of a program, with Python's words coloured and one line marked. */

import { h } from "./dom";
import { type Place, placeText, type Trace } from "./model";

const TOKEN =
  /(#.*$)|("""[\s\S]*?"""|'''[\s\S]*?'''|[rbfu]?"(?:\\.|[^"\\])*"|[rbfu]?'(?:\\.|[^'\\])*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|not|or|pass|raise|return|try|while|with|yield|True|False|None|self)\b|\b(\d[\d_.e]*)\b/g;

function coloured(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let last = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(last, match.index));
    const kind = match[1] ? "comment" : match[2] || match[4] ? "literal" : "keyword";
    parts.push(h("span", { class: kind }, match[0]));
    last = match.index + match[0].length;
  }
  parts.push(text.slice(last));
  return parts;
}

/** The lines around a place; null if the trace does not have them. */
export function sourceAround(trace: Trace, place: Place | null, around = 4): HTMLElement | null {
  if (place === null) return null;
  const lines = trace.sources[place.file];
  if (lines?.[String(place.line)] === undefined) return null;
  const numbers: number[] = [];
  for (let line = place.line - around; line <= place.line + around; line++)
    if (lines[String(line)] !== undefined) numbers.push(line);
  const indent = Math.min(
    ...numbers
      .map((line) => lines[String(line)]!)
      .filter((text) => text.trim() !== "")
      .map((text) => text.length - text.trimStart().length),
  );
  return h(
    "div",
    { class: "source", role: "group", "aria-label": `source at ${placeText(place)}` },
    ...numbers.map((line) =>
      h(
        "div",
        {
          class: line === place.line ? "line here" : "line",
          "aria-current": line === place.line ? "true" : null,
        },
        h("span", { class: "number" }, String(line)),
        h("code", {}, ...coloured(lines[String(line)]!.slice(Number.isFinite(indent) ? indent : 0) || " ")),
      ),
    ),
  );
}
