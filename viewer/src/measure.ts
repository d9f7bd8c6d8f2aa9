/** What stands in a box, and how large that makes it. */

import { bytesText, countText, secondsText, shapeText, shorten } from "./format";
import type { Graph } from "./graph";
import { placeOf, placeText, sourceLine } from "./model";

export const SANS =
  'Inter, "SF Pro Text", "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", system-ui, sans-serif';
export const MONO = '"JetBrains Mono", "SF Mono", Menlo, Consolas, "Liberation Mono", monospace';
export const FONTS = {
  title: `600 12.5px ${SANS}`,
  detail: `11px ${SANS}`,
  chip: `10.5px ${SANS}`,
  badge: `600 11px ${SANS}`,
  code: `10.5px ${MONO}`,
} as const;
export type FontName = keyof typeof FONTS;

const canvas = document.createElement("canvas").getContext("2d")!;
const widths = new Map<FontName, Map<string, number>>();

export function textWidth(text: string, font: FontName): number {
  let known = widths.get(font);
  if (known === undefined) widths.set(font, (known = new Map()));
  let width = known.get(text);
  if (width === undefined) {
    if (known.size > 50_000) known.clear();
    canvas.font = FONTS[font];
    known.set(text, (width = canvas.measureText(text).width));
  }
  return width;
}

/** A line of text or a pill inside of a box, placed from the box's corner. */
export interface Part {
  kind: "chip" | "read";
  text: string;
  more: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** A node for a chip, a place in `trace.reads` for a read; -1 for "3 more". */
  target: number;
}

export interface Content {
  form: "box" | "pill" | "diamond" | "group";
  title: string;
  badge: string;
  detail: string;
  parts: Part[];
  width: number;
  height: number;
}

const SIDE = 14;
const MOST_PARTS = 4;

function groupContent(graph: Graph, group: number): Content {
  const { kind, count } = graph.groups[group]!;
  const sum = graph.sums[group]!;
  const title = shorten(graph.labelOf(graph.groupBox(group)), 44);
  const badge = kind === "loop" || count !== 1 ? `× ${count}` : "";
  const only = sum.items === 1 ? graph.itemsIn(graph.groupBox(group))[0]! : -1;
  const facts =
    only >= 0
      ? [`${graph.items[only]!.label}  ${graph.items[only]!.detail}`]
      : [countText(sum.items, graph.view === "backward" ? "step" : "op")];
  if (only >= 0) facts.length = 1;
  else if (sum.seconds > 0) facts.push(secondsText(sum.seconds));
  else if (sum.bytes > 0) facts.push(bytesText(sum.bytes));
  if (sum.reads > 0) facts.push(`◆ ${sum.reads}`);
  const detail = facts.join("  ·  ");
  const parts = only >= 0 ? chipParts(graph, only, 45, 28) : [];
  const badgeWidth = badge === "" ? 0 : textWidth(badge, "badge") + 22;
  const width = Math.max(
    120,
    textWidth(title, "title") + badgeWidth + 2 * SIDE + 14,
    textWidth(detail, "detail") + 2 * SIDE + 14,
  );
  const wide = Math.max(width, ...parts.map((part) => part.x + part.width + SIDE - 2));
  const height = parts.length > 0 ? parts.at(-1)!.y + 16 + 9 : 48;
  return { form: "group", title, badge, detail, parts, width: Math.ceil(wide), height };
}

function chipParts(graph: Graph, item: number, top: number, left = SIDE): Part[] {
  const { chips } = graph.items[item]!;
  const parts: Part[] = [];
  const shown = chips.length > MOST_PARTS ? chips.slice(0, MOST_PARTS - 1) : chips;
  const add = (text: string, target: number): void => {
    const before = parts.at(-1);
    const width = textWidth(text, "chip") + 12;
    const fits = before !== undefined && before.x + before.width + 4 + width < 210;
    parts.push({
      kind: "chip",
      text,
      more: "",
      x: fits ? before.x + before.width + 4 : left,
      y: before === undefined ? top : fits ? before.y : before.y + 20,
      width,
      height: 16,
      target,
    });
  };
  for (const chip of shown) {
    const node = graph.trace.nodes[chip]!;
    const name = (node.name || node.op).split(".").pop()!;
    add(`${shorten(name, 18)} ${shapeText(node.results[0]?.shape ?? [])}`, chip);
  }
  if (shown.length < chips.length) add(`${chips.length - shown.length} more`, -1);
  return parts;
}

function readParts(graph: Graph, item: number, top: number): Part[] {
  const { reads } = graph.items[item]!;
  const { trace } = graph;
  const shown = reads.length > 3 ? reads.slice(0, 2) : reads;
  const parts = shown.map((at, row): Part => {
    const read = trace.reads[at]!;
    const place = placeOf(trace, read.frame);
    const text = `→ ${shorten(read.value, 24)}${place === null ? "" : ` at ${placeText(place)}`}`;
    const more = shorten(sourceLine(trace, place), 34);
    const width = Math.max(textWidth(text, "badge"), textWidth(more, "code")) + 30;
    const height = more === "" ? 20 : 33;
    return { kind: "read", text, more, x: SIDE - 6, y: top + row * 37, width, height, target: at };
  });
  if (shown.length < reads.length) {
    const text = `${reads.length - shown.length} more reads`;
    parts.push({
      kind: "read",
      text,
      more: "",
      x: SIDE - 6,
      y: top + shown.length * 37,
      width: textWidth(text, "badge") + 30,
      height: 20,
      target: -1,
    });
  }
  return parts;
}

function itemContent(graph: Graph, at: number): Content {
  const item = graph.items[at]!;
  if (item.kind === "decision") {
    const title = shorten(item.label, 40);
    return {
      form: "diamond",
      title,
      badge: "",
      detail: placeText(placeOf(graph.trace, graph.trace.nodes[item.node]!.frame)),
      parts: [],
      width: Math.ceil(Math.max(textWidth(title, "title"), 70) + 92),
      height: 70,
    };
  }
  const title = shorten(item.label, 36);
  const badge = item.nodes.length > 1 && item.kind === "step" ? `× ${item.nodes.length}` : "";
  const form = item.kind === "input" ? "pill" : "box";
  let height = item.detail === "" ? 32 : 46;
  const parts = chipParts(graph, at, height - 3);
  if (parts.length > 0) height = parts.at(-1)!.y + 16 + 9;
  const reads = readParts(graph, at, height - (parts.length > 0 ? 3 : 2));
  if (reads.length > 0) height = reads.at(-1)!.y + reads.at(-1)!.height + 8;
  parts.push(...reads);
  const width = Math.max(
    76,
    textWidth(title, "title") + (badge === "" ? 0 : textWidth(badge, "badge") + 10) + 2 * SIDE,
    textWidth(item.detail, "detail") + 2 * SIDE,
    ...parts.map((part) => part.x + part.width + SIDE - (part.kind === "read" ? 6 : 2)),
  );
  return { form, title, badge, detail: item.detail, parts, width: Math.ceil(width), height };
}

/** The contents of boxes, made when first asked for. */
export class Contents {
  private readonly known = new Map<number, Content>();

  constructor(private readonly graph: Graph) {}

  of(box: number): Content {
    let content = this.known.get(box);
    if (content === undefined) {
      content = this.graph.isGroup(box)
        ? groupContent(this.graph, this.graph.groupAt(box))
        : itemContent(this.graph, box);
      this.known.set(box, content);
    }
    return content;
  }
}
