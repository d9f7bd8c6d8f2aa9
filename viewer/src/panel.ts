/** The panel beside the graph: everything about the node, step or group that is selected. */

import { h, link, replace } from "./dom";
import { bytesText, countText, numberText, secondsText, shapeText, shorten } from "./format";
import type { Graph } from "./graph";
import { type Batch, type Failure, placeOf, placeText, sourceLine, type Trace } from "./model";
import { sourceAround } from "./source";
import { showStatistics } from "./statistics";
import type { Selection } from "./view";

export interface PanelEvents {
  /** Go to a node, wherever it is folded away. */
  goTo(node: number): void;
  goToGroup(group: number): void;
  goToStep(item: number): void;
}

type Row = [string, string | Node | null];

function facts(rows: Row[]): HTMLElement {
  return h(
    "dl",
    {},
    ...rows.flatMap(([name, value]) =>
      value === null || value === "" ? [] : [h("dt", {}, name), h("dd", {}, value)],
    ),
  );
}

function section(title: string, ...children: (Node | null | false)[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...children);
}

export class Panel {
  readonly element = h("aside", { class: "panel", "aria-label": "details", tabindex: "-1" });
  readonly extra = h("div", { class: "panel-extra" });
  private readonly body = h("div", { class: "panel-body", "aria-live": "polite" });

  constructor(private readonly events: PanelEvents) {
    this.element.append(this.body, this.extra);
  }

  show(graph: Graph, selection: Selection): void {
    const { box, chip } = selection;
    if (chip >= 0) replace(this.body, ...this.node(graph, chip));
    else if (box < 0) replace(this.body, ...this.overview(graph));
    else if (graph.isGroup(box)) replace(this.body, ...this.group(graph, graph.groupAt(box)));
    else if (graph.items[box]!.kind === "step") replace(this.body, ...this.step(graph, box));
    else replace(this.body, ...this.node(graph, graph.items[box]!.node));
    this.element.scrollTop = 0;
  }

  private title(name: string, kind: string): HTMLElement {
    return h("header", {}, h("h2", {}, name), h("span", { class: "kind" }, kind));
  }

  // ---- A node ----

  private node(graph: Graph, at: number): (Node | null)[] {
    const { trace } = graph;
    const node = trace.nodes[at]!;
    const call = trace.modules[node.module];
    const bytes = node.results.reduce((sum, one) => sum + one.bytes, 0);
    const reads = trace.reads.flatMap((read, index) => (read.node === at ? [index] : []));
    return [
      this.title(node.name || node.op, node.kind === "op" ? `op · node ${at}` : `${node.kind} · node ${at}`),
      facts([
        ["op", node.op],
        ["result", node.results.map((one) => `${shapeText(one.shape)} ${one.dtype}`).join("\n")],
        ...Object.entries(node.attributes).map(([name, value]): Row => [name, value]),
        ["module", call === undefined ? null : call.path === "" ? call.kind : `${call.path} (${call.kind})`],
        ["time", node.seconds > 0 ? secondsText(node.seconds) : null],
        [
          "memory",
          bytes > 0
            ? bytesText(bytes)
            : node.results.length > 0 && node.kind === "op"
              ? "none (a view)"
              : null,
        ],
        ["saved", node.saved > 0 ? `${bytesText(node.saved)} for backward` : null],
        ["example", node.example >= 0 ? String(node.example) : null],
        ["phase", node.phase === "backward" ? "recorded in backward" : null],
      ]),
      this.source(trace, node.frame),
      reads.length > 0 ? section("Python read it", ...reads.map((index) => this.read(trace, index))) : null,
      this.inputs(graph, at),
      this.consumers(graph, at),
      ...node.results.flatMap((one, index) => {
        const which = node.results.length > 1 ? ` ${index}` : "";
        return [
          one.value === null ? null : showStatistics(`Value${which}`, one.value, one.shape),
          one.gradient === null ? null : showStatistics(`Gradient${which}`, one.gradient, one.shape),
        ];
      }),
    ];
  }

