/** Lay out one level of boxes in layers, from the top down: ranks, order, coordinates, routes.
 *
 * Edges lead from a lower to a higher number (the caller turns the others round). A value that is
 * read far away or very often is not drawn as a line: it becomes a pair of portals.
 */

export interface LevelInput {
  widths: number[];
  heights: number[];
  edges: [number, number][];
  /** The first boxes of the list stand on the top border, the last on the bottom border. */
  ports: [number, number];
}

export interface LevelOutput {
  width: number;
  height: number;
  /** Centres. */
  x: number[];
  y: number[];
  /** For each edge its points, x and y in turn; empty for a portal. */
  routes: number[][];
}

export const GAP_X = 26;
export const GAP_Y = 40;
const LONG = 14;
const FAR = 4;
const MANY = 12;

interface Ranked {
  rank: Int32Array;
  ranks: number;
  portal: boolean[];
}

function neighbours(count: number, edges: [number, number][]): { into: number[][]; out: number[][] } {
  const into: number[][] = Array.from({ length: count }, () => []);
  const out: number[][] = Array.from({ length: count }, () => []);
  edges.forEach(([source, target], at) => {
    out[source]!.push(at);
    into[target]!.push(at);
  });
  return { into, out };
}

/** As high as the edges allow, at most `most` boxes to a layer, then pulled together. */
function rankOf(input: LevelInput, portal: boolean[]): { rank: Int32Array; ranks: number } {
  const count = input.widths.length;
  const [top, bottom] = input.ports;
  const { into, out } = neighbours(count, input.edges);
  const rank = new Int32Array(count);
  const filled: number[] = [];
  const inner = count - top - bottom;
  const most = Math.max(10, Math.ceil(Math.sqrt(inner) * 0.8));
  for (let box = top; box < count - bottom; box++) {
    let at = top > 0 ? 1 : 0;
    for (const edge of into[box]!) if (!portal[edge]) at = Math.max(at, rank[input.edges[edge]![0]]! + 1);
    while ((filled[at] ?? 0) >= most) at += 1;
    filled[at] = (filled[at] ?? 0) + 1;
    rank[box] = at;
  }
  for (let pass = 0; pass < 2; pass++)
    for (let box = count - bottom - 1; box >= top; box--) {
      let pulls = 0;
      let lowest = Infinity;
      for (const edge of out[box]!) {
        const target = input.edges[edge]![1];
        if (portal[edge] || target >= count - bottom) continue;
        pulls += 1;
        lowest = Math.min(lowest, rank[target]! - 1);
      }
      let holds = 0;
      for (const edge of into[box]!) if (!portal[edge]) holds += 1;
      if (pulls <= holds || lowest <= rank[box]! || !Number.isFinite(lowest)) continue;
      if ((filled[lowest] ?? 0) >= most) continue;
      filled[rank[box]!]! -= 1;
      filled[lowest] = (filled[lowest] ?? 0) + 1;
      rank[box] = lowest;
    }
  let last = 0;
  for (let box = 0; box < count - bottom; box++) last = Math.max(last, rank[box]!);
  // Layers that were emptied by pulling go.
  const used = new Uint8Array(last + 1);
  for (let box = 0; box < count - bottom; box++) used[rank[box]!] = 1;
  const place = new Int32Array(last + 1);
  let ranks = 0;
  for (let at = 0; at <= last; at++) {
    place[at] = ranks;
    if (used[at]) ranks += 1;
  }
  for (let box = 0; box < count - bottom; box++) rank[box] = place[rank[box]!]!;
  if (bottom > 0) {
    rank.fill(ranks, count - bottom);
    ranks += 1;
  }
  return { rank, ranks: Math.max(ranks, 1) };
}

