/** Two graphs side by side: what is only in one, what changed, and where. */

import type { ChangeStates, NodeState } from "./colours";
import { h } from "./dom";
import { Graph } from "./graph";
import type { Change, Diff, Page } from "./model";
import { Panel } from "./panel";
import type { Theme } from "./theme";
import { GraphView, NOTHING, type Selection } from "./view";
import { firstOpen } from "./visible";

type Side = 0 | 1;

const NAMES: Record<string, string> = {
  branch: "branch",
  loop: "loop",
  "only-left": "only left",
  "only-right": "only right",
  shape: "shape",
  bytes: "bytes",
  value: "value",
  time: "time",
};

export class DiffTab {
  readonly element: HTMLElement;
  readonly views: [GraphView, GraphView];
  private readonly graphs: [Graph, Graph];
  private readonly partner: [Map<number, number>, Map<number, number>] = [new Map(), new Map()];
  private readonly panel: Panel;
  private readonly rows: HTMLElement[] = [];
  private active: Side = 0;
  private following = false;

  constructor(
    page: Page,
    private readonly diff: Diff,
    theme: Theme,
    said: (text: string) => void,
  ) {
    const pages = [page.graphs[diff.left]!, page.graphs[diff.right]!] as const;
    this.graphs = [new Graph(pages[0], "forward"), new Graph(pages[1], "forward")];
    for (const [left, right] of diff.pairs) {
      this.partner[0].set(left, right);
      this.partner[1].set(right, left);
    }
    const make = (side: Side): GraphView =>
      new GraphView(
        theme,
        {
          selected: (selection) => this.selected(side, selection),
          changed: () => undefined,
          said,
          toggled: (group, open) => this.toggled(side, group, open),
        },
        `graph ${side === 0 ? "left" : "right"}: ${pages[side].title}`,
      );
    this.views = [make(0), make(1)];
    this.panel = new Panel({
      goTo: (node) => void this.reveal(this.active, node),
      goToGroup: (group) => void this.views[this.active].revealGroup(group),
      goToStep: (item) => void this.views[this.active].reveal(item),
    });
    this.element = h(
      "div",
      { class: "diff" },
      this.list(),
      ...([0, 1] as const).map((side) =>
        h(
          "section",
          { class: "diff-side", "aria-label": pages[side].title },
          h(
            "h2",
            {},
            h("span", { class: side === 0 ? "only-left" : "only-right" }, side === 0 ? "left" : "right"),
            ` ${pages[side].title}`,
          ),
          this.views[side].element,
        ),
      ),
      this.panel.element,
    );
    ([0, 1] as const).forEach((side) => void this.start(side));
    this.panel.show(this.graphs[0], NOTHING);
  }

  get activeView(): GraphView {
    return this.views[this.active];
  }

  private list(): HTMLElement {
    return h(
      "section",
      { class: "changes", "aria-label": "differences" },
      h("h2", {}, "Differences"),
      this.diff.summary.length > 0 &&
        h("ul", { class: "summary" }, ...this.diff.summary.map((text) => h("li", {}, text))),
      this.diff.changes.length === 0 && h("p", { class: "muted" }, "No node differs."),
      h(
        "ol",
        { class: "change-list" },
        ...this.diff.changes.slice(0, 500).map((change, at) => {
          const row = h(
            "button",
            { type: "button", class: "change", "aria-pressed": "false", onclick: () => void this.choose(at) },
            h("span", { class: `tag ${change.kind}` }, NAMES[change.kind] ?? change.kind),
            h("span", {}, change.text),
          );
          this.rows.push(row);
          return h("li", {}, row);
        }),
      ),
      this.diff.changes.length > 500 &&
        h("p", { class: "muted" }, `and ${this.diff.changes.length - 500} more`),
    );
  }

  private states(side: Side): ChangeStates {
    const count = this.graphs[side].trace.nodes.length;
    const states = Array.from({ length: count }, (_, node): NodeState =>
      this.partner[side].has(node) ? "same" : "only",
    );
    for (const change of this.diff.changes)
      for (const node of side === 0 ? change.left : change.right)
        if (states[node] === "same") states[node] = "changed";
    return { states, left: side === 0 };
  }