  private nodeLink(trace: Trace, at: number): HTMLElement {
    const node = trace.nodes[at]!;
    const shape = shapeText(node.results[0]?.shape ?? []);
    const place = placeText(placeOf(trace, node.frame));
    return h(
      "li",
      {},
      link(node.name || node.op, () => this.events.goTo(at), `node ${at}`),
      h("span", { class: "muted" }, ` ${shape}${place === "" ? "" : ` · ${place}`}`),
    );
  }

  private inputs(graph: Graph, at: number): HTMLElement | null {
    const { trace } = graph;
    const { inputs } = trace.nodes[at]!;
    if (inputs.length === 0) return null;
    return section(
      "Inputs",
      h(
        "ul",
        { class: "links" },
        ...inputs.map((input) =>
          input.node < 0
            ? h(
                "li",
                {},
                h("span", {}, `${input.name || "number"} `),
                h("code", {}, numberText(input.number)),
              )
            : this.nodeLink(trace, input.node),
        ),
      ),
    );
  }

  private consumers(graph: Graph, at: number): HTMLElement | null {
    const { trace } = graph;
    const found = trace.nodes.flatMap((node, index) =>
      node.inputs.some((input) => input.node === at) ? [index] : [],
    );
    if (found.length === 0) return null;
    const shown = found.slice(0, 40);
    return section(
      `Read by ${found.length}`,
      h(
        "ul",
        { class: "links" },
        ...shown.map((index) => this.nodeLink(trace, index)),
        shown.length < found.length && h("li", { class: "muted" }, `and ${found.length - shown.length} more`),
      ),
    );
  }

  private read(trace: Trace, at: number): HTMLElement {
    const read = trace.reads[at]!;
    const place = placeOf(trace, read.frame);
    return h(
      "div",
      { class: "decision" },
      h("strong", {}, `◆ ${read.kind} → ${read.value}`),
      place !== null && ` at ${placeText(place)}`,
      h("code", {}, sourceLine(trace, place)),
      read.node >= 0 && link("go to the value", () => this.events.goTo(read.node)),
    );
  }

  private source(trace: Trace, frame: number): HTMLElement | null {
    const place = placeOf(trace, frame);
    if (place === null) return null;
    const callers: Node[] = [];
    for (
      let at = trace.frames[frame]!.caller, depth = 0;
      at >= 0 && depth < 20;
      at = trace.frames[at]!.caller, depth++
    ) {
      const one = placeOf(trace, at);
      callers.push(
        h(
          "li",
          {},
          h("span", { class: "muted" }, `${placeText(one)} in ${one?.function ?? "?"}()  `),
          h("code", {}, sourceLine(trace, one)),
        ),
      );
    }
    return section(
      `${placeText(place)} in ${place.function === "<module>" ? "the script" : `${place.function}()`}`,
      sourceAround(trace, place),
      callers.length > 0 &&
        h(
          "details",
          {},
          h("summary", {}, `called from ${countText(callers.length, "place")}`),
          h("ul", { class: "links" }, ...callers),
        ),
    );
  }

  // ---- A step of backward ----

  private step(graph: Graph, item: number): (Node | null)[] {
    const { trace } = graph;
    const step = trace.backwards[graph.which]!.steps[graph.items[item]!.step]!;
    const first = trace.nodes[step.nodes[0] ?? -1];
    const known = (list: typeof step.incoming, title: string): (Node | null)[] =>
      list.map((one, at) =>
        one === null
          ? null
          : showStatistics(
              list.length > 1 ? `${title} ${at}` : title,
              one,
              guessShape(trace, step.nodes[0] ?? -1, title, at, one.count),
            ),
      );
    return [
      this.title(step.name, `step ${graph.items[item]!.step + 1} of backward`),
      facts([
        ["time", step.seconds > 0 ? secondsText(step.seconds) : null],
        ["rows", step.rows > 1 ? String(step.rows) : null],
      ]),
      first === undefined ? null : this.source(trace, first.frame),
      section(
        `Gradient of ${countText(step.nodes.length, "node")}`,
        h("ul", { class: "links" }, ...step.nodes.slice(0, 40).map((node) => this.nodeLink(trace, node))),
      ),
      ...known(step.incoming, "Incoming gradient"),
      ...known(step.outgoing, "Outgoing gradient"),
    ];
  }

  // ---- A batch of a plan ----

