/** The numbers of a tensor: all of them as a table if they are few, otherwise a histogram and facts. */

import { h } from "./dom";
import { numberText } from "./format";
import type { Statistics } from "./model";

const SVG = "http://www.w3.org/2000/svg";

function histogram(facts: Statistics): Element {
  const most = Math.max(1, ...facts.histogram);
  const count = facts.histogram.length;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "histogram");
  svg.setAttribute("viewBox", `0 0 ${count * 10} 60`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute(
    "aria-label",
    `histogram from ${numberText(facts.minimum)} to ${numberText(facts.maximum)}`,
  );
  facts.histogram.forEach((value, at) => {
    const bar = document.createElementNS(SVG, "rect");
    const tall = value === 0 ? 0 : Math.max(1.5, (value / most) * 58);
    for (const [name, one] of Object.entries({ x: at * 10 + 0.5, y: 60 - tall, width: 9, height: tall }))
      bar.setAttribute(name, String(one));
    const title = document.createElementNS(SVG, "title");
    const low = facts.minimum ?? 0;
    const step = ((facts.maximum ?? 0) - low) / count;
    title.textContent = `${numberText(low + at * step)} to ${numberText(low + (at + 1) * step)}: ${value.toLocaleString("en")}`;
    bar.append(title);
    svg.append(bar);
  });
  return h(
    "div",
    { class: "histogram-with-range" },
    svg as unknown as Node,
    h(
      "div",
      { class: "range" },
      h("span", {}, numberText(facts.minimum)),
      h("span", {}, numberText(facts.maximum)),
    ),
  );
}

function cell(value: number): HTMLElement {
  return h("td", { class: Number.isFinite(value) ? null : "bad" }, numberText(value));
}

/** All values: rows are the last dimension; of more dimensions, one table for each matrix. */
function table(values: number[], shape: number[]): HTMLElement {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  if (columns === 0 || values.length === 0) return h("p", { class: "muted" }, "no numbers");
  const matrices: HTMLElement[] = [];
  for (let begin = 0; begin < values.length; begin += rows * columns) {
    const outer = shape.slice(0, -2);
    let rest = begin / (rows * columns);
    const place = outer
      .reduceRight<number[]>((found, size) => {
        found.unshift(rest % size);
        rest = Math.floor(rest / size);
        return found;
      }, [])
      .join(", ");
    const body = h("tbody");
    for (let row = 0; row < rows; row++)
      body.append(h("tr", {}, ...values.slice(begin + row * columns, begin + (row + 1) * columns).map(cell)));
    matrices.push(h("table", { class: "values" }, outer.length > 0 && h("caption", {}, `[${place}]`), body));
  }
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "values" }, ...matrices);
}

/** Show a tensor's numbers. `shape` is its shape; pass one dimension where it is not known. */
export function showStatistics(title: string, facts: Statistics, shape: number[]): HTMLElement {
  const total = shape.reduce((a, b) => a * b, 1);
  const whole = facts.values !== null && facts.values.length === total;
  const rows: [string, string, boolean][] = [];
  if (!whole || facts.values!.length > 1)
    rows.push(
      ["range", `${numberText(facts.minimum)} … ${numberText(facts.maximum)}`, false],
      ["mean ± std", `${numberText(facts.mean)} ± ${numberText(facts.deviation)}`, false],
    );
  if (facts.zeros > 0)
    rows.push(["zeros", `${facts.zeros.toLocaleString("en")} of ${facts.count.toLocaleString("en")}`, false]);
  if (facts.nans > 0) rows.push(["NaN", facts.nans.toLocaleString("en"), true]);
  if (facts.infinities > 0) rows.push(["inf", facts.infinities.toLocaleString("en"), true]);
  return h(
    "section",
    { class: "statistics" },
    h("h3", {}, title),
    whole ? table(facts.values!, shape) : facts.histogram.length > 0 ? histogram(facts) : null,
    rows.length > 0 &&
      h(
        "dl",
        {},
        ...rows.flatMap(([name, value, bad]) => [
          h("dt", {}, name),
          h("dd", { class: bad ? "bad" : null }, value),
        ]),
      ),
  );
}
