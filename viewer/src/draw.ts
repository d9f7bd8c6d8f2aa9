/** Draw a scene on a canvas: only what is on the screen, and only as much of it as can be read. */

import type { Colouring } from "./colours";
import { HEADER } from "./layout";
import { type Content, type Contents, FONTS } from "./measure";
import { type Box, type Scene, type Segment, titleScale } from "./scene";
import type { Theme } from "./theme";

export interface Transform {
  x: number;
  y: number;
  k: number;
}

export interface DrawState {
  selected: number;
  selectedChip: number;
  hovered: number;
  /** Boxes that stand out (a batch of a plan, a change); the others may fade. */
  highlighted: ReadonlySet<number> | null;
  fading: boolean;
  matches: ReadonlySet<number>;
  /** Replay: items before this one are there; null when not replaying. */
  replay: number | null;
  newest: number;
  failed: number;
}

const FADED = 0.22;
const GHOST = 0.1;
const TITLE = 14;

export class Drawing {
  /** What titles, portals and labels cover: left, top, right, bottom. */
  private readonly taken: [number, number, number, number][] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly scene: Scene,
    private readonly contents: Contents,
    private readonly colouring: Colouring,
    private readonly theme: Theme,
    private readonly transform: Transform,
    private readonly state: DrawState,
  ) {}

  draw(width: number, height: number, ratio: number): void {
    const { context, transform } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.theme.page;
    context.fillRect(0, 0, width, height);
    context.translate(transform.x, transform.y);
    context.scale(transform.k, transform.k);
    const margin = 24 / transform.k;
    const x0 = -transform.x / transform.k - margin;
    const y0 = -transform.y / transform.k - margin;
    const x1 = (width - transform.x) / transform.k + margin;
    const y1 = (height - transform.y) / transform.k + margin;
    const boxes = this.scene.boxesIn(x0, y0, x1, y1);
    const segments = this.scene.segmentsIn(x0, y0, x1, y1);
    this.drawOpen(boxes);
    this.drawEdges(segments);
    if (transform.k < 0.3) this.drawSmall(boxes);
    else for (const box of boxes) if (!box.open) this.drawBox(box);
    this.drawTitles(boxes);
    if (transform.k > 0.42) this.drawPortals(x0, y0, x1, y1);
    if (transform.k > 0.55) this.drawLabels(segments);
    this.drawRings(boxes);
  }

  private alphaOf(box: number): number {
    const { replay, highlighted } = this.state;
    if (replay !== null) {
      const { graph } = this.scene;
      const born = graph.isGroup(box) ? graph.firstOf(graph.groupAt(box)) : box;
      if (born >= replay) return GHOST;
    }
    if (highlighted !== null && this.state.fading && !highlighted.has(box)) return FADED;
    return 1;
  }

  /** The ground of open groups. */
  private drawOpen(boxes: Box[]): void {
    const { context, theme } = this;
    for (const box of boxes) {
      if (!box.open) continue;
      const { kind } = this.scene.graph.groups[this.scene.graph.groupAt(box.box)]!;
      context.globalAlpha = this.state.replay === null ? 1 : Math.max(0.4, this.alphaOf(box.box));
      context.beginPath();
      context.roundRect(box.x, box.y, box.width, box.height, 10);
      context.fillStyle = groundAt(theme, box.depth);
      context.fill();
      context.strokeStyle = theme.border;
      context.lineWidth = Math.max(1, 0.6 / this.transform.k);
      context.setLineDash(kind === "loop" ? [6, 4] : []);
      context.stroke();
      context.setLineDash([]);
    }
    context.globalAlpha = 1;
  }

  private trace(path: CanvasRenderingContext2D, points: number[], from: number): void {
    path.moveTo(points[from]!, points[from + 1]!);
    const fine = this.transform.k > 0.12;
    for (let at = from + 2; at < points.length; at += 2) {
      const [x0, y0, x1, y1] = [points[at - 2]!, points[at - 1]!, points[at]!, points[at + 1]!];
      if (!fine || Math.abs(x0 - x1) < 0.5) path.lineTo(x1, y1);
      else {
        const bend = (y1 - y0) * 0.5;
        path.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
      }
    }
  }

  private drawEdges(segments: Segment[]): void {
    const { context, theme, transform, state } = this;
    const near = this.segmentsNear();
    const groups: { data: Segment[]; control: Segment[]; ghost: Segment[] } = {
      data: [],
      control: [],
      ghost: [],
    };
    for (const segment of segments) {
      if (segment.points.length === 0 || near.has(segment)) continue;
      if (state.replay !== null && segment.edge.born >= state.replay) groups.ghost.push(segment);
      else if (segment.edge.control) groups.control.push(segment);
      else groups.data.push(segment);
    }
    const quiet = state.highlighted !== null && state.fading ? 0.35 : near.size > 0 ? 0.6 : 1;
    const stroke = (
      list: Segment[],
      colour: string,
      width: number,
      alpha: number,
      dash: number[],
      whole = false,
    ): void => {
      if (list.length === 0) return;
      context.globalAlpha = alpha;
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.lineWidth = Math.max(width, 0.7 / transform.k);
      context.setLineDash(dash);
      context.beginPath();
      for (const segment of list) this.trace(context, segment.points, whole ? 0 : segment.from);
      context.stroke();
      context.setLineDash([]);
      if (transform.k > 0.3) this.drawHeads(list);
    };
    // Near a selection some lines are drawn elsewhere, and others must not rely on them.
    const whole = near.size > 0 || state.replay !== null;
    stroke(groups.ghost, theme.edge, 1.2, GHOST, [], whole);
    stroke(groups.data, theme.edge, 1.2, quiet, [], whole);
    stroke(groups.control, theme.decision, 1.4, quiet, [5, 4]);
    stroke(
      [...near].filter((one) => one.points.length > 0),
      theme.accent,
      2,
      1,
      [],
      true,
    );
    context.globalAlpha = 1;
  }

  private drawHeads(list: Segment[]): void {
    const { context } = this;
    context.beginPath();
    for (const { points, head } of list) {
      if (head === 0) continue;
      const x = head > 0 ? points.at(-2)! : points[0]!;
      const y = head > 0 ? points.at(-1)! : points[1]!;
      context.moveTo(x, y);
      context.lineTo(x - 3.6, y - 7 * head);
      context.lineTo(x + 3.6, y - 7 * head);
      context.closePath();
    }
    context.fill();
  }

  private segmentsNear(): Set<Segment> {
    const near = new Set<Segment>();
    for (const box of [this.state.selected, this.state.hovered]) {
      if (box < 0) continue;
      for (const wire of this.scene.wiresAt(box))
        for (const { level, edge } of wire.segments) near.add(this.scene.segmentFor(level.edges[edge]!));
    }
    return near;
  }

  /** Far away: rectangles, one path for each colour. */
  private drawSmall(boxes: Box[]): void {
    const { context } = this;
    const paths = new Map<string, Box[]>();
    for (const box of boxes) {
      if (box.open) continue;
      const key = `${this.alphaOf(box.box)} ${this.colouring.mark(box.box)}`;
      const list = paths.get(key);
      if (list === undefined) paths.set(key, [box]);
      else list.push(box);
    }
    for (const [key, list] of paths) {
      const [alpha, ...colour] = key.split(" ");
      context.globalAlpha = Number(alpha) * (this.colouring.fill(list[0]!.box) === null ? 0.75 : 1);
      context.fillStyle = colour.join(" ");
      context.beginPath();
      for (const { x, y, width, height } of list) context.rect(x, y, width, height);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  private drawBox(box: Box): void {
    const { context, theme } = this;
    const content = this.contents.of(box.box);
    const readable = this.transform.k > 0.42;
    context.globalAlpha = this.alphaOf(box.box);
    const mark = this.colouring.mark(box.box);
    const fill = this.colouring.fill(box.box);
    if (content.form === "diamond") this.drawDiamond(box, content, mark);
    else {
      const { kind, count } = this.scene.graph.isGroup(box.box)
        ? this.scene.graph.groups[this.scene.graph.groupAt(box.box)]!
        : { kind: "", count: 1 };
      if (kind === "loop" && count > 1) this.drawStack(box);
      const radius = content.form === "pill" ? Math.min(box.height / 2, 16) : 7;
      context.beginPath();
      context.roundRect(box.x, box.y, box.width, box.height, radius);
      context.fillStyle = fill ?? theme.surface;
      context.fill();
      context.strokeStyle = fill === null ? theme.border : theme.edge;
      context.lineWidth = 1;
      context.stroke();
      if (fill !== null && fill === mark) {
        // The whole box has the colour.
      } else if (content.form !== "pill") {
        context.beginPath();
        context.roundRect(box.x, box.y, 4.5, box.height, [radius, 0, 0, radius]);
        context.fillStyle = mark;
        context.fill();
      } else {
        context.beginPath();
        context.roundRect(box.x, box.y, box.width, box.height, radius);
        context.strokeStyle = mark;
        context.lineWidth = 1.4;
        context.stroke();
      }
      if (readable) this.drawText(box, content, fill);
      else this.drawTitleOnly(box, content, fill);
    }
    context.globalAlpha = 1;
  }

  private drawStack(box: Box): void {
    const { context, theme } = this;
    for (const shift of [6, 3]) {
      context.beginPath();
      context.roundRect(box.x + shift, box.y + shift, box.width, box.height, 7);
      context.fillStyle = theme.surface;
      context.fill();
      context.strokeStyle = theme.border;
      context.lineWidth = 1;
      context.stroke();
    }
  }

  private drawDiamond(box: Box, content: Content, mark: string): void {
    const { context, theme } = this;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    context.beginPath();
    context.moveTo(x, box.y);
    context.lineTo(box.x + box.width, y);
    context.lineTo(x, box.y + box.height);
    context.lineTo(box.x, y);
    context.closePath();
    context.fillStyle = theme.decisionSoft;
    context.fill();
    context.strokeStyle = mark === theme.faint ? theme.decision : mark;
    context.lineWidth = 1.5;
    context.stroke();
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = theme.decision;
    context.font = FONTS.title;
    context.fillText(content.title, x, y - (content.detail === "" ? 0 : 6));
    if (this.transform.k > 0.42 && content.detail !== "") {
      context.font = FONTS.chip;
      context.fillText(content.detail, x, y + 10);
    }
    context.textAlign = "left";
  }

  /** Text colour on a fill of the heat scale. */
  private inkOn(fill: string | null): string {
    const { theme } = this;
    if (fill === null || !theme.heat.includes(fill)) return theme.text;
    const at = theme.heat.indexOf(fill);
    return theme.dark ? (at >= 3 ? "#14110f" : theme.text) : at >= 4 ? "#ffffff" : theme.text;
  }

  private drawTitleOnly(box: Box, content: Content, fill: string | null): void {
    const { context } = this;
    context.font = FONTS.title;
    context.textBaseline = "middle";
    context.fillStyle = this.inkOn(fill);
    context.fillText(
      content.title,
      box.x + (content.form === "group" ? 28 : 14),
      box.y + Math.min(box.height, 46) / 2,
    );
  }

  private drawText(box: Box, content: Content, fill: string | null): void {
    const { context, theme } = this;
    const ink = this.inkOn(fill);
    context.textBaseline = "middle";
    const group = content.form === "group";
    const left = box.x + (group ? 28 : 14);
    if (group) this.drawChevron(box.x + 16, box.y + 17, false, ink);
    context.font = FONTS.title;
    context.fillStyle = ink;
    const middle = content.detail === "" ? 16.5 : 17;
    context.fillText(content.title, left, box.y + middle);
    if (content.badge !== "") this.drawBadge(content.badge, box.x + box.width - 10, box.y + middle);
    if (content.detail !== "") {
      context.font = FONTS.detail;
      context.fillStyle = fill === null || theme.heat.indexOf(fill) < 2 ? theme.muted : ink;
      context.fillText(content.detail, left, box.y + 34);
    }
    for (const part of content.parts) {
      const [x, y] = [box.x + part.x, box.y + part.y];
      context.beginPath();
      context.roundRect(x, y, part.width, part.height, part.kind === "chip" ? 8 : 6);
      const read = part.kind === "read";
      context.fillStyle = read ? theme.decisionSoft : theme.chip;
      context.fill();
      if (!read) {
        if (part.target >= 0 && part.target === this.state.selectedChip) {
          context.strokeStyle = theme.accent;
          context.lineWidth = 1.5;
          context.stroke();
        }
        context.font = FONTS.chip;
        context.fillStyle = theme.muted;
        context.fillText(part.text, x + 6, y + part.height / 2 + 0.5);
        continue;
      }
      context.fillStyle = theme.decision;
      context.beginPath();
      context.moveTo(x + 12, y + 5);
      context.lineTo(x + 17, y + 10);
      context.lineTo(x + 12, y + 15);
      context.lineTo(x + 7, y + 10);
      context.closePath();
      context.fill();
      context.font = FONTS.badge;
      context.fillText(part.text, x + 22, y + 10.5);
      if (part.more !== "") {
        context.font = FONTS.code;
        context.fillStyle = theme.muted;
        context.fillText(part.more, x + 22, y + 24);
      }
    }
  }

  private drawBadge(text: string, right: number, middle: number): void {
    const { context, theme } = this;
    context.font = FONTS.badge;
    const width = context.measureText(text).width + 12;
    context.beginPath();
    context.roundRect(right - width, middle - 9, width, 17, 8.5);
    context.fillStyle = theme.accentSoft;
    context.fill();
    context.fillStyle = theme.accent;
    context.fillText(text, right - width + 6, middle + 0.5);
  }

  private drawChevron(x: number, y: number, open: boolean, colour: string): void {
    const { context } = this;
    context.beginPath();
    if (open) {
      context.moveTo(x - 4, y - 2);
      context.lineTo(x, y + 2.5);
      context.lineTo(x + 4, y - 2);
    } else {
      context.moveTo(x - 2, y - 4);
      context.lineTo(x + 2.5, y);
      context.lineTo(x - 2, y + 4);
    }
    context.strokeStyle = colour;
    context.lineWidth = 1.6;
    context.stroke();
  }

  /** Titles of open groups; from far away in a size that can still be read. */
  private drawTitles(boxes: Box[]): void {
    const { context, theme, transform } = this;
    context.textBaseline = "middle";
    for (const box of boxes) {
      if (!box.open) continue;
      const content = this.contents.of(box.box);
      const scale = titleScale(transform.k);
      const room = box.width - 16;
      if (room * transform.k < 46) continue;
      context.globalAlpha = this.state.replay === null ? 1 : Math.max(0.4, this.alphaOf(box.box));
      context.save();
      // A larger title stays in the head of the group as long as there is room for it.
      context.translate(box.x, box.y + Math.max(HEADER / 2, (TITLE / 2) * scale + 2));
      context.scale(scale, scale);
      context.font = FONTS.title;
      const width = context.measureText(content.title).width;
      const space = room / scale - 26 - (content.badge === "" ? 0 : 50);
      const shown = width > space ? fitted(context, content.title, space) : content.title;
      if (shown !== "") {
        this.drawChevron(16, 0, true, theme.muted);
        // A line that comes in through the title stays behind it.
        context.strokeStyle = groundAt(theme, box.depth);
        context.lineWidth = 5;
        context.lineJoin = "round";
        context.strokeText(shown, 28, 0.5);
        context.fillStyle = theme.text;
        context.fillText(shown, 28, 0.5);
        if (content.badge !== "")
          this.drawBadge(content.badge, 28 + context.measureText(shown).width + 48, 0);
        this.taken.push([box.x, box.y, box.x + (30 + width + (content.badge === "" ? 0 : 50)) * scale, box.y + HEADER]);
      }
      context.restore();
    }
    context.globalAlpha = 1;
  }

  private drawPortals(x0: number, y0: number, x1: number, y1: number): void {
    const { context, theme } = this;
    context.font = FONTS.chip;
    context.textBaseline = "middle";
    for (const portal of this.scene.portals) {
      const left = this.scene.portalLeft(portal, this.transform.k);
      if (portal.x > x1 || portal.x + portal.width < x0 || portal.y > y1 || portal.y + 15 < y0) continue;
      context.globalAlpha = this.alphaOf(portal.box);
      context.beginPath();
      context.roundRect(left, portal.y, portal.width, 14, 7);
      context.fillStyle = theme.page;
      context.fill();
      context.strokeStyle = theme.accent;
      context.lineWidth = 0.8;
      context.stroke();
      context.fillStyle = theme.accent;
      context.fillText(portal.text, left + 6, portal.y + 7.5);
      this.taken.push([left, portal.y, left + portal.width, portal.y + 14]);
    }
    context.globalAlpha = 1;
  }

  /** What flows along an edge, where the box it leaves does not say it already. */
  private drawLabels(segments: Segment[]): void {
    const { context, theme, state } = this;
    context.font = FONTS.chip;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const { edge, points, head } of segments) {
      if (points.length === 0 || head === 0) continue;
      if (state.replay !== null && edge.born >= state.replay) continue;
      const text = edge.control ? edge.labels.join(", ") : edge.count > 1 ? `${edge.count} tensors` : "";
      if (text === "") continue;
      const width = context.measureText(text).width + 8;
      const place = this.freePlace(points, width);
      if (place === null && !edge.control) continue;
      const [x, y] = place ?? [points.at(-2)!, (points.at(-1)! + points.at(-3)!) / 2];
      this.taken.push([x - width / 2, y - 7, x + width / 2, y + 7]);
      context.globalAlpha = state.highlighted !== null ? 0.5 : 0.92;
      context.fillStyle = theme.page;
      context.fillRect(x - width / 2, y - 7, width, 14);
      context.globalAlpha = 1;
      context.fillStyle = edge.control ? theme.decision : theme.faint;
      context.fillText(text, x, y + 0.5);
    }
    context.textAlign = "left";
  }

  /** Where along a line, from its end on, a label covers no title, no other label and no box. */
  private freePlace(points: number[], width: number): [number, number] | null {
    for (let at = points.length - 2; at >= 2; at -= 2)
      for (const part of [0.5, 0.3, 0.7]) {
        const x = points[at - 2]! * (1 - part) + points[at]! * part;
        const y = points[at - 1]! * (1 - part) + points[at + 1]! * part;
        const [x0, y0, x1, y1] = [x - width / 2, y - 7, x + width / 2, y + 7];
        const covers =
          this.taken.some((one) => one[0] < x1 && one[2] > x0 && one[1] < y1 && one[3] > y0) ||
          this.scene.boxesIn(x0, y0, x1, y1).some((box) => !box.open);
        if (!covers) return [x, y];
      }
    return null;
  }

  /** Rings around what is selected, hovered, found, newest or failed. */
  private drawRings(boxes: Box[]): void {
    const { state, theme } = this;
    for (const box of boxes) {
      if (state.matches.has(box.box)) this.ring(box, theme.match, 2.5, 2.5);
      if (state.highlighted?.has(box.box) && !box.open) this.ring(box, theme.accent, 2, 1);
      if (box.box === state.failed) this.ring(box, theme.bad, 2.5, 3);
      if (box.box === state.newest) this.ring(box, theme.warn, 3, 3);
      if (box.box === state.hovered && box.box !== state.selected) this.ring(box, theme.faint, 1.2, 0);
      if (box.box === state.selected) this.ring(box, theme.accent, 2.5, 1.5);
    }
  }

  private ring(box: Box, colour: string, width: number, distance: number): void {
    const { context, transform } = this;
    const line = Math.max(width, 1.4 / transform.k);
    const far = distance + (transform.k < 0.4 ? line / 2 : 0);
    context.beginPath();
    context.roundRect(box.x - far, box.y - far, box.width + 2 * far, box.height + 2 * far, box.open ? 11 : 9);
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.stroke();
  }
}

/** The ground of an open group: a little further from the page's with each level. */
function groundAt(theme: Theme, depth: number): string {
  const key = `${theme.page}${depth}`;
  let colour = grounds.get(key);
  if (colour === undefined) {
    const part = 1 - (1 - (theme.dark ? 0.055 : 0.04)) ** (depth + 1);
    const tone = (text: string, at: number): number => parseInt(text.slice(1 + 2 * at, 3 + 2 * at), 16);
    const mixed = [0, 1, 2].map((at) =>
      Math.round(tone(theme.page, at) * (1 - part) + tone(theme.group, at) * part),
    );
    grounds.set(key, (colour = `rgb(${mixed.join(", ")})`));
  }
  return colour;
}
const grounds = new Map<string, string>();

function fitted(context: CanvasRenderingContext2D, text: string, space: number): string {
  if (space < 20) return "";
  let shown = text;
  while (shown.length > 2 && context.measureText(`${shown}…`).width > space)
    shown = shown.slice(0, -Math.ceil(shown.length / 8));
  return shown.length > 2 ? `${shown}…` : "";
}
