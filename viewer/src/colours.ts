/** Which colour a box has: by op, module, time, bytes, bad numbers, sides of a merge, or changes. */

import { bytesText, secondsText } from "./format";
import type { Graph } from "./graph";
import type { Theme } from "./theme";

export type ColourMode = "op" | "module" | "time" | "bytes" | "nan" | "side" | "change";

export interface LegendEntry {
  colour: string;
  text: string;
}

export interface Colouring {
  mode: ColourMode;
  /** The mark of a box. */
  mark(box: number): string;
  /** The fill of a whole box, where the mode speaks of amounts. */
  fill(box: number): string | null;
  legend: LegendEntry[];
}

const FAMILIES: [string, RegExp][] = [
  ["products", /^(linear|addmm|b?mm|matmul|dot|mv|bmm|baddbmm|einsum|outer|conv|bilinear)/i],
  [
    "activations",
    /^(relu|gelu|silu|tanh|sigmoid|softmax|log_?softmax|elu|leaky|mish|hard|softplus|selu|glu|threshold|logsigmoid)/i,
  ],
  ["norms and dropout", /norm|dropout/i],
  [
    "losses and reductions",
    /loss|entropy|^(sum|mean|max|min|amax|amin|var|std|prod|arg|logsumexp|cumsum|norm|nll|mse|all|any)\b/i,
  ],
  [
    "shapes and indexing",
    /^(view|reshape|transpose|permute|t$|cat|stack|split|chunk|unbind|select|slice|index|gather|scatter|expand|squeeze|unsqueeze|flatten|embedding|narrow|pad|flip|roll|clone|contiguous|unfold)/i,
  ],
  [
    "arithmetic",
    /^(add|sub|mul|div|neg|pow|exp|log|sqrt|rsqrt|abs|where|clamp|maximum|minimum|reciprocal|square|eq|ne|lt|le|gt|ge|lerp|sin|cos|erf)/i,
  ],
  ["inputs", /^(input|rand|zeros|ones|arange|full|normal|bernoulli)/i],
];

/** The family of an op's name; gradient rules ("MulBackward0") go with their op. */
export function familyOf(op: string): number {
  const name = op
    .replace(/Backward\d*$/, "")
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase();
  const at = FAMILIES.findIndex(([, pattern]) => pattern.test(name));
  return at < 0 ? FAMILIES.length : at;
}

function byKind(graph: Graph, theme: Theme): Colouring {
  const family = graph.items.map((item) =>
    item.kind === "input"
      ? 6
      : familyOf(item.kind === "step" ? item.label : graph.trace.nodes[item.node]!.op),
  );
  const colour = (at: number): string => theme.marks[at]!;
  const used = new Set(family);
  return {
    mode: "op",
    mark: (box) => (graph.isGroup(box) ? theme.faint : colour(family[box]!)),
    fill: () => null,
    legend: [
      ...FAMILIES.map(([text], at) => ({ colour: colour(at), text, at })),
      { colour: colour(FAMILIES.length), text: "other ops", at: FAMILIES.length },
    ]
      .filter((one) => used.has(one.at))
      .map(({ colour, text }) => ({ colour, text })),
  };
}

/** The colour of all items of a group, if they have the same. */
function oneColour(graph: Graph, ofItem: string[], mixed: string): string[] {
  return graph
    .gather(ofItem, "", (one, other) => (one === "" || one === other ? other : mixed))
    .map((one) => one || mixed);
}

/** Modules by their kind ("Linear"), which repeats where paths do not. */
function byModule(graph: Graph, theme: Theme): Colouring {
  const { trace } = graph;
  const counts = new Map<string, number>();
  const kindOf = (item: number): string =>
    trace.modules[trace.nodes[graph.items[item]!.node]?.module ?? -1]?.kind ?? "";
  graph.items.forEach((_, at) => counts.set(kindOf(at), (counts.get(kindOf(at)) ?? 0) + 1));
  const kinds = [...counts.keys()]
    .filter((one) => one !== "")
    .sort((a, b) => counts.get(b)! - counts.get(a)!);
  const colours = new Map(
    kinds.map((kind, at) => [kind, theme.marks[Math.min(at, theme.marks.length - 1)]!]),
  );
  const colour = (kind: string): string => colours.get(kind) ?? theme.faint;
  const ofGroup = oneColour(
    graph,
    graph.items.map((_, at) => colour(kindOf(at))),
    theme.faint,
  );
  return {
    mode: "module",
    mark: (box) => (graph.isGroup(box) ? ofGroup[graph.groupAt(box)]! : colour(kindOf(box))),
    fill: () => null,
    legend: [
      ...kinds.slice(0, theme.marks.length).map((kind) => ({ colour: colour(kind), text: kind })),
      ...(counts.has("") ? [{ colour: theme.faint, text: "outside of modules" }] : []),
    ],
  };
}

