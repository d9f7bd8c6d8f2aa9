/** Read the page's JSON and show it, or say what is wrong with it. */

import "./style.css";
import { App } from "./app";
import { h, replace } from "./dom";
import { inspect } from "./inspect";
import type { Page } from "./model";
import { MOST_CHARACTERS, ReadError, readPage, readText } from "./read";
import { Themes } from "./theme";

const root = document.getElementById("app")!;
const themes = new Themes();
let app: App | null = null;

function showMessage(title: string, text: string): void {
  const file = h("input", {
    type: "file",
    accept: ".json,.html,application/json",
    "aria-label": "file to open",
  });
  file.addEventListener("change", () => {
    if (file.files?.[0]) void openFile(file.files[0]);
  });
  const box = h(
    "div",
    { class: "message-page", role: "alert" },
    h("h1", {}, h("span", { class: "logo" }, "≋ "), title),
    h("p", {}, text),
    file,
  );
  if (app === null) replace(root, h("main", { class: "message-whole" }, box));
  else {
    // A graph is open: keep it, and say above it what was wrong with the file.
    const dialog = h(
      "dialog",
      { class: "help", "aria-label": title },
      h("h2", {}, title),
      h("p", {}, text),
      h("form", { method: "dialog" }, h("button", { class: "plain" }, "Close")),
    );
    dialog.addEventListener("close", () => dialog.remove());
    root.append(dialog);
    dialog.showModal();
  }
}

function show(make: () => Page): void {
  try {
    const page = make();
    app?.stop();
    app = new App(root, page, themes, (file) => void openFile(file));
    inspect(app);
  } catch (error) {
    if (error instanceof ReadError) showMessage("Nothing to show", error.message);
    else {
      console.warn(error);
      showMessage("The page could not be shown", error instanceof Error ? error.message : String(error));
    }
  }
}

/** The JSON inside of a page that was exported as HTML. */
function insideOf(text: string): string {
  if (!text.trimStart().startsWith("<")) return text;
  const element = new DOMParser().parseFromString(text, "text/html").getElementById("weft-page");
  if (element === null) throw new ReadError("This HTML file is not a page of Weft.");
  return element.textContent ?? "";
}

async function openFile(file: File): Promise<void> {
  if (file.size > MOST_CHARACTERS) {
    showMessage(
      "Nothing to show",
      `${file.name} has ${(file.size / 1e6).toFixed(0)} MB, and the page reads at most ${MOST_CHARACTERS / 1e6} MB: trace fewer steps.`,
    );
    return;
  }
  const text = await file.text();
  show(() => readText(insideOf(text)));
}

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  if (file) void openFile(file);
});

show(() => {
  const text = document.getElementById("weft-page")?.textContent ?? "";
  return text.trim() === "null" || text.trim() === "" ? readPage(null) : readText(text);
});
