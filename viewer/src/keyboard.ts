/** Keys and what they do: one list, for the handler and for the help. */

import { h } from "./dom";

export interface Command {
  keys: string[];
  /** How the keys are written in the help. */
  shown: string;
  text: string;
  run(): void;
}

/** Listen for keys until the signal says stop. */
export function listen(commands: () => Command[], signal: AbortSignal): void {
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("input:not([type=range]), select, textarea") !== null && event.key !== "Escape")
      return;
    const onButton = target.closest("button, summary, a, tr, input[type=range]") !== null;
    if (document.querySelector("dialog[open]") !== null && event.key !== "?") return;
    if (onButton && ["Enter", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key))
      return;
    const command = commands().find((one) => one.keys.includes(event.key));
    if (command === undefined) return;
    event.preventDefault();
    command.run();
  };
  document.addEventListener("keydown", pressed, { signal });
}

export class Help {
  readonly element: HTMLDialogElement;

  constructor(commands: () => Command[]) {
    this.element = h(
      "dialog",
      { class: "help", "aria-label": "keyboard" },
      h("h2", {}, "Keyboard"),
      h(
        "dl",
        {},
        ...commands()
          .filter((one) => one.shown !== "")
          .flatMap((one) => [
            h("dt", {}, ...one.shown.split(" ").map((key) => h("kbd", {}, key))),
            h("dd", {}, one.text),
          ]),
      ),
      h("h2", {}, "Mouse"),
      h(
        "dl",
        {},
        ...[
          ["click", "select a box, a chip, a portal; on ▸ open or close"],
          ["double click", "open or close a group"],
          ["drag, wheel", "pan, zoom; the small map moves too"],
          ["drop a file", "open a page or a trace (.json)"],
        ].flatMap(([name, text]) => [h("dt", {}, h("kbd", {}, name!)), h("dd", {}, text!)]),
      ),
      h("form", { method: "dialog" }, h("button", { class: "plain" }, "Close")),
    );
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  toggle(): void {
    if (this.element.open) this.element.close();
    else this.element.showModal();
  }
}
