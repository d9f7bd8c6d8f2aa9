/** Lay out the levels of a graph from the inside out. Runs in a worker. */

import { type LevelInput, type LevelOutput, layoutLevel } from "./layered";

export const PAD = 18;
export const HEADER = 30;
export const FOOT = 16;

export interface LevelTask {
  widths: number[];
  heights: number[];
  /** The task inside of each box that is open; its size then comes from inside. */
  inner: (LevelTask | null)[];
  top: number;
  bottom: number;
  /** upper, lower, upperPort, lowerPort of each edge, in turn. */
  edges: number[];
}

export interface LevelPlaces {
  /** x, y (of the corner), width, height of each box, in turn, from the corner of the level. */
  boxes: number[];
  routes: number[][];
  inner: (LevelPlaces | null)[];
  width: number;
  height: number;
  /** x of each port. */
  topX: number[];
  bottomX: number[];
}

export interface LayoutTask {
  id: number;
  root: LevelTask;
}
export interface LayoutAnswer {
  id: number;
  root: LevelPlaces | null;
  milliseconds: number;
  error: string;
}

const remembered = new Map<string, LevelOutput>();

function layoutOnce(input: LevelInput): LevelOutput {
  const key = `${input.ports.join()}|${input.widths.join()}|${input.heights.join()}|${input.edges.join()}`;
  let output = remembered.get(key);
  if (output === undefined) {
    if (remembered.size > 400) remembered.clear();
    output = layoutLevel(input);
    remembered.set(key, output);
  }
  return output;
}

/** Let edges that come into a box arrive side by side. */
function spread(task: LevelTask, output: LevelOutput, routes: number[][], first: number): void {
  const arriving = new Map<number, number[]>();
  for (let edge = 0; edge < routes.length; edge++) {
    const lower = task.edges[4 * edge + 1]! - first;
    if (routes[edge]!.length === 0 || lower < 0 || lower >= task.widths.length || task.inner[lower] !== null)
      continue;
    const list = arriving.get(lower);
    if (list === undefined) arriving.set(lower, [edge]);
    else list.push(edge);
  }
  for (const [box, edges] of arriving) {
    if (edges.length < 2) continue;
    const from = (edge: number): number => routes[edge]![routes[edge]!.length - 4]!;
    edges.sort((a, b) => from(a) - from(b));
    const step = Math.min(16, (task.widths[box]! - 24) / edges.length);
    edges.forEach((edge, at) => {
      const route = routes[edge]!;
      route[route.length - 2] = output.x[first + box]! + (at - (edges.length - 1) / 2) * step;
    });
  }
}

export function layoutTree(task: LevelTask): LevelPlaces {
  const inner = task.inner.map((one) => (one === null ? null : layoutTree(one)));
  const widths = task.widths.map((width, at) => {
    const one = inner[at];
    return one ? Math.max(width, one.width + 2 * PAD) : width;
  });
  const heights = task.heights.map((height, at) => {
    const one = inner[at];
    return one ? one.height + HEADER + FOOT : height;
  });
  const ports = (count: number): number[] => new Array<number>(count).fill(8);
  const flat = (count: number): number[] => new Array<number>(count).fill(0);
  const edges: [number, number][] = [];
  for (let at = 0; at < task.edges.length; at += 4) edges.push([task.edges[at]!, task.edges[at + 1]!]);
  const output = layoutOnce({
    widths: [...ports(task.top), ...widths, ...ports(task.bottom)],
    heights: [...flat(task.top), ...heights, ...flat(task.bottom)],
    edges,
    ports: [task.top, task.bottom],
  });
  const first = task.top;
  const routes = output.routes.map((route) => [...route]);
  spread(task, output, routes, first);
  const innerLeft = (box: number): number =>
    output.x[first + box]! - widths[box]! / 2 + (widths[box]! - inner[box]!.width) / 2;
  routes.forEach((route, edge) => {
    if (route.length === 0) return;
    const [upper, lower] = [task.edges[4 * edge]! - first, task.edges[4 * edge + 1]! - first];
    const [upperPort, lowerPort] = [task.edges[4 * edge + 2]!, task.edges[4 * edge + 3]!];
    if (upperPort >= 0) {
      const x = innerLeft(upper) + inner[upper]!.bottomX[upperPort]!;
      // A second point straight below goes along.
      if (route.length > 4 && route[2] === route[0] && output.x[first + upper] === route[0]) route[2] = x;
      route[0] = x;
    }
    if (lowerPort >= 0) route[route.length - 2] = innerLeft(lower) + inner[lower]!.topX[lowerPort]!;
  });
  const boxes: number[] = [];
  widths.forEach((width, at) => {
    boxes.push(
      output.x[first + at]! - width / 2,
      output.y[first + at]! - heights[at]! / 2,
      width,
      heights[at]!,
    );
  });
  return {
    boxes,
    routes,
    inner,
    width: output.width,
    height: output.height,
    topX: output.x.slice(0, first),
    bottomX: output.x.slice(first + widths.length),
  };
}
