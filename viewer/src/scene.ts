/** Boxes and edges at their places, with an index of what lies where. */

import Flatbush from "flatbush";
import type { Graph } from "./graph";
import { FOOT, HEADER, type LevelPlaces, type LevelTask } from "./layout";
import { type Contents, textWidth } from "./measure";
import type { Level, LevelEdge, Visible, Wire } from "./visible";

export interface Box {
  box: number;
  x: number;
  y: number;
  width: number;
  height: number;
  depth: number;
  open: boolean;
}

export interface Segment {
  edge: LevelEdge;
  /** x and y in turn, from the upper to the lower end. */
  points: number[];
  /** Where its own line begins: what comes before runs along another's. */
  from: number;
  /** An arrow's head at the lower (1) or upper (-1) end, or none (0). */
  head: number;
}

/** The two ends of a value that is read far away. */
export interface Portal {
  box: number;
  others: number[];
  /** At the top (what it reads) or the bottom (who reads it). */
  top: boolean;
  text: string;
  x: number;
  y: number;
  width: number;
  /** The open group whose title it must not cover, and how wide that title is. */
  head: { x: number; width: number } | null;
}

/** Titles of open groups grow as one moves away, so that they can still be read. */
export function titleScale(k: number): number {
  return k < 0.75 ? Math.min(0.75 / k, 4) : 1;
}

/** What the worker needs to know of the visible graph. */
export function taskOf(graph: Graph, level: Level, contents: Contents): LevelTask {
  const edges: number[] = [];
  for (const edge of level.edges) edges.push(edge.upper, edge.lower, edge.upperPort, edge.lowerPort);
  return {
    widths: level.boxes.map((box, at) =>
      level.inner[at] === null
        ? contents.of(box).width
        : Math.max(150, textWidth(contents.of(box).title, "title") + 100),
    ),
    heights: level.boxes.map((box) => contents.of(box).height),
    inner: level.inner.map((one) => (one === null ? null : taskOf(graph, one, contents))),
    top: level.top,
    bottom: level.bottom,
    edges,
  };
}

export class Scene {
  readonly boxes: Box[] = [];
  readonly segments: Segment[] = [];
  readonly portals: Portal[] = [];
  readonly byBox = new Map<number, Box>();
  width = 0;
  height = 0;
  private readonly segmentOf = new Map<LevelEdge, number>();
  private boxIndex: Flatbush | null = null;
  private segmentIndex: Flatbush | null = null;
  private wiresOf: Map<number, Wire[]> | null = null;

  constructor(
    readonly graph: Graph,
    readonly visible: Visible,
    places: LevelPlaces,
    contents: Contents,
  ) {
    this.width = places.width;
    this.height = places.height;
    this.add(visible.root, places, 0, 0, 0);
    this.addPortals(contents);
    this.makeIndexes();
  }

  private add(level: Level, places: LevelPlaces, left: number, top: number, depth: number): void {
    level.boxes.forEach((box, at) => {
      const [x, y, width, height] = places.boxes.slice(4 * at, 4 * at + 4) as [
        number,
        number,
        number,
        number,
      ];
      const inner = level.inner[at] ?? null;
      const entry: Box = { box, x: left + x, y: top + y, width, height, depth, open: inner !== null };
      this.boxes.push(entry);
      this.byBox.set(box, entry);
      if (inner !== null) {
        const inside = places.inner[at]!;
        this.add(inner, inside, entry.x + (width - inside.width) / 2, entry.y + HEADER, depth + 1);
      }
    });
    const isClosed = (place: number): boolean =>
      place >= level.top && place < level.top + level.boxes.length && level.inner[place - level.top] === null;
    const drawn = new Set<string>();
    level.edges.forEach((edge, at) => {
      const points = places.routes[at]!.map((value, i) => value + (i % 2 === 0 ? left : top));
      // Lines of ports go on to the border of the box that they are inside of.
      if (points.length > 0 && edge.upper < level.top) points.unshift(points[0]!, top - HEADER);
      if (points.length > 0 && edge.lower >= level.top + level.boxes.length)
        points.push(points.at(-2)!, top + places.height + FOOT);
      const end = edge.reversed ? edge.upper : edge.lower;
      this.segmentOf.set(edge, this.segments.length);
      let from = 0;
      for (let i = 0; i + 3 < points.length; i += 2) {
        const key = `${edge.upper} ${points[i]} ${points[i + 1]} ${points[i + 2]} ${points[i + 3]}`;
        if (from === i && drawn.has(key) && !edge.control) from = i + 2;
        drawn.add(key);
      }
      this.segments.push({
        edge,
        points,
        from,
        head: points.length > 0 && isClosed(end) ? (edge.reversed ? -1 : 1) : 0,
      });
    });
  }

