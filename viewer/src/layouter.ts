/** The page's side of the layout worker: the newest task is worked on, an older one is given up. */

import { type LayoutAnswer, type LayoutTask, layoutTree, type LevelPlaces, type LevelTask } from "./layout";
import LayoutWorker from "./layout.worker?worker&inline";

export class Layouter {
  private worker: Worker | null = null;
  private busy = false;
  private id = 0;
  private done: ((answer: LayoutAnswer) => void) | null = null;
  /** Whether workers work here: a page inside of another may have none. */
  private worked: boolean | null = null;
  milliseconds = 0;

  /** Give the places of all boxes, or null if a newer task came in between. */
  async layout(root: LevelTask): Promise<LevelPlaces | null> {
    if (this.worked === false) return layoutTree(root);
    if (this.busy) {
      // The worker cannot be asked to stop, so it is replaced.
      this.worker?.terminate();
      this.worker = null;
      this.done?.({ id: -1, root: null, milliseconds: 0, error: "" });
    }
    try {
      this.worker ??= this.start();
    } catch {
      this.worked = false;
      return layoutTree(root);
    }
    const { worker } = this;
    const task: LayoutTask = { id: ++this.id, root };
    this.busy = true;
    const answer = await new Promise<LayoutAnswer>((resolve) => {
      this.done = resolve;
      worker.postMessage(task);
    });
    if (answer.id !== this.id) return null;
    this.busy = false;
    this.milliseconds = answer.milliseconds;
    if (answer.error !== "" && this.worked !== true) {
      this.worked = false;
      return layoutTree(root);
    }
    this.worked = true;
    if (answer.error !== "") throw new Error(`the layout failed: ${answer.error}`);
    return answer.root;
  }

  private start(): Worker {
    const worker = new LayoutWorker();
    worker.onmessage = (event: MessageEvent<LayoutAnswer>) => this.done?.(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.done?.({
        id: this.id,
        root: null,
        milliseconds: 0,
        error: event.message || "the worker did not start",
      });
    };
    return worker;
  }

  stop(): void {
    this.worker?.terminate();
    this.worker = null;
    this.busy = false;
  }
}
