/** Find ops, names, modules and lines; go to what was found. */

import { h, replace } from "./dom";
import type { Graph } from "./graph";
import { isChip, placeOf, placeText } from "./model";
import type { GraphView } from "./view";

interface Found {
  /** An item, or -1 for a group. */
  item: number;
  chip: number;
  group: number;
  title: string;
  detail: string;
}

const MOST_SHOWN = 60;

/** What can be found, with the text it is found by. */
class Index {
  private readonly entries: { text: string; found: Found }[] = [];

  constructor(graph: Graph) {
    const { trace } = graph;
    graph.groups.forEach((group, at) => {
      if (graph.childrenOf(at).length === 0 || group.kind === "part") return;
      const title = group.kind === "iteration" ? graph.labelOf(graph.groupBox(at)) : group.label;
      const detail = [group.kind, placeText(placeOf(trace, group.frame))]
        .filter((one) => one !== "")
        .join(" · ");
      this.entries.push({
        text: `${title} ${detail}`.toLowerCase(),
        found: { item: -1, chip: -1, group: at, title, detail },
      });
    });
    const readers = new Map<number, number>();
    graph.items.forEach((item, at) => {
      for (const chip of item.chips) if (!readers.has(chip)) readers.set(chip, at);
    });
    const add = (node: number, item: number, chip: number, title: string): void => {
      const one = trace.nodes[node];
      if (one === undefined) return;
      const module = trace.modules[one.module];
      const place = placeOf(trace, one.frame);
      const detail = [module?.path ?? "", placeText(place)].filter((text) => text !== "").join(" · ");
      const text = `${title} ${one.op} ${one.name} ${module?.path ?? ""} ${module?.kind ?? ""} ${place === null ? "" : `${place.file}:${place.line}`} ${place?.function ?? ""}`;
      this.entries.push({ text: text.toLowerCase(), found: { item, chip, group: -1, title, detail } });
    };
    graph.items.forEach((item, at) => add(item.node, at, -1, item.label));
    trace.nodes.forEach((node, at) => {
      const reader = readers.get(at);
      if (isChip(node) && reader !== undefined) add(at, reader, at, node.name || node.op);
    });
  }

  find(query: string): Found[] {
    const words = query
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    if (words.length === 0) return [];
    // "model.py:1" is not line 12: a line is found whole.
    const line = /:\d+$/;
    const matches = (text: string): boolean =>
      words.every((word) =>
        line.test(word)
          ? new RegExp(`${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\d)`).test(text)
          : text.includes(word),
      );
    return this.entries.filter((entry) => matches(entry.text)).map((entry) => entry.found);
  }
}

export class Search {
  readonly element: HTMLElement;
  private readonly input = h("input", {
    type: "search",
    placeholder: "Search ops, modules, file:line",
    "aria-label": "search",
    "aria-controls": "search-results",
    autocomplete: "off",
    spellcheck: "false",
  });
  private readonly results = h("ul", {
    id: "search-results",
    class: "results",
    role: "listbox",
    "aria-label": "found",
  });
  private readonly count = h("span", { class: "found", role: "status" });
  private index: Index | null = null;
  private indexed: Graph | null = null;
  private found: Found[] = [];
  private at = -1;

  constructor(private readonly view: GraphView) {
    this.results.hidden = true;
    this.element = h("div", { class: "search", role: "search" }, this.input, this.count, this.results);
    this.input.addEventListener("input", () => this.update());
    this.input.addEventListener("focus", () => (this.results.hidden = this.found.length === 0));
    this.input.addEventListener("blur", () => (this.results.hidden = true));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "ArrowDown") this.next(event.shiftKey ? -1 : 1);
      else if (event.key === "ArrowUp") this.next(-1);
      else if (event.key === "Escape") {
        this.clear();
        this.view.canvas.focus();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  clear(): void {
    this.input.value = "";
    this.update();
  }

  private update(): void {
    const { graph } = this.view;
    if (graph === null) return;
    if (this.indexed !== graph) [this.index, this.indexed] = [new Index(graph), graph];
    this.found = this.index!.find(this.input.value);
    this.at = -1;
    this.view.match(this.found.flatMap((one) => (one.item >= 0 ? [one.item] : [])));
    this.count.textContent =
      this.input.value.trim() === ""
        ? ""
        : this.found.length === 0
          ? "none"
          : this.found.length.toLocaleString("en");
    replace(
      this.results,
      ...this.found.slice(0, MOST_SHOWN).map((one, at) =>
        h(
          "li",
          {
            role: "option",
            "aria-selected": "false",
            onmousedown: (event: MouseEvent) => (event.preventDefault(), this.goTo(at)),
          },
          h("span", { class: "name" }, one.title),
          h("span", { class: "muted" }, ` ${one.detail}`),
        ),
      ),
      this.found.length > MOST_SHOWN &&
        h("li", { class: "muted" }, `and ${(this.found.length - MOST_SHOWN).toLocaleString("en")} more`),
    );
    this.results.hidden = this.found.length === 0;
  }

  next(step: number): void {
    if (this.found.length === 0) return;
    this.goTo((this.at + step + this.found.length) % this.found.length);
  }

  private goTo(at: number): void {
    this.at = at;
    const one = this.found[at]!;
    [...this.results.children].forEach((row, index) =>
      row.setAttribute("aria-selected", String(index === at)),
    );
    this.results.children[at]?.scrollIntoView({ block: "nearest" });
    this.count.textContent = `${at + 1} of ${this.found.length}`;
    if (one.item >= 0) void this.view.reveal(one.item, one.chip);
    else void this.view.revealGroup(one.group);
  }

  /** A new graph: what was found was in the old one. */
  reset(): void {
    this.found = [];
    this.results.hidden = true;
    if (this.input.value !== "") {
      this.update();
      this.results.hidden = true;
    }
  }
}