  showBatch(graph: Graph, batch: Batch, title: string): void {
    const { trace } = graph;
    const shown = batch.nodes.slice(0, 100);
    replace(
      this.body,
      this.title(batch.op, title),
      facts([
        ["rows", String(batch.nodes.length)],
        ["copied", bytesText(batch.bytes_copied)],
        ["time", batch.seconds > 0 ? secondsText(batch.seconds) : null],
        ["note", batch.note],
      ]),
      batch.place < 0
        ? null
        : section(
            placeText(trace.places[batch.place] ?? null),
            sourceAround(trace, trace.places[batch.place] ?? null),
          ),
      section(
        "Its rows",
        h(
          "ul",
          { class: "links" },
          ...shown.map((node) => {
            const { example } = trace.nodes[node]!;
            const row = this.nodeLink(trace, node);
            if (example >= 0) row.append(h("span", { class: "muted" }, ` · example ${example}`));
            return row;
          }),
          shown.length < batch.nodes.length &&
            h("li", { class: "muted" }, `and ${batch.nodes.length - shown.length} more`),
        ),
      ),
    );
    this.element.scrollTop = 0;
  }

  // ---- A group ----

  private group(graph: Graph, group: number): (Node | null)[] {
    const { kind, label, frame, count } = graph.groups[group]!;
    const sum = graph.sums[group]!;
    const { trace } = graph;
    const names: Record<string, string> = {
      module: "module",
      function: "function",
      loop: "loop",
      iteration: "iteration of a loop",
      part: "part of a long list",
    };
    const parameters = new Set(
      graph
        .itemsIn(graph.groupBox(group))
        .flatMap((item) =>
          graph.items[item]!.chips.filter((chip) => trace.nodes[chip]!.kind === "parameter"),
        ),
    );
    let parameterBytes = 0;
    let numbers = 0;
    for (const at of parameters)
      for (const one of trace.nodes[at]!.results) {
        parameterBytes += one.bytes;
        numbers += one.shape.reduce((a, b) => a * b, 1);
      }
    return [
      this.title(graph.labelOf(graph.groupBox(group)), names[kind] ?? kind),
      facts([
        [
          "path",
          kind === "module" && label !== graph.labelOf(graph.groupBox(group)) ? label.split(" ")[0]! : null,
        ],
        ["ran", kind === "loop" || count > 1 ? countText(count, "time") : null],
        [graph.view === "backward" ? "steps" : "ops", sum.items.toLocaleString("en")],
        ["time", sum.seconds > 0 ? secondsText(sum.seconds) : null],
        ["memory", sum.bytes > 0 ? bytesText(sum.bytes) : null],
        ["saved", sum.saved > 0 ? `${bytesText(sum.saved)} for backward` : null],
        [
          "parameters",
          parameters.size > 0
            ? `${parameters.size}, with ${numbers.toLocaleString("en")} numbers${parameterBytes > 0 ? ` (${bytesText(parameterBytes)})` : ""}`
            : null,
        ],
        ["decisions", sum.reads > 0 ? String(sum.reads) : null],
        ["NaN or inf", sum.bad > 0 ? `in ${countText(sum.bad, "op")}` : null],
      ]),
      this.source(trace, frame),
      this.opCounts(sum.ops),
      section(
        "Inside",
        h(
          "ul",
          { class: "links" },
          ...graph
            .childrenOf(group)
            .slice(0, 60)
            .map((box) =>
              h(
                "li",
                {},
                graph.isGroup(box)
                  ? link(graph.labelOf(box), () => this.events.goToGroup(graph.groupAt(box)))
                  : link(graph.labelOf(box), () => this.events.goToStep(box)),
                !graph.isGroup(box) && h("span", { class: "muted" }, ` ${graph.items[box]!.detail}`),
              ),
            ),
        ),
      ),
    ];
  }