function makeRanks(input: LevelInput): Ranked {
  const portal = input.edges.map(() => false);
  let { rank, ranks } = rankOf(input, portal);
  const count = input.widths.length;
  if (count > 16) {
    const { into, out } = neighbours(count, input.edges);
    let any = false;
    input.edges.forEach(([source, target], at) => {
      const span = rank[target]! - rank[source]!;
      const port = source < input.ports[0] || target >= count - input.ports[1];
      if (span > (port ? 2 * LONG : LONG)) any = portal[at] = true;
    });
    // What very many read, most of them far away, is a line to none but the next; so is what reads
    // very many.
    [...out, ...into].forEach((edges) => {
      const span = (edge: number): number => rank[input.edges[edge]![1]]! - rank[input.edges[edge]![0]]!;
      if (edges.length <= MANY || edges.filter((edge) => span(edge) > FAR).length * 2 < edges.length) return;
      for (const edge of edges) if (span(edge) > 1) any = portal[edge] = true;
    });
    if (any) ({ rank, ranks } = rankOf(input, portal));
  }
  return { rank, ranks, portal };
}

/** The graph with a place for every layer that an edge passes; edges of one source share theirs. */
class Layers {
  readonly layer: number[][];
  readonly rank: number[];
  readonly up: number[][] = [];
  readonly down: number[][] = [];
  readonly position: number[] = [];
  readonly chain: number[][] = [];

  constructor(
    readonly input: LevelInput,
    ranked: Ranked,
  ) {
    const count = input.widths.length;
    this.layer = Array.from({ length: ranked.ranks }, () => []);
    this.rank = Array.from(ranked.rank);
    for (let box = 0; box < count; box++) {
      this.up.push([]);
      this.down.push([]);
    }
    const shared = new Map<number, number[]>();
    const joined = new Set<number>();
    input.edges.forEach(([source, target], at) => {
      this.chain.push([]);
      if (ranked.portal[at]) return;
      let dummies = shared.get(source);
      if (dummies === undefined) shared.set(source, (dummies = []));
      const need = this.rank[target]! - this.rank[source]! - 1;
      while (dummies.length < need) {
        const dummy = this.rank.length;
        this.rank.push(this.rank[source]! + dummies.length + 1);
        this.up.push([]);
        this.down.push([]);
        this.join(dummies.at(-1) ?? source, dummy);
        dummies.push(dummy);
      }
      this.chain[at] = dummies.slice(0, Math.max(0, need));
      const last = need > 0 ? dummies[need - 1]! : source;
      const key = last * 1e7 + target;
      if (!joined.has(key)) this.join(last, target);
      joined.add(key);
    });
    this.initialOrder();
  }

  get size(): number {
    return this.rank.length;
  }

  isDummy(vertex: number): boolean {
    return vertex >= this.input.widths.length;
  }

  widthOf(vertex: number): number {
    return this.isDummy(vertex) ? 6 : this.input.widths[vertex]!;
  }

  private join(a: number, b: number): void {
    this.down[a]!.push(b);
    this.up[b]!.push(a);
  }

  /** Depth first, so that what belongs together starts together. */
  private initialOrder(): void {
    const seen = new Uint8Array(this.size);
    const count = this.input.widths.length;
    for (let start = 0; start < count; start++) {
      if (seen[start]) continue;
      const open = [start];
      while (open.length > 0) {
        const vertex = open.pop()!;
        if (seen[vertex]) continue;
        seen[vertex] = 1;
        this.layer[this.rank[vertex]!]!.push(vertex);
        const next = this.down[vertex]!;
        for (let at = next.length - 1; at >= 0; at--) if (!seen[next[at]!]) open.push(next[at]!);
      }
    }
    this.number();
  }

  number(): void {
    for (const layer of this.layer) layer.forEach((vertex, at) => (this.position[vertex] = at));
  }

  crossings(): number {
    let sum = 0;
    for (let at = 0; at + 1 < this.layer.length; at++) sum += this.crossingsBelow(at);
    return sum;
  }

