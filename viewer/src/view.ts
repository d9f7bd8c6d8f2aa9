/** One graph on one canvas: what is open, selected, highlighted; zoom and pan; drawing when needed. */

import { select } from "d3-selection";
import { type D3ZoomEvent, zoom, type ZoomBehavior, zoomIdentity, ZoomTransform } from "d3-zoom";
import { type ChangeStates, type Colouring, type ColourMode, makeColouring } from "./colours";
import { h } from "./dom";
import { Drawing, type DrawState } from "./draw";
import type { Graph } from "./graph";
import { HEADER, type LevelPlaces } from "./layout";
import { Layouter } from "./layouter";
import { Contents, type Part } from "./measure";
import { type Box, Scene, taskOf, titleScale } from "./scene";
import type { Theme } from "./theme";
import { countBoxes, firstOpen, makeVisible } from "./visible";

export const MOST_BOXES = 3000;

/** What is selected: a box, or a leaf that stands as a chip; -1 is none. */
export interface Selection {
  box: number;
  chip: number;
}
export const NOTHING: Selection = { box: -1, chip: -1 };

export interface ViewEvents {
  selected(selection: Selection): void;
  /** Boxes have new places. */
  changed(): void;
  said(text: string): void;
  toggled?(group: number, open: boolean): void;
}

interface Hit {
  box: Box;
  part: Part | null;
  toggle: boolean;
}

export class GraphView {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  graph: Graph | null = null;
  scene: Scene | null = null;
  open = new Set<number>();
  selection: Selection = NOTHING;
  colouring: Colouring | null = null;
  /** Milliseconds that drawing each of the last frames took. */
  readonly frames: number[] = [];
  layouts = 0;
  /** Layouts that were asked for and have not ended. */
  private underWay = 0;
  /** When the first graph was drawn, in milliseconds since the page was asked for. */
  firstDrawn = 0;
  private mode: ColourMode = "op";
  private change: ChangeStates | null = null;
  private contents: Contents | null = null;
  private readonly layouter = new Layouter();
  private readonly context: CanvasRenderingContext2D;
  private readonly zooming: ZoomBehavior<HTMLCanvasElement, unknown>;
  private readonly minimap: HTMLCanvasElement;
  private minimapGround: ImageBitmap | HTMLCanvasElement | null = null;
  transform: ZoomTransform = zoomIdentity;
  private requested = false;
  private size = { width: 0, height: 0 };
  private readonly state: DrawState = {
    selected: -1,
    selectedChip: -1,
    hovered: -1,
    highlighted: null,
    fading: true,
    matches: new Set(),
    replay: null,
    newest: -1,
    failed: -1,
  };
  /** Items to show: the boxes that contain them are worked out for each layout. */
  private highlightedItems: number[] | null = null;
  private matchedItems: number[] = [];
  private newestItem = -1;
  private failedItem = -1;