  private opCounts(ops: Map<string, number>): HTMLElement {
    const rows = [...ops].sort((a, b) => b[1] - a[1]);
    const most = rows[0]?.[1] ?? 1;
    return section(
      "Ops",
      h(
        "table",
        { class: "counts" },
        h(
          "tbody",
          {},
          ...rows.slice(0, 14).map(([op, count]) => {
            const bar = h("span", { class: "bar" });
            bar.style.width = `${(100 * count) / most}%`;
            return h(
              "tr",
              {},
              h("td", {}, shorten(op, 24)),
              h("td", { class: "count" }, count.toLocaleString("en")),
              h("td", { class: "bars" }, bar),
            );
          }),
        ),
      ),
      rows.length > 14 && h("p", { class: "muted" }, `and ${rows.length - 14} other kinds`),
    );
  }

  // ---- Nothing selected: the whole ----

  private overview(graph: Graph): (Node | null)[] {
    const { trace } = graph;
    const ops = new Map<string, number>();
    let [seconds, bytes, saved, numbers] = [0, 0, 0, 0];
    const steps = graph.items[0]?.kind === "step";
    for (const item of graph.items) {
      const name = steps ? item.label : trace.nodes[item.node]!.op;
      ops.set(name, (ops.get(name) ?? 0) + 1);
      seconds += item.seconds;
      bytes += item.bytes;
      saved += steps ? 0 : trace.nodes[item.node]!.saved;
    }
    let parameters = 0;
    for (const node of trace.nodes) if (node.kind === "parameter") parameters += 1;
    for (const node of trace.nodes)
      if (node.kind === "parameter") numbers += (node.results[0]?.shape ?? []).reduce((a, b) => a * b, 1);
    const bad = graph.items.filter((item) => graph.numbersOf(item) > 1);
    return [
      this.title(graph.page.title, graph.view === "backward" ? "backward" : "graph"),
      facts([
        [steps ? "steps" : "nodes", (steps ? graph.items.length : trace.nodes.length).toLocaleString("en")],
        [
          "parameters",
          parameters > 0
            ? `${parameters.toLocaleString("en")}, with ${numbers.toLocaleString("en")} numbers`
            : null,
        ],
        ["time", seconds > 0 ? `${secondsText(seconds)} in ops` : null],
        ["run", trace.seconds > 0 ? secondsText(trace.seconds) : null],
        ["memory", bytes > 0 ? bytesText(bytes) : null],
        ["saved", saved > 0 ? `${bytesText(saved)} for backward` : null],
      ]),
      bad.length > 0
        ? section(
            "NaN or inf",
            h(
              "p",
              {},
              `in ${countText(bad.length, "op")}; the first is `,
              link(bad[0]!.label, () =>
                steps ? this.events.goToStep(bad[0]!.step) : this.events.goTo(bad[0]!.node),
              ),
              ".",
            ),
          )
        : null,
      trace.reads.length > 0
        ? section(
            "Decisions",
            ...trace.reads.slice(0, 30).map((_, at) => this.read(trace, at)),
            trace.reads.length > 30 && h("p", { class: "muted" }, `and ${trace.reads.length - 30} more`),
          )
        : null,
      ops.size > 0 ? this.opCounts(ops) : null,
    ];
  }
}

function guessShape(trace: Trace, node: number, title: string, at: number, count: number): number[] {
  const of = trace.nodes[node];
  const result = title.startsWith("In")
    ? of?.results[at]
    : trace.nodes[of?.inputs[at]?.node ?? -1]?.results[of?.inputs[at]?.output ?? 0];
  const shape = result?.shape ?? [count];
  return shape.reduce((a, b) => a * b, 1) === count ? shape : [count];
}

/** The red banner of a run that ended with an exception. */
export function failureBanner(trace: Trace, failure: Failure, goTo: (() => void) | null): HTMLElement {
  const place = placeOf(trace, failure.frame);
  const where =
    place === null
      ? ""
      : ` at ${placeText(place)} in ${place.function === "<module>" ? "the script" : `${place.function}()`}`;
  return h(
    "div",
    { class: "banner", role: "alert" },
    h(
      "div",
      { class: "banner-text" },
      h("strong", {}, failure.kind),
      `${where}: `,
      h("span", { class: "message" }, failure.message),
    ),
    sourceAround(trace, place, 2) ?? null,
    h(
      "p",
      {},
      `The graph so far: ${countText(failure.after, "node")} had been recorded. `,
      goTo !== null && link("Go to the last one", goTo),
    ),
  );
}