  /** Crossings between a layer and the next, counted by an accumulator tree. */
  private crossingsBelow(at: number): number {
    const size = this.layer[at + 1]!.length;
    let leaf = 1;
    while (leaf < size) leaf *= 2;
    const tree = new Int32Array(2 * leaf);
    let sum = 0;
    for (const vertex of this.layer[at]!) {
      const ends = this.down[vertex]!.map((one) => this.position[one]!).sort((a, b) => a - b);
      for (const end of ends)
        for (let index = end + leaf; index > 1; index >>= 1) if ((index & 1) === 0) sum += tree[index + 1]!;
      for (const end of ends) for (let index = end + leaf; index >= 1; index >>= 1) tree[index]! += 1;
    }
    return sum;
  }

  private sweep(downwards: boolean, bias: boolean): void {
    const layers = this.layer.length;
    for (let step = 1; step < layers; step++) {
      const at = downwards ? step : layers - 1 - step;
      const layer = this.layer[at]!;
      const weight = new Map<number, number>();
      layer.forEach((vertex, place) => {
        const near = downwards ? this.up[vertex]! : this.down[vertex]!;
        let sum = 0;
        for (const one of near) sum += this.position[one]!;
        weight.set(vertex, near.length > 0 ? sum / near.length : place);
      });
      const before = new Map(layer.map((vertex, place) => [vertex, place]));
      layer.sort((a, b) => {
        const difference = weight.get(a)! - weight.get(b)!;
        if (difference !== 0) return difference;
        return bias ? before.get(b)! - before.get(a)! : before.get(a)! - before.get(b)!;
      });
      layer.forEach((vertex, place) => (this.position[vertex] = place));
    }
  }

  /** Exchange neighbours where that removes crossings. */
  private transpose(): void {
    for (let round = 0; round < 4; round++) {
      let better = false;
      for (const layer of this.layer)
        for (let at = 0; at + 1 < layer.length; at++) {
          const [a, b] = [layer[at]!, layer[at + 1]!];
          if (this.crossed(a, b) <= this.crossed(b, a)) continue;
          layer[at] = b;
          layer[at + 1] = a;
          this.position[a] = at + 1;
          this.position[b] = at;
          better = true;
        }
      if (!better) return;
    }
  }

  private crossed(left: number, right: number): number {
    let sum = 0;
    for (const near of [this.up, this.down])
      for (const a of near[left]!)
        for (const b of near[right]!) if (this.position[a]! > this.position[b]!) sum += 1;
    return sum;
  }

  order(): void {
    const rounds = this.size > 6000 ? 2 : this.size > 1500 ? 4 : 10;
    let best = this.crossings();
    let kept = this.layer.map((layer) => [...layer]);
    for (let round = 0; round < rounds && best > 0; round++) {
      this.sweep(round % 2 === 0, round % 4 >= 2);
      if (this.size < 2500) this.transpose();
      const now = this.crossings();
      if (now >= best) continue;
      best = now;
      kept = this.layer.map((layer) => [...layer]);
    }
    kept.forEach((layer, at) => (this.layer[at] = layer));
    this.mirror();
    this.number();
  }

  /** Of an order and its mirror image, take the one in which earlier boxes stand further left. */
  private mirror(): void {
    let forwards = 0;
    for (const layer of this.layer)
      for (let at = 0; at + 1 < layer.length; at++)
        if (!this.isDummy(layer[at]!) && !this.isDummy(layer[at + 1]!))
          forwards += Math.sign(layer[at + 1]! - layer[at]!);
    if (forwards < 0) for (const layer of this.layer) layer.reverse();
  }

  /** How strongly an edge wants to be straight. */
  private pull(a: number, b: number): number {
    return (this.isDummy(a) ? 1 : 0) + (this.isDummy(b) ? 1 : 0) === 2
      ? 8
      : this.isDummy(a) || this.isDummy(b)
        ? 2
        : 1.5;
  }

