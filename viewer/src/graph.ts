/** A graph to draw: boxes, edges between them, and the tree of groups that they fold into. */

import { countText, shapeText } from "./format";
import {
  type Group,
  isChip,
  type PageGraph,
  placeOf,
  sourceLine,
  type Statistics,
  type Trace,
  type TraceNode,
} from "./model";

export type ViewName = "forward" | "backward" | "plan";

/** One box that cannot be opened: a node, or a step of backward. */
export interface Item {
  label: string;
  detail: string;
  kind: TraceNode["kind"] | "step";
  /** The node it stands for; of a step, the first. */
  node: number;
  nodes: number[];
  group: number;
  /** Leaves it reads: node numbers. */
  chips: number[];
  /** What Python read from it: places in `trace.reads`. */
  reads: number[];
  seconds: number;
  bytes: number;
  /** Of backward: its place among the steps. */
  step: number;
}

export interface Edge {
  source: number;
  target: number;
  label: string;
  control: boolean;
}

/** Sums over everything inside a group. */
export interface Sums {
  items: number;
  seconds: number;
  bytes: number;
  saved: number;
  reads: number;
  bad: number;
  ops: Map<string, number>;
}

const MOST_CHILDREN = 1000;
const PART = 250;

export class Graph {
  readonly trace: Trace;
  readonly items: Item[] = [];
  readonly edges: Edge[] = [];
  readonly groups: Group[];
  /** The item of each node, -1 if it has none. */
  readonly itemOf: Int32Array;
  /** Boxes (items, then groups, see `groupBox`) directly inside of each group; the last is the outermost level. */
  readonly children: number[][];
  readonly sums: Sums[];
  /** The first item of each group, which orders boxes. */
  private first: Int32Array;
  private readonly groupOf: Int32Array;

  constructor(
    readonly page: PageGraph,
    readonly view: ViewName,
    readonly which = 0,
  ) {
    this.trace = page.trace;
    this.groups = [...page.groups];
    this.itemOf = new Int32Array(this.trace.nodes.length).fill(-1);
    if (view === "backward" && this.trace.backwards.length > 0) this.makeSteps();
    else this.makeNodes();
    this.groupOf = Int32Array.from(this.items, (item) => item.group);
    this.first = this.makeFirst();
    this.children = this.makeTree();
    this.splitLong();
    this.first = this.makeFirst();
    this.sums = this.makeSums();
  }

  get count(): number {
    return this.items.length;
  }

  isGroup(box: number): boolean {
    return box >= this.items.length;
  }

  groupBox(group: number): number {
    return this.items.length + group;
  }

  groupAt(box: number): number {
    return box - this.items.length;
  }

  /** The group that a box stands in, -1 outermost. */
  parentOf(box: number): number {
    return this.isGroup(box) ? this.groups[this.groupAt(box)]!.parent : this.groupOf[box]!;
  }

  childrenOf(group: number): number[] {
    return group < 0 ? this.children[this.children.length - 1]! : this.children[group]!;
  }

  /** What a box is called, given what it stands in: "query (Linear)" inside of "blocks.0.attention (Attention)". */
  labelOf(box: number): string {
    if (!this.isGroup(box)) return this.items[box]!.label;
    const { kind, label } = this.groups[this.groupAt(box)]!;
    if (kind === "iteration") {
      const outer = this.groups[this.parentOf(box)];
      return outer?.label === "weft.map" ? `example ${label}` : `iteration ${label}`;
    }
    for (let at = this.parentOf(box); at >= 0; at = this.groups[at]!.parent) {
      const outer = this.groups[at]!;
      const path = outer.label.split(" ")[0]!;
      if (outer.kind === "module" && kind === "module" && label.startsWith(`${path}.`))
        return label.slice(path.length + 1);
    }
    return label;
  }

  /** All items inside of a box, itself if it is one. */
  itemsIn(box: number): number[] {
    if (!this.isGroup(box)) return [box];
    const found: number[] = [];
    const open = [this.groupAt(box)];
    while (open.length > 0)
      for (const child of this.children[open.pop()!]!)
        if (this.isGroup(child)) open.push(this.groupAt(child));
        else found.push(child);
    return found.sort((a, b) => a - b);
  }

