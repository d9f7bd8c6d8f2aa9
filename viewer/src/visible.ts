/** What is to be seen of a graph: the boxes of the groups that are open, and the edges between them. */

import type { Graph } from "./graph";

export interface LevelEdge {
  /** Places in the level's list: ports of the top border, boxes, ports of the bottom border. */
  upper: number;
  lower: number;
  /** The port of an open box that the edge goes on through, -1: none. */
  upperPort: number;
  lowerPort: number;
  /** The data flows upwards. */
  reversed: boolean;
  control: boolean;
  labels: string[];
  /** How many edges of the graph it stands for. */
  count: number;
  /** The first item that it leads to: when it comes to be. */
  born: number;
}

export interface Level {
  group: number;
  boxes: number[];
  top: number;
  bottom: number;
  edges: LevelEdge[];
  /** The level inside of each box that is open. */
  inner: (Level | null)[];
}

/** What joins two boxes that are seen, over the levels it crosses. */
export interface Wire {
  source: number;
  target: number;
  control: boolean;
  label: string;
  count: number;
  born: number;
  segments: { level: Level; edge: number }[];
}

export interface Visible {
  root: Level;
  /** Outer levels first. */
  levels: Level[];
  wires: Wire[];
  /** For each item the box that shows it. */
  shownBy: Int32Array;
  boxes: number;
}

const MOST_PORTS = 6;

function makeLevels(graph: Graph, open: ReadonlySet<number>, shownBy: Int32Array): Level[] {
  const levels: Level[] = [];
  const make = (group: number): Level => {
    const level: Level = { group, boxes: graph.childrenOf(group), top: 0, bottom: 0, edges: [], inner: [] };
    levels.push(level);
    for (const box of level.boxes) {
      if (!graph.isGroup(box)) {
        shownBy[box] = box;
        level.inner.push(null);
      } else if (open.has(graph.groupAt(box))) level.inner.push(make(graph.groupAt(box)));
      else {
        for (const item of graph.itemsIn(box)) shownBy[item] = box;
        level.inner.push(null);
      }
    }
    return level;
  };
  make(-1);
  return levels;
}

function makeWires(graph: Graph, shownBy: Int32Array): Wire[] {
  const total = graph.items.length + graph.groups.length;
  const found = new Map<number, Wire>();
  for (const edge of graph.edges) {
    const source = shownBy[edge.source]!;
    const target = shownBy[edge.target]!;
    if (source === target) continue;
    const key = (source * total + target) * 2 + (edge.control ? 1 : 0);
    const wire = found.get(key);
    if (wire === undefined)
      found.set(key, {
        source,
        target,
        control: edge.control,
        label: edge.label,
        count: 1,
        born: edge.target,
        segments: [],
      });
    else {
      wire.count += 1;
      wire.born = Math.min(wire.born, edge.target);
      if (edge.control && !wire.label.split(", ").includes(edge.label)) wire.label += `, ${edge.label}`;
    }
  }
  return [...found.values()];
}

/** Places ports are numbered from; they move when all ports are known. */
const TOP = -1000;
const BOTTOM = 1e9;

class Router {
  private readonly levelOf = new Map<number, Level>();
  private readonly place = new Map<number, number>();
  private readonly known = new Map<Level, Map<string, number>>();

  constructor(
    private readonly graph: Graph,
    levels: Level[],
  ) {
    for (const level of levels) {
      this.levelOf.set(level.group, level);
      this.known.set(level, new Map());
      level.boxes.forEach((box, at) => this.place.set(box, at));
    }
  }

  private pathTo(box: number): number[] {
    const path = [box];
    for (let group = this.graph.parentOf(box); group >= 0; group = this.graph.parentOf(path[0]!))
      path.unshift(this.graph.groupBox(group));
    return path;
  }

  route(wire: Wire): void {
    const from = this.pathTo(wire.source);
    const to = this.pathTo(wire.target);
    let depth = 0;
    while (from[depth] === to[depth]) depth += 1;
    const level = this.levelOf.get(this.graph.parentOf(from[depth]!))!;
    const reversed = this.place.get(from[depth]!)! > this.place.get(to[depth]!)!;
    const [upper, lower] = reversed ? [to, from] : [from, to];
    const edge = this.edge(
      level,
      this.place.get(upper[depth]!)!,
      this.place.get(lower[depth]!)!,
      reversed,
      wire,
    );
    this.descend(level, edge, upper, depth, "upper", reversed, wire);
    this.descend(level, edge, lower, depth, "lower", reversed, wire);
  }

  /** Follow an edge into the open boxes at one of its ends. */
  private descend(
    outer: Level,
    edge: number,
    path: number[],
    depth: number,
    end: "upper" | "lower",
    reversed: boolean,
    wire: Wire,
  ): void {
    for (let at = depth; at + 1 < path.length; at++) {
      const level = this.levelOf.get(this.graph.groupAt(path[at]!))!;
      const port = this.port(outer, edge, level, end);
      const child = this.place.get(path[at + 1]!)!;
      edge =
        end === "upper"
          ? this.edge(level, child, BOTTOM + port, reversed, wire)
          : this.edge(level, TOP + port, child, reversed, wire);
      outer = level;
    }
  }