  coordinates(): Float64Array {
    const x = new Float64Array(this.size);
    for (const layer of this.layer) {
      let at = 0;
      for (const vertex of layer) {
        x[vertex] = at + this.widthOf(vertex) / 2;
        at += this.widthOf(vertex) + GAP_X;
      }
      for (const vertex of layer) x[vertex]! -= at / 2;
    }
    const layers = this.layer.length;
    const rounds = this.size > 4000 ? 4 : 10;
    for (let round = 0; round < rounds; round++) {
      const both = round >= rounds - 4;
      for (let at = 0; at < layers; at++) this.settle(x, at, true, both);
      for (let at = layers - 1; at >= 0; at--)
        this.settle(x, at, both && round === rounds - 1, both || round % 2 === 1);
    }
    const runs = this.runs();
    for (let round = 0; round < 4; round++) for (const run of runs) this.straighten(x, run);
    return x;
  }

  /** Vertices one under another that should stand in a straight line: long edges, and chains of boxes. */
  private runs(): number[][] {
    const next = new Int32Array(this.size).fill(-1);
    const taken = new Uint8Array(this.size);
    const follow = (vertex: number): number => {
      const down = this.down[vertex]!;
      const dummy = down.find((one) => this.isDummy(one) && this.isDummy(vertex));
      if (dummy !== undefined) return dummy;
      if (
        down.length === 1 &&
        this.up[down[0]!]!.every((one) => one === vertex || (this.isDummy(one) && !this.isDummy(vertex)))
      )
        return down[0]!;
      return -1;
    };
    for (const layer of this.layer)
      for (const vertex of layer) {
        const one = follow(vertex);
        if (one < 0 || taken[one]) continue;
        next[vertex] = one;
        taken[one] = 1;
      }
    const runs: number[][] = [];
    for (let vertex = 0; vertex < this.size; vertex++) {
      if (taken[vertex] || next[vertex]! < 0) continue;
      const run = [vertex];
      while (next[run.at(-1)!]! >= 0) run.push(next[run.at(-1)!]!);
      runs.push(run);
    }
    // Long runs of dummies matter most: a line with a kink draws the eye.
    return runs.sort((a, b) => b.length - a.length);
  }

  /** Put a run on one line, or on as few as its neighbours allow. */
  private straighten(x: Float64Array, run: number[]): void {
    let begin = 0;
    while (begin < run.length) {
      let [low, high, sum, weight] = [-Infinity, Infinity, 0, 0];
      let end = begin;
      for (; end < run.length; end++) {
        const vertex = run[end]!;
        const layer = this.layer[this.rank[vertex]!]!;
        const place = this.position[vertex]!;
        const left = layer[place - 1];
        const right = layer[place + 1];
        const gap = (other: number): number =>
          (this.widthOf(other) + this.widthOf(vertex)) / 2 +
          (this.isDummy(other) && this.isDummy(vertex) ? 12 : GAP_X);
        const least = left === undefined ? -Infinity : x[left]! + gap(left);
        const most = right === undefined ? Infinity : x[right]! - gap(right);
        if (Math.max(low, least) > Math.min(high, most) + 1e-6) break;
        low = Math.max(low, least);
        high = Math.min(high, most);
        sum += x[vertex]!;
        weight += 1;
      }
      if (end === begin) end += 1;
      else {
        const line = Math.max(low, Math.min(high, sum / weight));
        for (let at = begin; at < end; at++) x[run[at]!] = line;
      }
      begin = end;
    }
  }