  private itemsOf(side: Side, change: Change): number[] {
    const nodes = side === 0 ? change.left : change.right;
    return nodes.map((node) => this.itemOf(side, node)).filter((item) => item >= 0);
  }

  /** The box of a node; of a parameter, that of its first reader. */
  private itemOf(side: Side, node: number): number {
    const graph = this.graphs[side];
    const item = graph.itemOf[node]!;
    return item >= 0 ? item : graph.items.findIndex((one) => one.chips.includes(node));
  }

  private async start(side: Side): Promise<void> {
    const view = this.views[side];
    view.colour("change", this.states(side));
    await view.show(this.graphs[side], firstOpen(this.graphs[side], 40));
    const important = this.diff.changes.filter((change) => change.kind !== "time" && change.kind !== "bytes");
    await view.revealMany(
      important.slice(0, 20).flatMap((change) => this.itemsOf(side, change).slice(0, 3)),
      60,
    );
    view.home();
  }

  /** Show a change on both sides. */
  async choose(at: number): Promise<void> {
    const change = this.diff.changes[at]!;
    this.rows.forEach((row, index) => row.setAttribute("aria-pressed", String(index === at)));
    for (const side of [0, 1] as const) {
      const view = this.views[side];
      const items = this.itemsOf(side, change);
      await view.revealMany(items);
      view.highlight(items.length === 0 ? null : items, false);
      this.following = true;
      if (items.length > 0) await view.reveal(items[0]!);
      else view.select(NOTHING);
      this.following = false;
      if (items.length > 0) this.active = side;
    }
    this.panel.show(this.graphs[this.active], this.views[this.active].selection);
  }

  private async reveal(side: Side, node: number): Promise<void> {
    const graph = this.graphs[side];
    await this.views[side].reveal(this.itemOf(side, node), graph.itemOf[node]! >= 0 ? -1 : node);
  }

  private selected(side: Side, selection: Selection): void {
    if (this.following) return;
    this.active = side;
    const other: Side = side === 0 ? 1 : 0;
    this.panel.show(this.graphs[side], selection);
    this.following = true;
    for (const view of this.views) view.highlight(null);
    this.rows.forEach((row) => row.setAttribute("aria-pressed", "false"));
    const graph = this.graphs[side];
    if (selection.box < 0) this.views[other].select(NOTHING);
    else if (graph.isGroup(selection.box)) {
      const group = this.partnerGroup(side, graph.groupAt(selection.box));
      const box = group < 0 ? -1 : this.graphs[other].groupBox(group);
      this.views[other].select({ box: this.views[other].scene?.byBox.has(box) ? box : -1, chip: -1 });
    } else {
      const partner = this.partner[side].get(graph.items[selection.box]!.node);
      if (partner === undefined) this.views[other].select(NOTHING);
      else {
        const done = (): void => void (this.following = false);
        void this.reveal(other, partner).then(done, done);
        return;
      }
    }
    this.following = false;
  }

  /** The group on the other side that holds the same nodes. */
  private partnerGroup(side: Side, group: number): number {
    const other: Side = side === 0 ? 1 : 0;
    const graph = this.graphs[side];
    const { label } = graph.groups[group]!;
    for (const item of graph.itemsIn(graph.groupBox(group))) {
      const partner = this.partner[side].get(graph.items[item]!.node);
      if (partner === undefined) continue;
      const there = this.graphs[other];
      const at = there.itemOf[partner]!;
      if (at < 0) continue;
      for (let one = there.parentOf(at); one >= 0; one = there.groups[one]!.parent)
        if (there.groups[one]!.label === label) return one;
      return -1;
    }
    return -1;
  }

  private toggled(side: Side, group: number, open: boolean): void {
    const other: Side = side === 0 ? 1 : 0;
    const partner = this.partnerGroup(side, group);
    if (partner >= 0 && this.views[other].open.has(partner) !== open) void this.views[other].toggle(partner);
  }

  setTheme(theme: Theme): void {
    for (const view of this.views) view.setTheme(theme);
  }
}
