/** The slider that shows the graph as it formed, in the order of recording. */

import { h, replace } from "./dom";
import type { Graph } from "./graph";
import { placeOf, placeText, sourceLine } from "./model";
import type { GraphView } from "./view";

export class Replay {
  readonly element: HTMLElement;
  active = false;
  private readonly play = h(
    "button",
    { class: "icon", type: "button", title: "Play (p)", "aria-label": "play", onclick: () => this.toggle() },
    "▶",
  );
  private readonly slider = h("input", {
    type: "range",
    min: "0",
    max: "0",
    step: "1",
    "aria-label": "replay: how much has been recorded",
  });
  private readonly text = h("output", { class: "replay-text" });
  private readonly end = h(
    "button",
    {
      class: "icon",
      type: "button",
      title: "End the replay (Esc)",
      "aria-label": "end the replay",
      onclick: () => this.stop(),
    },
    "✕",
  );
  private graph: Graph | null = null;
  private timer = 0;

  constructor(
    private readonly view: GraphView,
    /** The newest item, -1 before the first, null when the replay has ended. */
    private readonly moved: (item: number | null) => void,
  ) {
    this.element = h(
      "div",
      { class: "replay", role: "group", "aria-label": "replay" },
      this.play,
      this.slider,
      this.text,
      this.end,
    );
    this.slider.addEventListener("input", () => {
      this.pause();
      this.show(Number(this.slider.value));
    });
    this.end.hidden = true;
  }

  reset(graph: Graph): void {
    this.pause();
    this.graph = graph;
    this.active = false;
    this.end.hidden = true;
    this.slider.max = String(graph.count);
    this.slider.value = String(graph.count);
    this.rest();
  }

  private rest(): void {
    const count = this.graph?.count ?? 0;
    this.text.textContent = `${count.toLocaleString("en")} ${this.graph?.view === "backward" ? "steps" : "ops"}, in the order they ran`;
  }

  get position(): number {
    return Number(this.slider.value);
  }

  toggle(): void {
    if (this.timer !== 0) return this.pause();
    const graph = this.graph;
    if (graph === null || graph.count === 0) return;
    if (!this.active || this.position >= graph.count) this.show(0);
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", "pause");
    const seconds = Math.max(2, Math.min(20, graph.count * 0.15));
    let before = performance.now();
    let exact = this.position;
    const tick = (now: number): void => {
      exact += ((now - before) / 1000) * (graph.count / seconds);
      before = now;
      const next = Math.min(graph.count, Math.floor(exact));
      if (next !== this.position) this.show(next);
      if (next >= graph.count) this.pause();
      else this.timer = requestAnimationFrame(tick);
    };
    this.timer = requestAnimationFrame(tick);
  }

  pause(): void {
    cancelAnimationFrame(this.timer);
    this.timer = 0;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", "play");
  }

  step(by: number): void {
    if (this.graph === null) return;
    this.pause();
    this.show(Math.max(0, Math.min(this.graph.count, this.position + by)));
  }

  stop(): void {
    if (!this.active) return;
    this.pause();
    this.active = false;
    this.end.hidden = true;
    this.slider.value = this.slider.max;
    this.view.replay(null, false);
    this.rest();
    this.moved(null);
  }

  show(count: number): void {
    const graph = this.graph!;
    this.active = true;
    this.end.hidden = false;
    this.slider.value = String(count);
    this.view.replay(count, true);
    const item = graph.items[count - 1];
    if (item === undefined) this.text.textContent = `0 / ${graph.count}: nothing has been recorded yet`;
    else {
      const { trace } = graph;
      const frame = trace.nodes[item.node]?.frame ?? -1;
      const place = placeOf(trace, frame);
      const next = graph.items[count]?.node ?? trace.nodes.length;
      const reads =
        item.kind === "step"
          ? []
          : trace.reads.filter((read) => read.after > item.node && read.after <= next);
      replace(
        this.text,
        h("span", { class: "muted" }, `${count.toLocaleString("en")} / ${graph.count.toLocaleString("en")} `),
        h("strong", {}, item.label),
        h("span", { class: "muted" }, ` ${placeText(place)} `),
        h("code", {}, sourceLine(trace, place)),
        ...reads.map((read) =>
          h("span", { class: "read" }, ` ◆ → ${read.value} at ${placeText(placeOf(trace, read.frame))}`),
        ),
      );
    }
    this.moved(count - 1);
  }
}