  private makeNodes(): void {
    const { nodes, reads } = this.trace;
    const shown = this.shownNodes();
    nodes.forEach((node, at) => {
      if (!shown[at]) return;
      this.itemOf[at] = this.items.length;
      this.items.push({
        label: labelOfNode(this.trace, at),
        detail: node.kind === "decision" ? "" : detailOfNode(node),
        kind: node.kind,
        node: at,
        nodes: [at],
        group: this.page.group_of[at]!,
        chips: [],
        reads: [],
        seconds: node.seconds,
        bytes: node.results.reduce((sum, one) => sum + one.bytes, 0),
        step: -1,
      });
    });
    for (const item of this.items)
      for (const input of nodes[item.node]!.inputs) {
        if (input.node < 0) continue;
        const source = this.itemOf[input.node]!;
        if (source < 0) {
          if (isChip(nodes[input.node]!) && !item.chips.includes(input.node)) item.chips.push(input.node);
          continue;
        }
        const shape = nodes[input.node]!.results[input.output]?.shape;
        this.edges.push({
          source,
          target: this.itemOf[item.node]!,
          label: shape === undefined ? "" : shapeText(shape),
          control: false,
        });
      }
    for (const one of this.page.links) {
      const source = this.itemOf[one.source] ?? -1;
      const target = this.itemOf[one.target] ?? -1;
      if (source >= 0 && target >= 0) this.edges.push({ source, target, label: one.label, control: true });
    }
    reads.forEach((read, at) => {
      const item = read.node < 0 ? -1 : this.itemOf[read.node]!;
      if (item >= 0) this.items[item]!.reads.push(at);
    });
  }

  /** Forward shows what forward recorded, and of backward only what forward went on to use. */
  private shownNodes(): boolean[] {
    const { nodes } = this.trace;
    const phase = this.view === "backward" ? "backward" : "forward";
    const shown = nodes.map((node) => node.phase === phase);
    if (phase === "backward" && !shown.includes(true)) return nodes.map(() => false);
    const open = shown.flatMap((one, at) => (one ? [at] : []));
    while (open.length > 0)
      for (const input of nodes[open.pop()!]!.inputs)
        if (input.node >= 0 && !shown[input.node] && nodes[input.node]!.phase === "backward") {
          shown[input.node] = true;
          open.push(input.node);
        }
    // A leaf stands alone only if it is all there is to see of it: an output, or a decision's value.
    const alone = new Set(this.trace.outputs.map((one) => one.node));
    return shown.map((one, at) => one && (!isChip(nodes[at]!) || alone.has(at)));
  }

  private makeSteps(): void {
    const { nodes, backwards } = this.trace;
    const steps = backwards[this.which]?.steps ?? [];
    const stepOf = new Int32Array(nodes.length).fill(-1);
    steps.forEach((step, at) => {
      const first = step.nodes[0] ?? -1;
      for (const node of step.nodes) {
        stepOf[node] = at;
        this.itemOf[node] = at;
      }
      this.items.push({
        label: step.name,
        detail: step.rows > 1 ? countText(step.rows, "row") : first < 0 ? "" : detailOfNode(nodes[first]!),
        kind: "step",
        node: first,
        nodes: step.nodes,
        group: this.commonGroup(step.nodes),
        chips: [],
        reads: [],
        seconds: step.seconds,
        bytes: 0,
        step: at,
      });
    });
    steps.forEach((step, at) => {
      const targets = new Map<number, string>();
      for (const node of step.nodes)
        for (const input of nodes[node]!.inputs) {
          if (input.node < 0) continue;
          const target = stepOf[input.node]!;
          const leaf = nodes[input.node]!;
          if (target >= 0 && target !== at)
            targets.set(target, shapeText(leaf.results[input.output]?.shape ?? []));
          else if (target < 0 && leaf.kind === "parameter" && !this.items[at]!.chips.includes(input.node))
            this.items[at]!.chips.push(input.node);
        }
      for (const [target, label] of targets) this.edges.push({ source: at, target, label, control: false });
    });
  }

  private commonGroup(nodes: number[]): number {
    if (nodes.length === 0) return -1;
    const path = (group: number): number[] => {
      const found: number[] = [];
      for (let at = group; at >= 0; at = this.groups[at]!.parent) found.unshift(at);
      return found;
    };
    let common = path(this.page.group_of[nodes[0]!]!);
    for (const node of nodes.slice(1)) {
      const other = path(this.page.group_of[node]!);
      let same = 0;
      while (same < common.length && common[same] === other[same]) same += 1;
      common = common.slice(0, same);
    }
    return common.at(-1) ?? -1;
  }

  private makeFirst(): Int32Array {
    const first = new Int32Array(this.groups.length).fill(-1);
    this.items.forEach((_, at) => {
      for (let group = this.groupOf[at]!; group >= 0 && first[group]! < 0; group = this.groups[group]!.parent)
        first[group] = at;
    });
    return first;
  }

  /** For each group a value made of those of all items inside of it. */
  gather<T>(ofItem: T[], none: T, join: (one: T, other: T) => T): T[] {
    const found = this.groups.map(() => none);
    ofItem.forEach((value, at) => {
      for (let group = this.groupOf[at]!; group >= 0; group = this.groups[group]!.parent)
        found[group] = join(found[group]!, value);
    });
    return found;
  }