  private addPortals(contents: Contents): void {
    const ends = new Map<string, { box: number; top: boolean; others: Set<number> }>();
    const note = (box: number, top: boolean, other: number): void => {
      const key = `${box}${top ? "t" : "b"}`;
      let one = ends.get(key);
      if (one === undefined) ends.set(key, (one = { box, top, others: new Set() }));
      one.others.add(other);
    };
    for (const wire of this.visible.wires)
      for (const { level, edge: at } of wire.segments) {
        const edge = level.edges[at]!;
        if (this.segments[this.segmentOf.get(edge)!]!.points.length > 0) continue;
        const upper = level.boxes[edge.upper - level.top];
        const lower = level.boxes[edge.lower - level.top];
        // Where the line would come through the border, the portal leads to what is outside.
        const outside = edge.reversed ? [wire.target, wire.source] : [wire.source, wire.target];
        if (upper !== undefined) note(upper, false, lower ?? outside[1]!);
        if (lower !== undefined) note(lower, true, upper ?? outside[0]!);
      }
    for (const { box, top, others } of ends.values()) {
      const place = this.byBox.get(box)!;
      const list = [...others];
      const name = this.graph.labelOf(list[0]!);
      const short = name.length > 18 ? `${name.slice(0, 17)}…` : name;
      const text =
        list.length > 1
          ? top
            ? `↧ ${short} +${list.length - 1}`
            : `↧ ${list.length} readers`
          : `↧ ${short}`;
      const width = textWidth(text, "chip") + 12;
      const x = top ? place.x + 6 : place.x + place.width - width - 6;
      this.portals.push({
        box,
        others: list,
        top,
        text,
        x,
        y: top ? place.y - 17 : place.y + place.height + 3,
        width,
        head: top ? this.headAbove(place, contents) : null,
      });
    }
  }

  /** The title that is right above a box, if it is in the first row of a group. */
  private headAbove(place: Box, contents: Contents): { x: number; width: number } | null {
    const parent = this.graph.parentOf(place.box);
    const outer = parent < 0 ? undefined : this.byBox.get(this.graph.groupBox(parent));
    if (outer === undefined || place.y - 17 > outer.y + HEADER) return null;
    const { title, badge } = contents.of(outer.box);
    return { x: outer.x, width: 32 + textWidth(title, "title") + (badge === "" ? 0 : 50) };
  }

  /** Where a portal begins: beside the title of its group if it would cover it. */
  portalLeft(portal: Portal, k: number): number {
    const { x, head } = portal;
    return head === null ? x : Math.max(x, head.x + head.width * titleScale(k));
  }

  private makeIndexes(): void {
    if (this.boxes.length > 0) {
      this.boxIndex = new Flatbush(this.boxes.length);
      for (const { x, y, width, height } of this.boxes) this.boxIndex.add(x, y, x + width, y + height);
      this.boxIndex.finish();
    }
    if (this.segments.length > 0) {
      this.segmentIndex = new Flatbush(this.segments.length);
      for (const { points } of this.segments) {
        let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
        for (let at = 0; at < points.length; at += 2) {
          x0 = Math.min(x0, points[at]!);
          x1 = Math.max(x1, points[at]!);
          y0 = Math.min(y0, points[at + 1]!);
          y1 = Math.max(y1, points[at + 1]!);
        }
        if (points.length === 0) this.segmentIndex.add(-1e9, -1e9, -1e9, -1e9);
        else this.segmentIndex.add(x0, y0, x1, y1);
      }
      this.segmentIndex.finish();
    }
  }

  /** Boxes that reach into a rectangle, outer ones first. */
  boxesIn(x0: number, y0: number, x1: number, y1: number): Box[] {
    const found = this.boxIndex?.search(x0, y0, x1, y1) ?? [];
    // Boxes were added from the outside in.
    return found.sort((a, b) => a - b).map((at) => this.boxes[at]!);
  }

  segmentsIn(x0: number, y0: number, x1: number, y1: number): Segment[] {
    return (this.segmentIndex?.search(x0, y0, x1, y1) ?? []).map((at) => this.segments[at]!);
  }

  segmentFor(edge: LevelEdge): Segment {
    return this.segments[this.segmentOf.get(edge)!]!;
  }

  /** The innermost box at a point. */
  boxAt(x: number, y: number): Box | null {
    return this.boxesIn(x, y, x, y).at(-1) ?? null;
  }

  portalAt(x: number, y: number, k: number): Portal | null {
    const covers = (one: Portal): boolean => {
      const left = this.portalLeft(one, k);
      return x >= left && x <= left + one.width && y >= one.y && y <= one.y + 15;
    };
    return this.portals.find(covers) ?? null;
  }

  /** Wires that begin or end in a box or inside of it. */
  wiresAt(box: number): Wire[] {
    if (this.wiresOf === null) {
      this.wiresOf = new Map();
      for (const wire of this.visible.wires)
        for (const end of [wire.source, wire.target]) {
          const list = this.wiresOf.get(end);
          if (list === undefined) this.wiresOf.set(end, [wire]);
          else list.push(wire);
        }
    }
    const place = this.byBox.get(box);
    if (place === undefined) return [];
    if (!place.open) return this.wiresOf.get(box) ?? [];
    const inside = new Set(this.graph.itemsIn(box).map((item) => this.visible.shownBy[item]!));
    return this.visible.wires.filter((wire) => inside.has(wire.source) !== inside.has(wire.target));
  }
}