function byAmount(graph: Graph, theme: Theme, mode: "time" | "bytes"): Colouring {
  const field = mode === "time" ? "seconds" : "bytes";
  const amount = (box: number): number =>
    graph.isGroup(box) ? graph.sums[graph.groupAt(box)]![field] : graph.items[box]![field];
  const total = graph.items.reduce((sum, item) => sum + item[field], 0);
  const counted = graph.items.filter((item) => item[field] > 0).length;
  // Steps from an op's average share to half of everything; ops and groups have one scale.
  const average = 1 / Math.max(4, counted);
  const steps = theme.heat.length - 2;
  const limits = Array.from({ length: steps }, (_, at) => average * (0.5 / average) ** (at / (steps - 1)));
  const shade = (box: number): string => {
    const share = total > 0 ? amount(box) / total : 0;
    if (share <= 0) return theme.heat[0]!;
    let level = 1;
    while (level <= steps && share >= limits[level - 1]!) level += 1;
    return theme.heat[level]!;
  };
  const text = mode === "time" ? secondsText : bytesText;
  const shown = (share: number): string => text(mode === "bytes" ? Math.round(share * total) : share * total);
  return {
    mode,
    mark: shade,
    fill: shade,
    legend:
      total > 0
        ? theme.heat.map((colour, at) => ({
            colour,
            text: at === 0 ? "none" : at === 1 ? "less" : `≥ ${shown(limits[at - 2]!)}`,
          }))
        : [
            {
              colour: theme.heat[0]!,
              text: mode === "time" ? "no times were taken" : "nothing was allocated",
            },
          ],
  };
}

function byNumbers(graph: Graph, theme: Theme): Colouring {
  const colours = [theme.faint, theme.good, theme.warn, theme.bad];
  const ofItem = graph.items.map((item) => graph.numbersOf(item));
  const ofGroup = graph.gather(ofItem, 0, Math.max);
  const state = (box: number): number => (graph.isGroup(box) ? ofGroup[graph.groupAt(box)]! : ofItem[box]!);
  return {
    mode: "nan",
    mark: (box) => colours[state(box)]!,
    fill: (box) => (state(box) === 3 ? theme.badSoft : null),
    legend: [
      { colour: theme.bad, text: "has NaN" },
      { colour: theme.warn, text: "has inf" },
      { colour: theme.good, text: "all finite" },
      { colour: theme.faint, text: "not looked at" },
    ],
  };
}

function bySide(graph: Graph, theme: Theme): Colouring {
  const sides = graph.page.sides ?? [];
  const names = [...new Set(sides.flat())].sort((a, b) => a - b);
  const colour = (key: number[]): string =>
    key.length === 0 || key.length === names.length
      ? theme.faint
      : theme.marks[key.length === 1 ? [0, 5, 2, 3, 6, 1][names.indexOf(key[0]!) % 6]! : 4]!;
  const ofItem = graph.items.map((item) => colour(sides[item.node] ?? []));
  const ofGroup = oneColour(graph, ofItem, theme.faint);
  return {
    mode: "side",
    mark: (box) => (graph.isGroup(box) ? ofGroup[graph.groupAt(box)]! : ofItem[box]!),
    fill: () => null,
    legend: [
      { colour: theme.faint, text: "in all graphs" },
      ...names.map((name) => ({ colour: colour([name]), text: `only in graph ${name + 1}` })),
      ...(sides.some((one) => one.length > 1 && one.length < names.length)
        ? [{ colour: theme.marks[4]!, text: "in some" }]
        : []),
    ],
  };
}

export type NodeState = "same" | "only" | "changed";

/** Of a diff: what became of each node. */
function byChange(graph: Graph, theme: Theme, states: NodeState[], left: boolean): Colouring {
  const only = left ? theme.bad : theme.good;
  const rank: Record<NodeState, number> = { same: 0, changed: 1, only: 2 };
  const colours = [theme.faint, theme.warn, only];
  const ofItem = graph.items.map((item) => rank[states[item.node] ?? "same"]);
  const least = graph.gather(ofItem, 2, Math.min);
  const most = graph.gather(ofItem, 0, Math.max);
  const ofGroup = graph.groups.map((_, group) => (least[group] === 2 ? 2 : most[group]! > 0 ? 1 : 0));
  const state = (box: number): number => (graph.isGroup(box) ? ofGroup[graph.groupAt(box)]! : ofItem[box]!);
  const soft = [null, theme.decisionSoft, left ? theme.badSoft : theme.dark ? "#1c3327" : "#e6f5ec"];
  return {
    mode: "change",
    mark: (box) => colours[state(box)]!,
    fill: (box) => soft[state(box)]!,
    legend: [
      { colour: only, text: left ? "only on the left" : "only on the right" },
      { colour: theme.warn, text: "changed" },
      { colour: theme.faint, text: "the same in both" },
    ],
  };
}

export interface ChangeStates {
  states: NodeState[];
  left: boolean;
}

export function makeColouring(
  graph: Graph,
  mode: ColourMode,
  theme: Theme,
  change: ChangeStates | null = null,
): Colouring {
  if (mode === "change" && change !== null) return byChange(graph, theme, change.states, change.left);
  if (mode === "module") return byModule(graph, theme);
  if (mode === "time" || mode === "bytes") return byAmount(graph, theme, mode);
  if (mode === "nan") return byNumbers(graph, theme);
  if (mode === "side") return bySide(graph, theme);
  return byKind(graph, theme);
}
