/** The graph as text: a tree of what is seen, for screen readers, the keyboard, and a quick look. */

import { h, replace } from "./dom";
import { placeOf, placeText, sourceLine } from "./model";
import type { GraphView } from "./view";

const MOST_ROWS = 1200;

export class Outline {
  readonly element: HTMLElement;
  private readonly tree = h("ul", {
    role: "tree",
    class: "tree",
    tabindex: "0",
    "aria-label": "outline of the graph",
  });
  private rows: { box: number; element: HTMLElement }[] = [];

  constructor(private readonly view: GraphView) {
    this.element = h("nav", { class: "outline", "aria-label": "outline" }, this.tree);
    this.tree.addEventListener("keydown", (event) => this.pressed(event));
  }

  update(): void {
    const { graph, open } = this.view;
    if (graph === null) return;
    this.rows = [];
    const elements: HTMLElement[] = [];
    const add = (group: number, level: number): void => {
      for (const box of graph.childrenOf(group)) {
        if (this.rows.length >= MOST_ROWS) return;
        const element = this.row(box, level);
        this.rows.push({ box, element });
        elements.push(element);
        if (graph.isGroup(box) && open.has(graph.groupAt(box))) add(graph.groupAt(box), level + 1);
      }
    };
    add(-1, 1);
    replace(
      this.tree,
      ...elements,
      this.rows.length >= MOST_ROWS &&
        h(
          "li",
          { role: "none", class: "muted" },
          "The rest is on the graph only: close some groups to see it here.",
        ),
    );
    this.mark();
  }

  private row(box: number, level: number): HTMLElement {
    const graph = this.view.graph!;
    const group = graph.isGroup(box) ? graph.groupAt(box) : -1;
    const isOpen = group >= 0 && this.view.open.has(group);
    const parts: (Node | string)[] = [];
    if (group >= 0) {
      const { kind, count } = graph.groups[group]!;
      parts.push(h("span", { class: "name" }, graph.labelOf(box)));
      if (kind === "loop") parts.push(h("span", { class: "badge" }, `× ${count}`));
      parts.push(h("span", { class: "muted" }, ` ${graph.sums[group]!.items.toLocaleString("en")}`));
    } else {
      const item = graph.items[box]!;
      parts.push(h("span", { class: "name" }, item.label), h("span", { class: "muted" }, ` ${item.detail}`));
      for (const at of item.reads) {
        const read = graph.trace.reads[at]!;
        const place = placeOf(graph.trace, read.frame);
        parts.push(
          h(
            "span",
            { class: "read", title: sourceLine(graph.trace, place) },
            ` ◆ → ${read.value} at ${placeText(place)}`,
          ),
        );
      }
    }
    const element = h(
      "li",
      {
        role: "treeitem",
        "aria-level": level,
        "aria-expanded": group < 0 ? null : String(isOpen),
        "data-box": box,
        class: group >= 0 ? "is-group" : "is-item",
        onclick: (event: MouseEvent) => {
          if ((event.target as Element).classList.contains("twist")) void this.view.toggle(group);
          else {
            this.view.select({ box, chip: -1 });
            this.view.centreOn(box);
          }
        },
        ondblclick: () => group >= 0 && void this.view.toggle(group),
      },
      h("span", { class: "twist", "aria-hidden": "true" }, group < 0 ? "" : isOpen ? "▾" : "▸"),
      ...parts,
    );
    element.style.setProperty("--level", String(level));
    return element;
  }

  /** Show which row is selected. */
  mark(): void {
    const { box } = this.view.selection;
    for (const row of this.rows) {
      const selected = row.box === box;
      row.element.setAttribute("aria-selected", String(selected));
      if (selected) row.element.scrollIntoView({ block: "nearest" });
    }
  }

  private pressed(event: KeyboardEvent): void {
    const graph = this.view.graph;
    if (graph === null || this.rows.length === 0) return;
    const now = this.rows.findIndex((row) => row.box === this.view.selection.box);
    const box = this.rows[now]?.box ?? -1;
    const group = box >= 0 && graph.isGroup(box) ? graph.groupAt(box) : -1;
    const go = (at: number): void => {
      const next = this.rows[Math.max(0, Math.min(this.rows.length - 1, at))]!;
      this.view.select({ box: next.box, chip: -1 });
      this.view.centreOn(next.box);
    };
    const isOpen = group >= 0 && this.view.open.has(group);
    if (event.key === "ArrowDown") go(now + 1);
    else if (event.key === "ArrowUp") go(now < 0 ? 0 : now - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(this.rows.length - 1);
    else if ((event.key === "Enter" || event.key === " ") && group >= 0) void this.view.toggle(group);
    else if (event.key === "ArrowRight" && group >= 0 && !isOpen) void this.view.toggle(group);
    else if (event.key === "ArrowLeft" && isOpen) void this.view.toggle(group);
    else if (event.key === "ArrowLeft" && graph.parentOf(box) >= 0)
      go(this.rows.findIndex((row) => row.box === graph.groupBox(graph.parentOf(box))));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