  constructor(
    private theme: Theme,
    private readonly events: ViewEvents,
    label: string,
  ) {
    this.canvas = h("canvas", {
      class: "graph",
      tabindex: "0",
      role: "application",
      "aria-label": label,
      "aria-describedby": "graph-help",
    });
    this.minimap = h("canvas", { class: "minimap", "aria-hidden": "true" });
    this.element = h("div", { class: "view" }, this.canvas, this.minimap);
    this.context = this.canvas.getContext("2d", { alpha: false })!;
    this.zooming = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.01, 4])
      .clickDistance(5)
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transform = event.transform;
        this.request();
      });
    select(this.canvas).call(this.zooming).on("dblclick.zoom", null);
    this.canvas.addEventListener("click", (event) => this.clicked(event));
    this.canvas.addEventListener("dblclick", (event) => this.doubleClicked(event));
    this.canvas.addEventListener("mousemove", (event) => this.moved(event));
    this.canvas.addEventListener("mouseleave", () => this.hover(-1));
    this.minimap.addEventListener("pointerdown", (event) => this.minimapMoved(event));
    this.minimap.addEventListener("pointermove", (event) => event.buttons > 0 && this.minimapMoved(event));
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  // ---- What is shown ----

  async show(graph: Graph, open: Set<number> | null = null, stay = false): Promise<void> {
    this.graph = graph;
    this.scene = null;
    this.contents = new Contents(graph);
    this.open = open ?? firstOpen(graph);
    this.selection = NOTHING;
    this.state.selected = this.state.selectedChip = this.state.hovered = -1;
    this.highlightedItems = null;
    this.matchedItems = [];
    this.newestItem = this.failedItem = -1;
    this.state.replay = null;
    this.colour(this.mode, this.change);
    if ((await this.relayout()) && !stay) this.home();
  }

  colour(mode: ColourMode, change: ChangeStates | null = null): void {
    this.mode = mode;
    this.change = change;
    if (this.graph !== null) this.colouring = makeColouring(this.graph, mode, this.theme, change);
    this.minimapGround = null;
    this.request();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.colour(this.mode, this.change);
  }

  async relayout(anchor = -1): Promise<boolean> {
    const { graph, contents } = this;
    if (graph === null || contents === null) return false;
    const before = anchor >= 0 ? this.scene?.byBox.get(anchor) : undefined;
    const visible = makeVisible(graph, this.open);
    let places: LevelPlaces | null = null;
    this.underWay += 1;
    try {
      places = await this.layouter.layout(taskOf(graph, visible.root, contents));
    } catch (error) {
      this.events.said((error as Error).message);
    } finally {
      this.underWay -= 1;
    }
    if (places === null || graph !== this.graph) return false;
    this.scene = new Scene(graph, visible, places, contents);
    this.layouts += 1;
    this.minimapGround = null;
    this.state.hovered = -1;
    this.resolve();
    const after = before && this.scene.byBox.get(anchor);
    if (before && after) {
      // What was opened or closed stays where the eye is.
      const { k, x, y } = this.transform;
      this.setTransform(
        new ZoomTransform(
          k,
          x + (before.x + before.width / 2 - after.x - after.width / 2) * k,
          y + (before.y - after.y) * k,
        ),
      );
    }
    this.request();
    this.events.changed();
    return true;
  }

  /** Work out which boxes now show the items that stand out. */
  private resolve(): void {
    const shownBy = this.scene?.visible.shownBy;
    if (shownBy === undefined) return;
    const boxes = (items: number[]): Set<number> =>
      new Set(items.map((item) => shownBy[item]!).filter((box) => box >= 0));
    this.state.highlighted = this.highlightedItems === null ? null : boxes(this.highlightedItems);
    this.state.matches = boxes(this.matchedItems);
    this.state.newest = this.newestItem < 0 ? -1 : shownBy[this.newestItem]!;
    this.state.failed = this.failedItem < 0 ? -1 : shownBy[this.failedItem]!;
  }

  highlight(items: number[] | null, fading = true): void {
    this.highlightedItems = items;
    this.state.fading = fading;
    this.resolve();
    this.request();
  }

  match(items: number[]): void {
    this.matchedItems = items;
    this.resolve();
    this.request();
  }

  markFailed(item: number): void {
    this.failedItem = item;
    this.resolve();
    this.request();
  }

  /** Show the graph as it was when `count` items had been recorded; null: as it is. */
  replay(count: number | null, follow: boolean): void {
    this.state.replay = count;
    this.newestItem = count === null || count === 0 ? -1 : count - 1;
    this.resolve();
    if (follow && this.state.newest >= 0) this.keepInSight(this.state.newest);
    this.request();
  }

  /** Whether nothing that was asked for is still to come. */
  get settled(): boolean {
    return this.underWay === 0;
  }

  get newest(): number {
    return this.state.newest;
  }

  get highlighted(): number[] {
    return this.state.highlighted === null ? [] : [...this.state.highlighted];
  }

  get matches(): number[] {
    return [...this.state.matches];
  }

  stop(): void {
    this.layouter.stop();
  }

  // ---- Opening and closing ----

  async toggle(group: number): Promise<void> {
    const { graph } = this;
    if (graph === null) return;
    if (this.open.has(group)) this.open.delete(group);
    else {
      this.open.add(group);
      if (countBoxes(graph, this.open) > MOST_BOXES) {
        this.open.delete(group);
        this.events.said(
          `Opening this would show more than ${MOST_BOXES.toLocaleString("en")} boxes; close others first.`,
        );
        return;
      }
    }
    const box = graph.groupBox(group);
    await this.relayout(box);
    this.fixSelection();
    this.events.toggled?.(group, this.open.has(group));
  }

  /** A selected box that went out of sight gives its selection to the box that now shows it. */
  private fixSelection(): void {
    const { graph, scene } = this;
    if (graph === null || scene === null || this.selection.box < 0 || scene.byBox.has(this.selection.box))
      return;
    let box = this.selection.box;
    while (!scene.byBox.has(box) && graph.parentOf(box) >= 0) box = graph.groupBox(graph.parentOf(box));
    this.select({ box, chip: -1 });
  }

  async expandAll(): Promise<void> {
    const { graph } = this;
    if (graph === null) return;
    const depth = (group: number): number => (group < 0 ? 0 : 1 + depth(graph.groups[group]!.parent));
    const levels: number[][] = [];
    graph.groups.forEach((_, group) => {
      if (graph.childrenOf(group).length > 0) (levels[depth(group)] ??= []).push(group);
    });
    const open = new Set<number>();
    let whole = true;
    let seen = graph.childrenOf(-1).length;
    for (const level of levels)
      for (const group of level ?? []) {
        const parent = graph.groups[group]!.parent;
        const inside = graph.childrenOf(group).length;
        if ((parent >= 0 && !open.has(parent)) || seen + inside > MOST_BOXES) {
          whole = false;
          continue;
        }
        open.add(group);
        seen += inside;
      }
    this.open = open;
    await this.relayout();
    // A graph that is a thread from afar is better read from its beginning.
    if (this.wholeScale() < 0.1) this.home();
    else this.fit();
    if (!whole) this.events.said(`Opened as much as ${MOST_BOXES.toLocaleString("en")} boxes allow.`);
  }

  async collapseAll(): Promise<void> {
    this.open = new Set();
    await this.relayout();
    this.fixSelection();
    this.home();
  }

  /** Open what hides an item, select it and bring it to the middle. */
  async reveal(item: number, chip = -1, centre = true): Promise<void> {
    const { graph } = this;
    if (graph === null || item < 0) return;
    let changed = false;
    for (let group = graph.parentOf(item); group >= 0; group = graph.groups[group]!.parent)
      if (!this.open.has(group)) {
        this.open.add(group);
        changed = true;
      }
    if (changed && !(await this.relayout())) return;
    this.select({ box: item, chip });
    if (centre && !this.inSight(item)) this.centreOn(item);
  }

  async revealGroup(group: number): Promise<void> {
    const { graph } = this;
    if (graph === null) return;
    let changed = false;
    for (let parent = graph.groups[group]!.parent; parent >= 0; parent = graph.groups[parent]!.parent)
      if (!this.open.has(parent)) {
        this.open.add(parent);
        changed = true;
      }
    if (changed && !(await this.relayout())) return;
    this.select({ box: graph.groupBox(group), chip: -1 });
    this.centreOn(graph.groupBox(group));
  }

  async revealMany(items: number[], most = 400): Promise<void> {
    const { graph } = this;
    if (graph === null || items.length === 0) return;
    const before = this.open.size;
    for (const item of items.slice(0, 200)) {
      const added: number[] = [];
      for (let group = graph.parentOf(item); group >= 0; group = graph.groups[group]!.parent)
        if (!this.open.has(group)) added.push(group);
      for (const group of added) this.open.add(group);
      if (added.length > 0 && countBoxes(graph, this.open) > most) {
        for (const group of added) this.open.delete(group);
        break;
      }
    }
    if (this.open.size !== before) await this.relayout();
  }

  // ---- Selection ----

  select(selection: Selection): void {
    this.selection = selection;
    this.state.selected = selection.box;
    this.state.selectedChip = selection.chip;
    this.request();
    this.events.selected(selection);
  }

  /** Move the selection: along edges up and down, beside within a layer. */
  step(direction: "up" | "down" | "left" | "right"): void {
    const { scene, graph } = this;
    if (scene === null || graph === null || scene.boxes.length === 0) return;
    const now = scene.byBox.get(this.selection.box);
    if (now === undefined) {
      const first = scene.boxes.reduce((a, b) => (b.y < a.y ? b : a));
      this.select({ box: first.box, chip: -1 });
      this.keepInSight(first.box);
      return;
    }
    const centre = (box: Box): [number, number] => [
      box.x + box.width / 2,
      box.y + (box.open ? HEADER / 2 : box.height / 2),
    ];
    const [x, y] = centre(now);
    const vertical = direction === "up" || direction === "down";
    let candidates: Box[] = [];
    if (vertical)
      candidates = scene
        .wiresAt(now.box)
        .map((wire) => scene.byBox.get(direction === "down" ? wire.target : wire.source)!)
        .filter((box) => box !== now && (direction === "down" ? box.y > now.y : box.y < now.y));
    if (candidates.length === 0)
      candidates = scene.boxes.filter((box) => {
        const [bx, by] = centre(box);
        if (box === now) return false;
        if (direction === "up") return by < y - 4;
        if (direction === "down") return by > y + 4;
        return (
          Math.abs(by - y) < Math.max(60, now.open ? 0 : now.height) &&
          (direction === "left" ? bx < x - 4 : bx > x + 4)
        );
      });
    let best: Box | null = null;
    let nearest = Infinity;
    for (const box of candidates) {
      const [bx, by] = centre(box);
      const distance = vertical
        ? Math.abs(by - y) + Math.abs(bx - x) * 0.6
        : Math.abs(bx - x) + Math.abs(by - y) * 3;
      if (distance < nearest) [best, nearest] = [box, distance];
    }
    if (best === null) return;
    this.select({ box: best.box, chip: -1 });
    this.keepInSight(best.box);
  }

  async activate(): Promise<void> {
    const { graph } = this;
    if (graph !== null && this.selection.box >= 0 && graph.isGroup(this.selection.box))
      await this.toggle(graph.groupAt(this.selection.box));
  }

  // ---- Where to look ----

  setTransform(transform: ZoomTransform): void {
    select(this.canvas).call((selection) => this.zooming.transform(selection, transform));
  }

  /** The scale at which the whole graph is to be seen. */
  private wholeScale(): number {
    const { width, height } = this.size;
    return Math.min(
      (width - 48) / Math.max(1, this.scene?.width ?? 1),
      (height - 48) / Math.max(1, this.scene?.height ?? 1),
    );
  }

  /** The whole graph. */
  fit(): void {
    if (this.scene === null) return;
    const { width, height } = this.size;
    const k = Math.min(1.2, this.wholeScale());
    this.setTransform(
      new ZoomTransform(k, (width - this.scene.width * k) / 2, (height - this.scene.height * k) / 2),
    );
  }

  /** The whole graph if it can be read so, otherwise its beginning. */
  home(): void {
    const { scene } = this;
    if (scene === null) return;
    const { width, height } = this.size;
    const whole = this.wholeScale();
    if (whole >= 0.62) {
      const k = Math.min(1, whole);
      this.setTransform(
        new ZoomTransform(
          k,
          (width - scene.width * k) / 2,
          Math.max(28, Math.min(64, (height - scene.height * k) / 2)),
        ),
      );
      return;
    }
    const k = Math.min(0.9, Math.max(0.5, (width - 48) / Math.max(1, scene.width)));
    const first = scene.boxes.filter((box) => box.y < 1);
    const middle =
      first.length === 0
        ? scene.width / 2
        : first.reduce((sum, box) => sum + box.x + box.width / 2, 0) / first.length;
    const x = scene.width * k <= width - 48 ? (width - scene.width * k) / 2 : width / 2 - middle * k;
    this.setTransform(new ZoomTransform(k, x, 28));
  }

  zoomBy(factor: number): void {
    select(this.canvas).call((selection) => this.zooming.scaleBy(selection, factor));
  }

  panBy(x: number, y: number): void {
    const { k } = this.transform;
    select(this.canvas).call((selection) => this.zooming.translateBy(selection, x / k, y / k));
  }

  centreOn(box: number): void {
    const place = this.scene?.byBox.get(box);
    if (place === undefined) return;
    const k = Math.max(this.transform.k, 0.75);
    const y = place.open
      ? place.y + Math.min(place.height / 2, this.size.height / 2 / k - 60)
      : place.y + place.height / 2;
    this.setTransform(
      new ZoomTransform(
        k,
        this.size.width / 2 - (place.x + place.width / 2) * k,
        this.size.height / 2 - y * k,
      ),
    );
  }

  /** All of these boxes, if they can be read together; otherwise the first. */
  showAll(boxes: number[]): void {
    const places = boxes.flatMap((box) => this.scene?.byBox.get(box) ?? []);
    if (places.length === 0 || boxes.every((box) => this.inSight(box))) return;
    const left = Math.min(...places.map((one) => one.x));
    const top = Math.min(...places.map((one) => one.y));
    const right = Math.max(...places.map((one) => one.x + one.width));
    const bottom = Math.max(...places.map((one) => one.y + one.height));
    const { width, height } = this.size;
    const k = Math.min(1, (width - 80) / (right - left), (height - 80) / (bottom - top));
    if (k < 0.42) return this.centreOn(boxes[0]!);
    this.setTransform(
      new ZoomTransform(k, width / 2 - ((left + right) / 2) * k, height / 2 - ((top + bottom) / 2) * k),
    );
  }

  /** Whether a box is on the screen, in a size that can be read. */
  private inSight(box: number): boolean {
    const place = this.scene?.byBox.get(box);
    if (place === undefined || this.transform.k < 0.5) return false;
    const { x, y, k } = this.transform;
    const [left, top] = [place.x * k + x, place.y * k + y];
    const { width, height } = this.size;
    return (
      left >= 4 && top >= 4 && left + place.width * k <= width - 4 && top + place.height * k <= height - 4
    );
  }

  private keepInSight(box: number): void {
    const place = this.scene?.byBox.get(box);
    if (place === undefined) return;
    const { x, y, k } = this.transform;
    const [left, top] = [place.x * k + x, place.y * k + y];
    const [right, bottom] = [left + place.width * k, top + Math.min(place.height, 120) * k];
    const { width, height } = this.size;
    if (left >= 12 && top >= 12 && right <= width - 12 && bottom <= height - 12) return;
    const dx = left < 12 ? 40 - left : right > width - 12 ? width - 40 - right : 0;
    const dy = top < 12 ? 60 - top : bottom > height - 12 ? height * 0.4 - top : 0;
    this.setTransform(new ZoomTransform(k, x + dx, y + dy));
  }

  /** A box's rectangle in the page. */
  rectangle(box: number): { x: number; y: number; width: number; height: number } | null {
    const place = this.scene?.byBox.get(box);
    if (place === undefined) return null;
    const bounds = this.canvas.getBoundingClientRect();
    const { x, y, k } = this.transform;
    return {
      x: bounds.x + place.x * k + x,
      y: bounds.y + place.y * k + y,
      width: place.width * k,
      height: place.height * k,
    };
  }

  // ---- Mouse ----

  private hitAt(event: MouseEvent): Hit | null {
    const { scene, graph, contents } = this;
    if (scene === null || graph === null || contents === null) return null;
    const [x, y] = this.transform.invert([event.offsetX, event.offsetY]);
    const box = scene.boxAt(x, y);
    if (box === null) return null;
    const [inX, inY] = [x - box.x, y - box.y];
    if (box.open) {
      const scale = titleScale(this.transform.k);
      return { box, part: null, toggle: inY < HEADER * scale && inX < 28 * scale };
    }
    const part = contents
      .of(box.box)
      .parts.find(
        (one) => inX >= one.x && inX <= one.x + one.width && inY >= one.y && inY <= one.y + one.height,
      );
    return { box, part: part ?? null, toggle: graph.isGroup(box.box) && inX < 28 };
  }

  private clicked(event: MouseEvent): void {
    this.canvas.focus();
    const [x, y] = this.transform.invert([event.offsetX, event.offsetY]);
    const portal = this.scene?.portalAt(x, y, this.transform.k);
    if (portal) {
      this.select({ box: portal.others[0]!, chip: -1 });
      this.centreOn(portal.others[0]!);
      return;
    }
    const hit = this.hitAt(event);
    if (hit === null) this.select(NOTHING);
    else if (hit.toggle) void this.toggle(this.graph!.groupAt(hit.box.box));
    else this.select({ box: hit.box.box, chip: hit.part?.kind === "chip" ? hit.part.target : -1 });
  }

  private doubleClicked(event: MouseEvent): void {
    const hit = this.hitAt(event);
    if (hit !== null && !hit.toggle && this.graph!.isGroup(hit.box.box))
      void this.toggle(this.graph!.groupAt(hit.box.box));
  }

  private moved(event: MouseEvent): void {
    if (event.buttons > 0) return;
    const hit = this.hitAt(event);
    this.canvas.classList.toggle("pointing", hit !== null && (!hit.box.open || hit.toggle));
    this.hover(hit === null || hit.box.open ? -1 : hit.box.box);
  }

  private hover(box: number): void {
    if (this.state.hovered === box) return;
    this.state.hovered = box;
    this.request();
  }

  // ---- Drawing ----

  private resized(): void {
    const { clientWidth, clientHeight } = this.element;
    const first = this.size.width === 0;
    this.size = { width: clientWidth, height: clientHeight };
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    if (first) this.home();
    this.drawNow();
  }

  request(): void {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => {
      this.requested = false;
      this.drawNow();
    });
  }

  private drawNow(): void {
    const { scene, contents, colouring } = this;
    const { width, height } = this.size;
    if (width === 0 || height === 0) return;
    const begin = performance.now();
    const ratio = window.devicePixelRatio || 1;
    if (scene === null || contents === null || colouring === null) {
      // While a new graph is laid out, the old picture stays.
      if (this.frames.length > 0) return;
      this.context.setTransform(1, 0, 0, 1, 0, 0);
      this.context.fillStyle = this.theme.page;
      this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
      return;
    }
    new Drawing(this.context, scene, contents, colouring, this.theme, this.transform, this.state).draw(
      width,
      height,
      ratio,
    );
    this.drawMinimap();
    const end = performance.now();
    this.frames.push(end - begin);
    if (this.firstDrawn === 0) this.firstDrawn = end;
    if (this.frames.length > 1000) this.frames.splice(0, 500);
  }

  private minimapScale(): number {
    return this.scene === null
      ? 1
      : Math.min(110 / Math.max(1, this.scene.width), 130 / Math.max(1, this.scene.height), 0.2);
  }

  private drawMinimap(): void {
    const { scene, minimap, theme } = this;
    if (scene === null) return;
    const { width, height } = this.size;
    const { k, x, y } = this.transform;
    const whole = scene.width * k <= width + 4 && scene.height * k <= height + 4;
    minimap.hidden = whole || scene.boxes.length < 8;
    if (minimap.hidden) return;
    const scale = this.minimapScale();
    const [wide, tall] = [
      Math.max(24, Math.ceil(scene.width * scale)) + 12,
      Math.max(24, Math.ceil(scene.height * scale)) + 12,
    ];
    if (this.minimapGround === null || minimap.width !== wide || minimap.height !== tall) {
      minimap.width = wide;
      minimap.height = tall;
      this.minimapGround = this.paintGround(wide, tall, scale);
    }
    const context = minimap.getContext("2d")!;
    context.clearRect(0, 0, wide, tall);
    context.drawImage(this.minimapGround, 0, 0);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(6 + (-x / k) * scale, 6 + (-y / k) * scale, (width / k) * scale, (height / k) * scale);
  }

  private paintGround(wide: number, tall: number, scale: number): HTMLCanvasElement {
    const ground = document.createElement("canvas");
    ground.width = wide;
    ground.height = tall;
    const context = ground.getContext("2d")!;
    for (const box of this.scene!.boxes) {
      context.fillStyle = box.open ? this.theme.group : this.colouring!.mark(box.box);
      context.globalAlpha = box.open ? 0.05 : 0.7;
      context.fillRect(
        6 + box.x * scale,
        6 + box.y * scale,
        Math.max(1, box.width * scale),
        Math.max(1, box.height * scale),
      );
    }
    return ground;
  }

  private minimapMoved(event: PointerEvent): void {
    const scale = this.minimapScale();
    const { k } = this.transform;
    const [x, y] = [(event.offsetX - 6) / scale, (event.offsetY - 6) / scale];
    this.setTransform(new ZoomTransform(k, this.size.width / 2 - x * k, this.size.height / 2 - y * k));
  }
}
