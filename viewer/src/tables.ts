/** The tables under the graph: the batches of a plan, the steps of a backward. */

import { h } from "./dom";
import { bytesText, countText, numberText, secondsText } from "./format";
import { type Backward, type Plan, placeOf, placeText, type Statistics, type Trace } from "./model";

const MOST_ROWS = 1000;

interface Column {
  title: string;
  number: boolean;
}

/** A table whose rows are chosen by click or by arrow keys and Enter. */
function table(
  label: string,
  columns: Column[],
  rows: (Node | string)[][],
  chosen: (at: number) => void,
): HTMLElement {
  const body = h("tbody");
  const choose = (at: number): void => {
    [...body.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === at)));
    chosen(at);
  };
  rows.slice(0, MOST_ROWS).forEach((cells, at) => {
    body.append(
      h(
        "tr",
        {
          tabindex: "0",
          "aria-selected": "false",
          onclick: () => choose(at),
          onkeydown: (event: KeyboardEvent) => {
            const row = event.currentTarget as HTMLElement;
            const other =
              event.key === "ArrowDown"
                ? row.nextElementSibling
                : event.key === "ArrowUp"
                  ? row.previousElementSibling
                  : null;
            if (event.key === "Enter" || event.key === " ") choose(at);
            else if (other instanceof HTMLElement) other.focus();
            else return;
            event.preventDefault();
            event.stopPropagation();
          },
        },
        ...cells.map((cell, column) => h("td", { class: columns[column]!.number ? "number" : null }, cell)),
      ),
    );
  });
  return h(
    "div",
    { class: "table-scroll" },
    h(
      "table",
      { class: "dock-table", role: "grid", "aria-label": label },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...columns.map((one) => h("th", { scope: "col", class: one.number ? "number" : null }, one.title)),
        ),
      ),
      body,
    ),
    rows.length > MOST_ROWS &&
      h("p", { class: "muted" }, `and ${(rows.length - MOST_ROWS).toLocaleString("en")} more rows`),
  );
}

function bar(part: number): HTMLElement {
  const inner = h("span", { class: "bar" });
  inner.style.width = `${Math.max(0, Math.min(100, part * 100)).toFixed(1)}%`;
  return h("span", { class: "bars" }, inner);
}

export function planTable(trace: Trace, plan: Plan, chosen: (batch: number) => void): HTMLElement {
  const most = Math.max(0, ...plan.batches.map((batch) => batch.seconds));
  const timed = (seconds: number): Node =>
    h("span", { class: "timed" }, seconds > 0 ? secondsText(seconds) : "–", most > 0 && bar(seconds / most));
  return table(
    "batches of the plan",
    [
      { title: "#", number: true },
      { title: "op", number: false },
      { title: "rows", number: true },
      { title: "copied", number: true },
      { title: "time", number: true },
      { title: "line", number: false },
      { title: "note", number: false },
    ],
    plan.batches.map((batch, at) => [
      String(at + 1),
      batch.op,
      String(batch.nodes.length),
      batch.bytes_copied > 0 ? bytesText(batch.bytes_copied) : "–",
      timed(batch.seconds),
      placeText(trace.places[batch.place] ?? null),
      batch.note,
    ]),
    chosen,
  );
}

export function planSummary(trace: Trace, plan: Plan): string {
  const rows = plan.batches.reduce((sum, batch) => sum + batch.nodes.length, 0);
  const copied = plan.batches.reduce((sum, batch) => sum + batch.bytes_copied, 0);
  const parts = [`${countText(rows, "node")} ran in ${countText(plan.batches.length, "batch", "batches")}`];
  if (plan.seconds > 0)
    parts.push(`${secondsText(plan.seconds)}, of which planning ${secondsText(plan.seconds_planning)}`);
  if (copied > 0) parts.push(`${bytesText(copied)} copied`);
  const place = trace.places[plan.place];
  if (place !== undefined) parts.push(`needed at ${placeText(place)}`);
  return parts.join(" · ");
}

function rangeText(all: (Statistics | null)[]): Node | string {
  const known = all.filter((one): one is Statistics => one !== null);
  if (known.length === 0) return "–";
  const nans = known.reduce((sum, one) => sum + one.nans + one.infinities, 0);
  if (nans > 0) return h("span", { class: "bad" }, `${nans} NaN or inf`);
  const low = known.reduce((least, one) => Math.min(least, one.minimum ?? Infinity), Infinity);
  const high = known.reduce((most, one) => Math.max(most, one.maximum ?? -Infinity), -Infinity);
  return low > high ? "–" : `${numberText(low)} … ${numberText(high)}`;
}

export function backwardTable(trace: Trace, backward: Backward, chosen: (step: number) => void): HTMLElement {
  const most = Math.max(0, ...backward.steps.map((step) => step.seconds));
  return table(
    "steps of backward",
    [
      { title: "#", number: true },
      { title: "rule", number: false },
      { title: "nodes", number: true },
      { title: "time", number: true },
      { title: "incoming gradient", number: false },
      { title: "outgoing gradient", number: false },
      { title: "line", number: false },
    ],
    backward.steps.map((step, at) => [
      String(at + 1),
      step.name,
      String(step.nodes.length),
      h(
        "span",
        { class: "timed" },
        step.seconds > 0 ? secondsText(step.seconds) : "–",
        most > 0 && bar(step.seconds / most),
      ),
      rangeText(step.incoming),
      rangeText(step.outgoing),
      placeText(placeOf(trace, trace.nodes[step.nodes[0] ?? -1]?.frame ?? -1)),
    ]),
    chosen,
  );
}

export function backwardSummary(trace: Trace, backward: Backward): string {
  const parts = [countText(backward.steps.length, "step")];
  if (backward.seconds > 0) parts.push(secondsText(backward.seconds));
  const place = trace.places[backward.place];
  if (place !== undefined) parts.push(`called at ${placeText(place)}`);
  return parts.join(" · ");
}
