/** Curves over the steps of a training loop. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h } from "./dom";
import { numberText, secondsText } from "./format";
import { SANS } from "./measure";
import type { Series } from "./model";
import type { Theme } from "./theme";

class Curve {
  readonly element = h("figure", { class: "curve" });
  private plot: uPlot | null = null;
  private readonly host = h("div", { class: "plot" });
  private readonly caption = h("figcaption");

  constructor(
    private series: Series,
    private readonly height: number,
    private theme: Theme,
    private readonly colour: number,
  ) {
    this.element.append(this.caption, this.host);
    new ResizeObserver(() => {
      const width = this.host.clientWidth;
      if (width < 40) return;
      if (this.plot === null) this.make(width);
      else if (Math.abs(this.plot.width - width) > 1) this.plot.setSize({ width, height: this.height });
    }).observe(this.host);
    this.describe();
  }

  get name(): string {
    return this.series.name;
  }

  private data(): uPlot.AlignedData {
    return [
      this.series.points.map((point) => point[0]),
      this.series.points.map((point) => (Number.isFinite(point[1]) ? point[1] : null)),
    ];
  }

  private text(value: number | null): string {
    if (value === null) return "–";
    return this.series.unit === "s"
      ? secondsText(value)
      : `${numberText(value)}${this.series.unit === "" ? "" : ` ${this.series.unit}`}`;
  }

  private describe(): void {
    const last = this.series.points.at(-1);
    this.caption.replaceChildren(
      h("strong", {}, this.series.name),
      h(
        "span",
        { class: "muted" },
        last === undefined ? " no points yet" : ` ${this.text(last[1])} at step ${last[0]}`,
      ),
    );
    this.host.setAttribute("role", "img");
    const values = this.series.points.map((point) => point[1]).filter(Number.isFinite);
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    this.host.setAttribute(
      "aria-label",
      `${this.series.name}: ${values.length} points from ${this.text(low)} to ${this.text(high)}`,
    );
  }

  private make(width: number): void {
    const { theme } = this;
    const axis = {
      stroke: theme.muted,
      font: `11px ${SANS}`,
      grid: { stroke: theme.border, width: 1 },
      ticks: { show: false },
      gap: 4,
    };
    this.plot = new uPlot(
      {
        width,
        height: this.height,
        legend: { show: this.height > 150 },
        cursor: { points: { size: 7 } },
        scales: { x: { time: false } },
        series: [
          { label: "step" },
          {
            label: this.series.name,
            stroke: theme.marks[this.colour % theme.marks.length]!,
            width: 1.6,
            points: { show: this.series.points.length < 3 },
            value: (_, value) => this.text(value),
          },
        ],
        axes: [
          { ...axis, size: 26 },
          { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => this.text(tick)) },
        ],
      },
      this.data(),
      this.host,
    );
  }

  update(series: Series): void {
    this.series = series;
    this.plot?.setData(this.data());
    this.describe();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.plot?.destroy();
    this.plot = null;
    if (this.host.clientWidth > 40) this.make(this.host.clientWidth);
  }
}

export class Curves {
  readonly element: HTMLElement;
  private curves: Curve[] = [];

  constructor(
    private readonly height: number,
    private theme: Theme,
    label: string,
  ) {
    this.element = h("div", { class: "curves", role: "group", "aria-label": label });
  }

  show(all: Series[]): void {
    if (all.length === this.curves.length && all.every((one, at) => one.name === this.curves[at]!.name)) {
      all.forEach((one, at) => this.curves[at]!.update(one));
      return;
    }
    this.curves = all.map((one, at) => new Curve(one, this.height, this.theme, at));
    this.element.replaceChildren(...this.curves.map((curve) => curve.element));
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    for (const curve of this.curves) curve.setTheme(theme);
  }
}