  /** Move one layer's vertices as near as their distances allow to where their neighbours are. */
  private settle(x: Float64Array, at: number, above: boolean, both: boolean): void {
    const layer = this.layer[at]!;
    const blockValue: number[] = [];
    const blockWeight: number[] = [];
    const blockEnd: number[] = [];
    const offset: number[] = [];
    let along = 0;
    layer.forEach((vertex, place) => {
      if (place > 0) {
        const before = layer[place - 1]!;
        const gap = this.isDummy(before) && this.isDummy(vertex) ? 12 : GAP_X;
        along += (this.widthOf(before) + this.widthOf(vertex)) / 2 + gap;
      }
      offset.push(along);
      let sum = 0;
      let weight = 0;
      const look = (near: number[]): void => {
        for (const one of near) {
          const pull = this.pull(vertex, one);
          sum += pull * x[one]!;
          weight += pull;
        }
      };
      if (both || above) look(this.up[vertex]!);
      if (both || !above) look(this.down[vertex]!);
      if (weight === 0) {
        weight = 0.05;
        sum = weight * x[vertex]!;
      }
      blockValue.push(sum / weight - along);
      blockWeight.push(weight);
      blockEnd.push(place + 1);
      while (blockValue.length > 1 && blockValue.at(-2)! > blockValue.at(-1)!) {
        const [value, heavy, end] = [blockValue.pop()!, blockWeight.pop()!, blockEnd.pop()!];
        const last = blockValue.length - 1;
        const total = blockWeight[last]! + heavy;
        blockValue[last] = (blockValue[last]! * blockWeight[last]! + value * heavy) / total;
        blockWeight[last] = total;
        blockEnd[last] = end;
      }
    });
    let place = 0;
    blockValue.forEach((value, block) => {
      for (; place < blockEnd[block]!; place++) x[layer[place]!] = value + offset[place]!;
    });
  }
}

/** Boxes with nothing between them, in rows. */
function shelves(sizes: { width: number; height: number }[]): {
  width: number;
  height: number;
  x: number[];
  y: number[];
} {
  const area = sizes.reduce((sum, one) => sum + (one.width + GAP_X) * (one.height + GAP_Y), 0);
  const limit = Math.max(Math.sqrt(area * 1.8), ...sizes.map((one) => one.width));
  const x: number[] = [];
  const y: number[] = [];
  let [left, top, tall, wide] = [0, 0, 0, 0];
  for (const size of sizes) {
    if (left > 0 && left + size.width > limit) {
      left = 0;
      top += tall + GAP_Y * 0.7;
      tall = 0;
    }
    x.push(left);
    y.push(top);
    left += size.width + GAP_X;
    tall = Math.max(tall, size.height);
    wide = Math.max(wide, left - GAP_X);
  }
  return { width: wide, height: top + tall, x, y };
}

function componentsOf(input: LevelInput): number[][] {
  const count = input.widths.length;
  const [top, bottom] = input.ports;
  const root = Int32Array.from({ length: count }, (_, at) => at);
  const find = (at: number): number => {
    while (root[at] !== at) at = root[at] = root[root[at]!]!;
    return at;
  };
  const inner = (at: number): boolean => at >= top && at < count - bottom;
  for (const [source, target] of input.edges)
    if (inner(source) && inner(target)) root[find(target)] = find(source);
  const found = new Map<number, number[]>();
  for (let box = top; box < count - bottom; box++) {
    const key = find(box);
    const list = found.get(key);
    if (list === undefined) found.set(key, [box]);
    else list.push(box);
  }
  return [...found.values()];
}

/** Many parts without edges between them: each by itself, in rows; edges of ports end at the border. */
function layoutApart(input: LevelInput, parts: number[][]): LevelOutput {
  const count = input.widths.length;
  const place = new Int32Array(count).fill(-1);
  const owner = new Int32Array(count).fill(-1);
  parts.forEach((part, at) => part.forEach((box, k) => ((place[box] = k), (owner[box] = at))));
  const edgesOf: number[][] = parts.map(() => []);
  input.edges.forEach(([source, target], at) => {
    if (owner[source]! >= 0 && owner[source] === owner[target]) edgesOf[owner[source]!]!.push(at);
  });
  const layouts = parts.map((part, at) =>
    layoutTogether({
      widths: part.map((box) => input.widths[box]!),
      heights: part.map((box) => input.heights[box]!),
      edges: edgesOf[at]!.map((edge) => [place[input.edges[edge]![0]]!, place[input.edges[edge]![1]]!]),
      ports: [0, 0],
    }),
  );
  const packed = shelves(layouts);
  const x = new Array<number>(count).fill(packed.width / 2);
  const y = new Array<number>(count).fill(0);
  for (let box = count - input.ports[1]; box < count; box++) y[box] = packed.height;
  const routes: number[][] = input.edges.map(() => []);
  layouts.forEach((layout, at) => {
    parts[at]!.forEach((box, k) => {
      x[box] = layout.x[k]! + packed.x[at]!;
      y[box] = layout.y[k]! + packed.y[at]!;
    });
    edgesOf[at]!.forEach((edge, k) => {
      routes[edge] = layout.routes[k]!.map(
        (value, i) => value + (i % 2 === 0 ? packed.x[at]! : packed.y[at]!),
      );
    });
  });
  return { width: packed.width, height: packed.height, x, y, routes };
}

