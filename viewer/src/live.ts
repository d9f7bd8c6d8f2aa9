/** The socket of a page that is open while the program runs. */

import type { PageGraph, Series } from "./model";
import { ReadError, readGraph, readSeries } from "./read";

export type LiveState = "connecting" | "live" | "waiting" | "ended";

export interface LiveEvents {
  graph(graph: PageGraph): void;
  series(series: Series[]): void;
  state(state: LiveState, text: string): void;
}

const LONGEST_WAIT = 15_000;

export class Live {
  private wait = 500;
  private ended = false;
  private last = 0; // the number of the last graph that came
  private socket: WebSocket | null = null;

  constructor(private readonly events: LiveEvents) {
    this.connect();
  }

  private connect(): void {
    this.events.state("connecting", "connecting");
    // The token of the address travels along.
    const address = new URL(`./live${location.search}`, location.href);
    // Who comes back says what is there already.
    if (this.last > 0) address.searchParams.set("after", String(this.last));
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    try {
      this.socket = new WebSocket(address);
    } catch {
      this.events.state("ended", "This page is not served: nothing more will come.");
      return;
    }
    this.socket.onopen = () => {
      this.wait = 500;
      this.events.state("live", "live");
    };
    this.socket.onmessage = (event) => this.receive(String(event.data));
    this.socket.onclose = () => this.closed();
  }

  private closed(): void {
    if (this.ended) return;
    this.events.state("waiting", `not connected; trying again in ${Math.round(this.wait / 1000) || 1} s`);
    setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
  }

  private receive(data: string): void {
    try {
      const message = JSON.parse(data) as {
        kind?: unknown;
        number?: unknown;
        graph?: unknown;
        series?: unknown;
        text?: unknown;
      };
      if (typeof message.number === "number") this.last = message.number;
      if (message.kind === "graph") this.events.graph(readGraph(message.graph, "graph"));
      else if (message.kind === "series") this.events.series(readSeries(message.series));
      else if (message.kind === "status") this.events.state("live", String(message.text ?? ""));
      else if (message.kind === "end") {
        this.ended = true;
        this.events.state("ended", String(message.text ?? "the program has ended"));
        this.socket?.close();
      }
    } catch (error) {
      if (!(error instanceof ReadError) && !(error instanceof SyntaxError)) throw error;
      this.events.state("live", `a message could not be read: ${error.message}`);
    }
  }
}
