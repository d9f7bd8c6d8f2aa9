/** Elements without markup in strings: nothing from a trace is ever parsed as HTML. */

type Child = Node | string | null | undefined | false;
type Handler = (event: never) => void;
type Props = Record<string, string | number | boolean | Handler | null | undefined>;

/** Make an element: `on...` are listeners, `class` and the rest attributes, children nodes or text. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((one): one is Node | string => !!one));
}

/** A button that looks like a link, for going to a node. */
export function link(text: string, onclick: () => void, title = ""): HTMLButtonElement {
  return h("button", { class: "link", type: "button", title: title || null, onclick }, text);
}