function layoutTogether(input: LevelInput): LevelOutput {
  const count = input.widths.length;
  if (count === 0) return { width: 0, height: 0, x: [], y: [], routes: [] };
  const ranked = makeRanks(input);
  const layers = new Layers(input, ranked);
  layers.order();
  const x = layers.coordinates();
  const tops: number[] = [];
  const bottoms: number[] = [];
  let height = 0;
  const portsAt = (at: number): boolean =>
    (at === 0 && input.ports[0] > 0) || (at === layers.layer.length - 1 && input.ports[1] > 0);
  layers.layer.forEach((layer, at) => {
    const tall = Math.max(0, ...layer.map((one) => (layers.isDummy(one) ? 0 : input.heights[one]!)));
    if (at > 0) height += gapBelow(layers, x, at - 1, portsAt(at - 1) || portsAt(at) ? 16 : GAP_Y);
    tops.push(height);
    height += tall;
    bottoms.push(height);
  });
  let [low, high] = [Infinity, -Infinity];
  for (let vertex = 0; vertex < layers.size; vertex++) {
    const half = layers.widthOf(vertex) / 2;
    low = Math.min(low, x[vertex]! - half);
    high = Math.max(high, x[vertex]! + half);
  }
  // Boxes hang from the top of their layer; what reads nothing stands at the bottom, near its readers.
  const centre = (box: number): number => {
    const rank = layers.rank[box]!;
    const low = layers.up[box]!.length === 0 && layers.down[box]!.length > 0;
    return low ? bottoms[rank]! - input.heights[box]! / 2 : tops[rank]! + input.heights[box]! / 2;
  };
  const routes = input.edges.map(([source, target], at) => {
    if (ranked.portal[at]) return [];
    const route = [x[source]! - low, centre(source) + input.heights[source]! / 2];
    const floor = bottoms[layers.rank[source]!]!;
    if (route[1]! < floor - 1) route.push(route[0]!, floor);
    for (const dummy of layers.chain[at]!) {
      const rank = layers.rank[dummy]!;
      route.push(x[dummy]! - low, tops[rank]!, x[dummy]! - low, bottoms[rank]!);
    }
    route.push(x[target]! - low, centre(target) - input.heights[target]! / 2);
    return route;
  });
  return {
    width: high - low,
    height,
    x: Array.from({ length: count }, (_, box) => x[box]! - low),
    y: Array.from({ length: count }, (_, box) => centre(box)),
    routes,
  };
}

/** More room where edges run far to the side, so that they are not flat. */
function gapBelow(layers: Layers, x: Float64Array, at: number, least: number): number {
  let furthest = 0;
  for (const vertex of layers.layer[at]!)
    for (const next of layers.down[vertex]!) furthest = Math.max(furthest, Math.abs(x[next]! - x[vertex]!));
  return Math.min(110, least + furthest * 0.06);
}

export function layoutLevel(input: LevelInput): LevelOutput {
  const parts = componentsOf(input);
  return parts.length > 6 ? layoutApart(input, parts) : layoutTogether(input);
}