  private port(outer: Level, edge: number, inner: Level, end: "upper" | "lower"): number {
    const one = outer.edges[edge]!;
    const field = end === "upper" ? "upperPort" : "lowerPort";
    const side = end === "upper" ? "bottom" : "top";
    if (one[field] < 0) {
      one[field] = Math.min(inner[side], MOST_PORTS - 1);
      inner[side] = one[field] + 1 > inner[side] ? one[field] + 1 : inner[side];
    }
    return one[field];
  }

  private edge(level: Level, upper: number, lower: number, reversed: boolean, wire: Wire): number {
    const known = this.known.get(level)!;
    const key = `${upper}>${lower}>${reversed ? 1 : 0}${wire.control ? 1 : 0}`;
    let at = known.get(key);
    if (at === undefined) {
      at = level.edges.length;
      known.set(key, at);
      level.edges.push({
        upper,
        lower,
        upperPort: -1,
        lowerPort: -1,
        reversed,
        control: wire.control,
        labels: [],
        count: 0,
        born: Infinity,
      });
    }
    const edge = level.edges[at]!;
    edge.count += wire.count;
    edge.born = Math.min(edge.born, wire.born);
    if (edge.labels.length < 4 && !edge.labels.includes(wire.label)) edge.labels.push(wire.label);
    wire.segments.push({ level, edge: at });
    return at;
  }
}

/** Number ports and boxes of a level in one row. */
function settlePorts(level: Level): void {
  const { top } = level;
  const boxes = level.boxes.length;
  const place = (at: number): number =>
    at >= BOTTOM ? top + boxes + (at - BOTTOM) : at < 0 ? at - TOP : at + top;
  for (const edge of level.edges) {
    edge.upper = place(edge.upper);
    edge.lower = place(edge.lower);
  }
}

export function makeVisible(graph: Graph, open: ReadonlySet<number>): Visible {
  const shownBy = new Int32Array(graph.items.length).fill(-1);
  const levels = makeLevels(graph, open, shownBy);
  const wires = makeWires(graph, shownBy);
  const router = new Router(graph, levels);
  for (const wire of wires) router.route(wire);
  levels.forEach(settlePorts);
  return {
    root: levels[0]!,
    levels,
    wires,
    shownBy,
    boxes: levels.reduce((sum, level) => sum + level.boxes.length, 0),
  };
}

/** How many boxes are seen when these groups are open. */
export function countBoxes(graph: Graph, open: ReadonlySet<number>): number {
  let sum = 0;
  const look = (group: number): void => {
    for (const box of graph.childrenOf(group)) {
      sum += 1;
      if (graph.isGroup(box) && open.has(graph.groupAt(box))) look(graph.groupAt(box));
    }
  };
  look(-1);
  return sum;
}

/** With fewer boxes than these, a first view opens loops too, if they did not run too often. */
const FEW_BOXES = 5;
const MOST_ROUNDS = 300;
const ROOM_INSIDE = 20;

function isRolledUp(graph: Graph, box: number): boolean {
  const { kind, count } = graph.groups[graph.groupAt(box)]!;
  return (kind === "loop" || kind === "part") && count !== 1;
}

/** Which groups are open at first: from outside in, as long as few boxes are seen.
 *
 * Groups that are alike (blocks.0, blocks.1) open together or not at all. Loops stay rolled up, and
 * what has a single op inside says more when it is closed. Where that leaves next to nothing to see,
 * the largest loops open too, and of their iterations the first ones.
 */
export function firstOpen(graph: Graph, most = 60): Set<number> {
  const open = new Set<number>();
  const groupsIn = (group: number): number[] =>
    graph.childrenOf(group).filter((box) => graph.isGroup(box) && graph.sums[graph.groupAt(box)]!.items > 1);
  let seen = graph.childrenOf(-1).length;
  const loops: number[] = [];
  const openGroup = (group: number): void => {
    open.add(group);
    seen += graph.childrenOf(group).length;
  };
  let room = most;
  const fits = (groups: number[]): boolean =>
    seen + groups.reduce((sum, group) => sum + graph.childrenOf(group).length, 0) <= room;

  const openAlike = (level: number[]): void => {
    const alike = new Map<string, number[]>();
    for (const box of level) {
      const group = graph.groupAt(box);
      if (isRolledUp(graph, box)) {
        loops.push(group);
        continue;
      }
      const { kind, label } = graph.groups[group]!;
      const key = `${kind} ${label.replace(/\d+/g, "")}`;
      const list = alike.get(key);
      if (list === undefined) alike.set(key, [group]);
      else list.push(group);
    }
    const next: number[] = [];
    for (const groups of alike.values()) {
      if (!fits(groups)) continue;
      groups.forEach(openGroup);
      next.push(...groups.flatMap(groupsIn));
    }
    if (next.length > 0) openAlike(next);
  };
  /** The iterations of a loop from the first on, with the groups inside of them. */
  const openFirst = (iterations: number[]): void => {
    for (const box of iterations) {
      const group = graph.groupAt(box);
      if (!fits([group])) return;
      openGroup(group);
      openAlike(groupsIn(group));
    }
  };

  openAlike(groupsIn(-1));
  while (seen < FEW_BOXES) {
    loops.sort((a, b) => graph.sums[a]!.items - graph.sums[b]!.items);
    const loop = loops.pop();
    if (loop === undefined) break;
    if (graph.childrenOf(loop).length > MOST_ROUNDS) continue;
    openGroup(loop);
    room = Math.max(most, seen + ROOM_INSIDE);
    openFirst(groupsIn(loop));
  }
  return open;
}
