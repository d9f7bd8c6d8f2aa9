/** The page: tabs, tools, and the parts that show a graph, put together. */

import type { ColourMode } from "./colours";
import { Curves } from "./curves";
import { DiffTab } from "./diff";
import { h, replace } from "./dom";
import { Graph, type ViewName } from "./graph";
import { type Command, Help, listen } from "./keyboard";
import { Live, type LiveState } from "./live";
import type { Page, PageGraph, Series } from "./model";
import { Outline } from "./outline";
import { failureBanner, Panel } from "./panel";
import { Replay } from "./replay";
import { Search } from "./search";
import { backwardSummary, backwardTable, planSummary, planTable } from "./tables";
import type { Themes } from "./theme";
import { GraphView, NOTHING, type Selection } from "./view";

const MOST_GRAPHS = 50;
const COLOURS: [ColourMode, string][] = [
  ["op", "kind of op"],
  ["module", "module"],
  ["time", "time"],
  ["bytes", "memory"],
  ["nan", "NaN and inf"],
];
const VIEWS: [ViewName, string][] = [
  ["forward", "Forward"],
  ["backward", "Backward"],
  ["plan", "Plan"],
];

type Tab = { kind: "graph"; at: number } | { kind: "diff" } | { kind: "curves" };

export class App {
  readonly view: GraphView;
  diffTab: DiffTab | null = null;
  tab: Tab = { kind: "curves" };
  viewName: ViewName = "forward";
  private which = 0;
  private colour: ColourMode = "op";
  private batch = -1;
  private readonly outline: Outline;
  readonly search: Search;
  readonly replay: Replay;
  private readonly panel: Panel;
  private readonly curves: Curves;
  private readonly smallCurves: Curves;
  private readonly help: Help;
  private readonly tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "graphs" });
  private readonly views = h("div", { class: "segmented", role: "radiogroup", "aria-label": "view" });
  private readonly colourChoice = h("select", { "aria-label": "colour by", title: "Colour by (g)" });
  private readonly legend = h("div", { class: "legend", role: "group", "aria-label": "legend" });
  private readonly message = h("div", { class: "toast", role: "status", "aria-live": "polite" });
  private readonly banners = h("div", { class: "banners" });
  private readonly dock = h("div", { class: "dock" });
  private readonly body = h("main", { class: "body" });
  private readonly liveBadge = h("span", { class: "live", role: "status" });
  private readonly themeButton: HTMLButtonElement;
  private readonly graphParts: HTMLElement;
  private readonly tools: HTMLElement;
  private readonly stopping = new AbortController();
  private toastTimer = 0;
  private showAgain = 0;

  constructor(
    readonly root: HTMLElement,
    private page: Page,
    private readonly themes: Themes,
    openFile: (file: File) => void,
  ) {
    const theme = themes.current;
    this.view = new GraphView(
      theme,
      {
        selected: (selection) => this.selected(selection),
        changed: () => this.outline.update(),
        said: (text) => this.say(text),
      },
      "graph",
    );
    this.outline = new Outline(this.view);
    this.search = new Search(this.view);
    this.replay = new Replay(this.view, (item) => this.replayed(item));
    this.panel = new Panel({
      goTo: (node) => void this.goTo(node),
      goToGroup: (group) => void this.view.revealGroup(group),
      goToStep: (item) => void this.view.reveal(item),
    });
    this.curves = new Curves(280, theme, "curves");
    this.smallCurves = new Curves(130, theme, "curves beside the graph");
    this.panel.extra.append(this.smallCurves.element);
    this.help = new Help(() => this.commands());
    const button = (text: string, title: string, run: () => void): HTMLButtonElement =>
      h(
        "button",
        { class: "icon", type: "button", title, "aria-label": title.replace(/ \(.*\)$/, ""), onclick: run },
        text,
      );
    const file = h("input", {
      type: "file",
      accept: ".json,.html,application/json",
      hidden: true,
      "aria-label": "file to open",
    });
    file.addEventListener("change", () => {
      if (file.files?.[0]) openFile(file.files[0]);
    });
    this.themeButton = button("", "Light or dark (t)", () => themes.toggle());
    for (const [mode, text] of COLOURS) this.colourChoice.append(h("option", { value: mode }, text));
    this.colourChoice.addEventListener("change", () => this.setColour(this.colourChoice.value as ColourMode));
    this.tools = h(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "tools" },
      this.views,
      h("label", { class: "choice" }, h("span", {}, "Colour"), this.colourChoice),
      button("⊞", "Expand all (e)", () => void this.activeView().expandAll()),
      button("⊟", "Collapse all (c)", () => void this.activeView().collapseAll()),
      button("⤢", "Fit (f)", () => this.activeView().fit()),
    );
    this.graphParts = h(
      "div",
      { class: "workspace" },
      this.outline.element,
      h(
        "div",
        { class: "centre" },
        this.banners,
        h("div", { class: "stage" }, this.view.element),
        this.legend,
        this.dock,
      ),
      this.panel.element,
    );
    replace(
      root,
      h(
        "header",
        { class: "top" },
        h("h1", {}, h("span", { class: "logo", "aria-hidden": "true" }, "≋"), h("span", {}, page.title)),
        this.liveBadge,
        this.tabs,
        h("span", { class: "spring" }),
        this.search.element,
        h(
          "div",
          { class: "right" },
          this.tools,
          button("☰", "Outline (o)", () => this.toggleOutline()),
          this.themeButton,
          h("label", { class: "icon", title: "Open a file" }, "⇧", file),
          button("?", "Keyboard (?)", () => this.help.toggle()),
        ),
      ),
      this.body,
      this.message,
      this.help.element,
      h(
        "p",
        { id: "graph-help", class: "hidden" },
        "Arrow keys move along the graph, Enter opens and closes groups, question mark lists all keys. The outline has the same content as text.",
      ),
    );
    this.liveBadge.hidden = true;
    document.title = `${page.title} – Weft`;
    themes.onChange(() => this.themed(), this.stopping.signal);
    this.themed();
    listen(() => this.commands(), this.stopping.signal);
    this.smallCurves.show(page.series);
    this.curves.show(page.series);
    if (page.diff !== null && page.graphs.length === 0) page.diff = null;
    this.tab = this.firstTab();
    this.showTab();
    if (page.live) this.startLive();
  }

  /** Another page takes the place of this one. */
  stop(): void {
    this.stopping.abort();
    this.replay.pause();
    this.view.stop();
    for (const view of this.diffTab?.views ?? []) view.stop();
  }

  activeView(): GraphView {
    return this.tab.kind === "diff" && this.diffTab !== null ? this.diffTab.activeView : this.view;
  }

  private say(text: string): void {
    this.message.textContent = text;
    this.message.classList.add("shown");
    clearTimeout(this.toastTimer);
    this.toastTimer = window.setTimeout(() => this.message.classList.remove("shown"), 5000);
  }

  private themed(): void {
    const { current } = this.themes;
    this.themeButton.textContent = current.dark ? "☀" : "☾";
    this.view.setTheme(current);
    this.diffTab?.setTheme(current);
    this.curves.setTheme(current);
    this.smallCurves.setTheme(current);
    this.showLegend();
  }

  // ---- Tabs ----

  private allTabs(): { tab: Tab; title: string }[] {
    const { graphs, diff, series } = this.page;
    const tabs: { tab: Tab; title: string }[] = graphs.map((graph, at) => ({
      tab: { kind: "graph", at },
      title: graph.title,
    }));
    if (diff !== null) tabs.push({ tab: { kind: "diff" }, title: "Diff" });
    if (series.length > 0 || graphs.length === 0) tabs.push({ tab: { kind: "curves" }, title: "Curves" });
    return tabs;
  }

  private firstTab(): Tab {
    const { graphs, diff } = this.page;
    if (diff !== null && graphs.length === 2) return { kind: "diff" }; // the page is about nothing else
    return graphs.length > 0 ? { kind: "graph", at: 0 } : { kind: "curves" };
  }

  private isCurrent(tab: Tab): boolean {
    return tab.kind === this.tab.kind && (tab.kind !== "graph" || tab.at === (this.tab as { at: number }).at);
  }

  private makeTabs(): void {
    const all = this.allTabs();
    // Many have a row of their own, beside the tools they would be cut off.
    this.tabs.parentElement?.classList.toggle("many-tabs", all.length > 3);
    replace(
      this.tabs,
      ...all.map(({ tab, title }) =>
        h(
          "button",
          {
            role: "tab",
            type: "button",
            class: "tab",
            "aria-selected": String(this.isCurrent(tab)),
            title,
            onclick: () => {
              this.tab = tab;
              this.showTab();
            },
          },
          title,
        ),
      ),
    );
    this.tabs
      .querySelector('[aria-selected="true"]')
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  private nextTab(by: number): void {
    const all = this.allTabs();
    const at = all.findIndex((one) => this.isCurrent(one.tab));
    this.tab = all[(at + by + all.length) % all.length]!.tab;
    this.showTab();
  }

  private showTab(stay = false): void {
    this.makeTabs();
    this.replay.pause();
    const { tab, page } = this;
    this.tools.hidden = tab.kind === "curves";
    this.search.element.hidden = tab.kind !== "graph";
    this.views.hidden = tab.kind !== "graph";
    this.colourChoice.parentElement!.hidden = tab.kind !== "graph";
    if (tab.kind === "curves") {
      replace(this.body, this.curves.element);
      if (page.series.length === 0)
        replace(
          this.curves.element,
          h("p", { class: "muted" }, page.live ? "Waiting for the first graph…" : "There are no curves."),
        );
    } else if (tab.kind === "diff") {
      this.diffTab ??= new DiffTab(page, page.diff!, this.themes.current, (text) => this.say(text));
      replace(this.body, this.diffTab.element);
      this.say("");
      this.message.classList.remove("shown");
    } else {
      replace(this.body, this.graphParts);
      const graph = page.graphs[tab.at]!;
      this.view.canvas.setAttribute("aria-label", `graph: ${graph.title}`);
      if (!this.hasView(graph, this.viewName)) this.viewName = "forward";
      this.which = 0;
      const merged = graph.sides !== null;
      this.colourChoice.querySelector('option[value="side"]')?.remove();
      if (merged) this.colourChoice.prepend(h("option", { value: "side" }, "sides of the merge"));
      if (merged) this.colour = "side";
      else if (this.colour === "side") this.colour = "op";
      this.colourChoice.value = this.colour;
      void this.showGraph(stay && this.sameGroups(graph) ? this.view.open : null);
    }
  }

  /** Whether a graph folds as the one that is shown: then what is open can stay open. */
  private sameGroups(graph: PageGraph): boolean {
    const now = this.view.graph?.page.groups;
    return (
      now !== undefined &&
      now.length === graph.groups.length &&
      now.every(
        (group, at) => group.label === graph.groups[at]!.label && group.parent === graph.groups[at]!.parent,
      )
    );
  }

  private hasView(graph: PageGraph, view: ViewName): boolean {
    if (view === "backward")
      return graph.trace.backwards.length > 0 || graph.trace.nodes.some((node) => node.phase === "backward");
    return view === "forward" || graph.trace.plans.length > 0;
  }

  // ---- The views of a graph ----

  private currentGraph(): PageGraph | null {
    return this.tab.kind === "graph" ? this.page.graphs[this.tab.at]! : null;
  }

  private async showGraph(open: Set<number> | null = null): Promise<void> {
    const page = this.currentGraph();
    if (page === null) return;
    const graph = new Graph(page, this.viewName, this.which);
    this.batch = -1;
    replace(
      this.views,
      ...VIEWS.map(([name, text], at) =>
        h(
          "button",
          {
            type: "button",
            role: "radio",
            title: `${text} (${at + 1})`,
            "aria-checked": String(name === this.viewName),
            disabled: !this.hasView(page, name),
            onclick: () => this.setView(name),
          },
          text,
        ),
      ),
    );
    this.view.colour(this.colour);
    this.replay.reset(graph);
    this.showDock(graph);
    this.showBanner(graph);
    this.panel.show(graph, NOTHING);
    await this.view.show(graph, open, open !== null);
    this.search.reset();
    this.showLegend();
    const { failure } = page.trace;
    if (failure !== null && this.viewName !== "backward")
      this.view.markFailed(this.lastBefore(graph, failure.after));
  }

  private lastBefore(graph: Graph, after: number): number {
    for (let node = Math.min(after, graph.itemOf.length) - 1; node >= 0; node--)
      if (graph.itemOf[node]! >= 0) return graph.itemOf[node]!;
    return -1;
  }

  setView(name: ViewName): void {
    const page = this.currentGraph();
    if (page === null || !this.hasView(page, name) || name === this.viewName) return;
    // Forward and plan are the same graph, so what is open stays open.
    const keep = name !== "backward" && this.viewName !== "backward" ? this.view.open : null;
    this.viewName = name;
    this.which = 0;
    void this.showGraph(keep);
  }

  private showBanner(graph: Graph): void {
    const { failure } = graph.trace;
    if (failure === null) return replace(this.banners);
    const last = this.lastBefore(graph, failure.after);
    replace(
      this.banners,
      failureBanner(graph.trace, failure, last < 0 ? null : () => void this.view.reveal(last)),
    );
  }

  private chooser(label: string, count: number): HTMLElement | null {
    if (count < 2) return null;
    const choice = h(
      "select",
      { "aria-label": label },
      ...Array.from({ length: count }, (_, at) =>
        h("option", { value: at, selected: at === this.which }, `${label} ${at + 1} of ${count}`),
      ),
    );
    choice.addEventListener("change", () => {
      this.which = Number(choice.value);
      void this.showGraph(this.viewName === "plan" ? this.view.open : null);
    });
    return choice;
  }

  private showDock(graph: Graph): void {
    const { trace } = graph;
    const plan = trace.plans[this.which];
    const backward = trace.backwards[this.which];
    let table: HTMLElement | null = null;
    if (this.viewName === "plan" && plan !== undefined)
      table = h(
        "section",
        { class: "dock-section", "aria-label": "plan" },
        h(
          "div",
          { class: "dock-title" },
          this.chooser("plan", trace.plans.length),
          h("span", {}, planSummary(trace, plan)),
        ),
        planTable(trace, plan, (at) => this.chooseBatch(graph, at)),
      );
    else if (this.viewName === "backward" && backward !== undefined)
      table = h(
        "section",
        { class: "dock-section", "aria-label": "backward" },
        h(
          "div",
          { class: "dock-title" },
          this.chooser("backward", trace.backwards.length),
          h("span", {}, backwardSummary(trace, backward)),
        ),
        backwardTable(trace, backward, (at) => void this.view.reveal(at)),
      );
    replace(this.dock, table, this.replay.element);
  }

  private chooseBatch(graph: Graph, at: number): void {
    const plan = graph.trace.plans[this.which]!;
    const batch = plan.batches[at]!;
    this.batch = -1;
    const items = batch.nodes.map((node) => graph.itemOf[node]!).filter((item) => item >= 0);
    this.view.select(NOTHING);
    this.view.highlight(items);
    this.batch = at;
    this.panel.showBatch(graph, batch, `batch ${at + 1} of ${plan.batches.length}`);
    this.view.showAll(this.view.highlighted);
  }

  private selected(selection: Selection): void {
    const { graph } = this.view;
    if (graph === null) return;
    if (this.batch >= 0) {
      this.batch = -1;
      this.view.highlight(null);
      for (const row of this.dock.querySelectorAll("tr[aria-selected=true]"))
        row.setAttribute("aria-selected", "false");
    }
    this.panel.show(graph, selection);
    this.outline.mark();
  }

  private replayed(item: number | null): void {
    const { graph } = this.view;
    if (graph !== null)
      this.panel.show(graph, item === null || item < 0 ? this.view.selection : { box: item, chip: -1 });
  }

  private async goTo(node: number): Promise<void> {
    const { graph } = this.view;
    if (graph === null) return;
    const item = graph.itemOf[node]!;
    if (item >= 0) return this.view.reveal(item);
    const reader = graph.items.findIndex((one) => one.chips.includes(node));
    if (reader >= 0) await this.view.reveal(reader, node);
    else this.say("This node is not in this view.");
  }

  // ---- Colours ----

  setColour(mode: ColourMode): void {
    this.colour = mode;
    this.colourChoice.value = mode;
    this.view.colour(mode);
    this.showLegend();
  }

  private nextColour(): void {
    const modes = [...this.colourChoice.options].map((one) => one.value as ColourMode);
    this.setColour(modes[(modes.indexOf(this.colour) + 1) % modes.length]!);
  }

  private showLegend(): void {
    replace(
      this.legend,
      ...(this.view.colouring?.legend ?? []).map(({ colour, text }) => {
        const swatch = h("span", { class: "swatch" });
        swatch.style.background = colour;
        return h("span", { class: "legend-entry" }, swatch, text);
      }),
    );
  }

  private toggleOutline(): void {
    this.graphParts.classList.toggle("without-outline");
  }

  // ---- Live ----

  private startLive(): void {
    this.liveBadge.hidden = false;
    new Live({
      graph: (graph) => this.received(graph),
      series: (series) => this.receivedSeries(series),
      state: (state: LiveState, text) => {
        this.liveBadge.className = `live ${state}`;
        this.liveBadge.textContent = text;
      },
    });
  }

  private received(graph: PageGraph): void {
    const { graphs } = this.page;
    const following =
      this.tab.kind !== "graph"
        ? graphs.length === 0
        : this.tab.at === graphs.length - 1 && this.view.selection.box < 0 && !this.replay.active;
    graphs.push(graph);
    if (graphs.length > MOST_GRAPHS) {
      graphs.shift();
      if (this.tab.kind === "graph") this.tab = { kind: "graph", at: Math.max(0, this.tab.at - 1) };
    }
    if (following) {
      this.tab = { kind: "graph", at: graphs.length - 1 };
      // Many graphs a second are not drawn one by one.
      if (this.showAgain === 0)
        this.showAgain = window.setTimeout(() => {
          this.showAgain = 0;
          this.showTab(true);
        }, 250);
    }
    this.makeTabs();
  }

  private receivedSeries(series: Series[]): void {
    const first = this.page.series.length === 0;
    this.page.series = series;
    this.smallCurves.show(series);
    this.curves.show(series);
    if (first) this.makeTabs();
  }

  // ---- Keyboard ----

  private commands(): Command[] {
    const view = (): GraphView => this.activeView();
    return [
      {
        keys: ["ArrowUp"],
        shown: "↑ ↓ ← →",
        text: "move the selection: to an input, a reader, a neighbour",
        run: () => view().step("up"),
      },
      { keys: ["ArrowDown"], shown: "", text: "", run: () => view().step("down") },
      { keys: ["ArrowLeft"], shown: "", text: "", run: () => view().step("left") },
      { keys: ["ArrowRight"], shown: "", text: "", run: () => view().step("right") },
      {
        keys: ["Enter", " "],
        shown: "Enter Space",
        text: "open or close the selected group",
        run: () => void view().activate(),
      },
      { keys: ["e"], shown: "e", text: "expand all", run: () => void view().expandAll() },
      { keys: ["c"], shown: "c", text: "collapse all", run: () => void view().collapseAll() },
      { keys: ["f"], shown: "f", text: "fit the whole graph", run: () => view().fit() },
      {
        keys: ["h"],
        shown: "h",
        text: "back to the beginning, in a readable size",
        run: () => view().home(),
      },
      { keys: ["+", "="], shown: "+ -", text: "zoom in, zoom out", run: () => view().zoomBy(1.25) },
      { keys: ["-", "_"], shown: "", text: "", run: () => view().zoomBy(0.8) },
      { keys: ["w"], shown: "w a s d", text: "pan", run: () => view().panBy(0, 80) },
      { keys: ["a"], shown: "", text: "", run: () => view().panBy(80, 0) },
      { keys: ["s"], shown: "", text: "", run: () => view().panBy(0, -80) },
      { keys: ["d"], shown: "", text: "", run: () => view().panBy(-80, 0) },
      { keys: ["/"], shown: "/", text: "search", run: () => this.search.focus() },
      { keys: ["n"], shown: "n N", text: "next, previous of what was found", run: () => this.search.next(1) },
      { keys: ["N"], shown: "", text: "", run: () => this.search.next(-1) },
      {
        keys: ["p"],
        shown: "p",
        text: "replay: play or pause",
        run: () => this.tab.kind === "graph" && this.replay.toggle(),
      },
      {
        keys: [","],
        shown: ", .",
        text: "replay: one op back, one op on",
        run: () => this.tab.kind === "graph" && this.replay.step(-1),
      },
      { keys: ["."], shown: "", text: "", run: () => this.tab.kind === "graph" && this.replay.step(1) },
      { keys: ["1"], shown: "1 2 3", text: "forward, backward, plan", run: () => this.setView("forward") },
      { keys: ["2"], shown: "", text: "", run: () => this.setView("backward") },
      { keys: ["3"], shown: "", text: "", run: () => this.setView("plan") },
      { keys: ["g"], shown: "g", text: "next colours", run: () => this.nextColour() },
      { keys: ["["], shown: "[ ]", text: "previous, next tab", run: () => this.nextTab(-1) },
      { keys: ["]"], shown: "", text: "", run: () => this.nextTab(1) },
      { keys: ["o"], shown: "o", text: "show or hide the outline", run: () => this.toggleOutline() },
      { keys: ["t"], shown: "t", text: "light or dark", run: () => this.themes.toggle() },
      {
        keys: ["Escape"],
        shown: "Esc",
        text: "end the replay, then clear selection and search",
        run: () => this.escape(),
      },
      { keys: ["?"], shown: "?", text: "this list", run: () => this.help.toggle() },
    ];
  }

  private escape(): void {
    if (this.replay.active) return this.replay.stop();
    this.search.clear();
    this.view.highlight(null);
    this.activeView().select(NOTHING);
  }
}