  private makeTree(): number[][] {
    const children: number[][] = [...this.groups, null].map(() => []);
    const outermost = this.groups.length;
    this.groups.forEach((group, at) => {
      if (this.first[at]! >= 0)
        children[group.parent < 0 ? outermost : group.parent]!.push(this.groupBox(at));
    });
    this.items.forEach((item, at) => {
      children[item.group < 0 ? outermost : item.group]!.push(at);
    });
    for (const level of children) level.sort((a, b) => this.orderOf(a) - this.orderOf(b));
    return children;
  }

  /** Boxes stand in the order of recording, but inputs before what may read them. */
  orderOf(box: number): number {
    if (this.isGroup(box)) return this.first[this.groupAt(box)]! - 0.5;
    return this.items[box]!.kind === "input" ? box - this.items.length : box;
  }

  /** A level with very many boxes is folded once more, into stretches of the order of recording. */
  private splitLong(): void {
    const levels = this.children.length;
    for (let level = 0; level < levels; level++) {
      const parent = level === levels - 1 ? -1 : level;
      const boxes = this.childrenOf(parent);
      if (boxes.length <= MOST_CHILDREN) continue;
      const size = Math.max(PART, Math.ceil(boxes.length / 100));
      const parts: number[] = [];
      for (let begin = 0; begin < boxes.length; begin += size) {
        const inside = boxes.slice(begin, begin + size);
        const group = this.groups.length;
        const end = begin + inside.length;
        this.groups.push({ kind: "part", label: `${begin + 1} – ${end}`, parent, frame: -1, count: 1 });
        // The outermost level stays last, so a new group goes before it.
        this.children.splice(this.children.length - 1, 0, inside);
        for (const box of inside)
          if (this.isGroup(box))
            this.groups[this.groupAt(box)] = { ...this.groups[this.groupAt(box)]!, parent: group };
          else this.groupOf[box] = group;
        parts.push(this.groupBox(group));
      }
      this.children[parent < 0 ? this.children.length - 1 : parent] = parts;
    }
  }

  private makeSums(): Sums[] {
    const sums = this.groups.map((): Sums => ({
      items: 0,
      seconds: 0,
      bytes: 0,
      saved: 0,
      reads: 0,
      bad: 0,
      ops: new Map(),
    }));
    this.items.forEach((item, at) => {
      const node = this.trace.nodes[item.node];
      const saved = item.kind === "step" ? 0 : (node?.saved ?? 0);
      const bad = this.numbersOf(item) > 1 ? 1 : 0;
      for (let group = this.groupOf[at]!; group >= 0; group = this.groups[group]!.parent) {
        const sum = sums[group]!;
        sum.items += 1;
        sum.seconds += item.seconds;
        sum.bytes += item.bytes;
        sum.saved += saved;
        sum.reads += item.reads.length;
        sum.bad += bad;
        const op = item.kind === "step" ? item.label : (node?.op ?? "");
        sum.ops.set(op, (sum.ops.get(op) ?? 0) + 1);
      }
    });
    return sums;
  }

  /** 0: nothing is known, 1: all finite, 2: an infinity, 3: a NaN; of value and gradient. */
  numbersOf(item: Item): number {
    let worst = 0;
    const look = (facts: Statistics | null): void => {
      if (facts !== null) worst = Math.max(worst, facts.nans > 0 ? 3 : facts.infinities > 0 ? 2 : 1);
    };
    if (item.kind === "step") {
      const step = this.trace.backwards[this.which]?.steps[item.step];
      step?.incoming.forEach(look);
      step?.outgoing.forEach(look);
    } else
      for (const result of this.trace.nodes[item.node]!.results) {
        look(result.value);
        look(result.gradient);
      }
    return worst;
  }

  /** The first item of a group. */
  firstOf(group: number): number {
    return this.first[group]!;
  }
}

function labelOfNode(trace: Trace, at: number): string {
  const node = trace.nodes[at]!;
  if (node.kind === "decision") {
    const place = placeOf(trace, node.frame);
    return node.name || sourceLine(trace, place).replace(/:$/, "") || node.op;
  }
  if (node.kind === "input" || isChip(node)) return node.name || node.op;
  return node.op;
}

export function detailOfNode(node: TraceNode): string {
  const shapes = node.results.map((one) => shapeText(one.shape));
  const shown =
    shapes.length > 3 ? `${shapes.slice(0, 2).join(", ")}, … (${shapes.length})` : shapes.join(", ");
  const dtype = node.results[0]?.dtype ?? "";
  return dtype === "" || dtype === "float32" ? shown : `${shown} ${dtype}`;
}
