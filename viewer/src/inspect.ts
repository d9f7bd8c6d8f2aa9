/** `window.weft`: what the page shows, to read and not to change. Tests and measurements use it. */

import type { App } from "./app";
import type { GraphView } from "./view";

function boxes(view: GraphView): object[] {
  const { graph, scene } = view;
  if (graph === null || scene === null) return [];
  return scene.boxes.map((box) => {
    const group = graph.isGroup(box.box) ? graph.groups[graph.groupAt(box.box)]! : null;
    return {
      box: box.box,
      label: graph.labelOf(box.box),
      kind: group?.kind ?? graph.items[box.box]!.kind,
      node: group === null ? graph.items[box.box]!.node : -1,
      parent: graph.parentOf(box.box),
      open: box.open,
      count: group?.count ?? 1,
      mark: view.colouring?.mark(box.box) ?? "",
      world: { x: box.x, y: box.y, width: box.width, height: box.height },
      ...view.rectangle(box.box),
    };
  });
}

function state(view: GraphView): object {
  const { graph } = view;
  return {
    ready: view.settled && view.scene !== null && graph !== null && view.scene.graph === graph,
    view: graph?.view ?? "",
    layouts: view.layouts,
    selected: view.selection,
    selectedNode:
      view.selection.chip >= 0
        ? view.selection.chip
        : graph !== null && view.selection.box >= 0 && !graph.isGroup(view.selection.box)
          ? graph.items[view.selection.box]!.node
          : -1,
    highlighted: view.highlighted,
    matches: view.matches,
    newest: view.newest,
    transform: { x: view.transform.x, y: view.transform.y, k: view.transform.k },
    edges:
      view.scene?.visible.wires.map((wire) => ({
        source: wire.source,
        target: wire.target,
        label: wire.label,
        count: wire.count,
        control: wire.control,
      })) ?? [],
    routes: view.scene?.segments.filter((one) => one.points.length > 0).map((one) => one.points) ?? [],
    portals: view.scene?.portals.length ?? 0,
    items: graph?.count ?? 0,
  };
}

export function inspect(app: App): void {
  const view = (side = -1): GraphView =>
    side >= 0 && app.diffTab !== null ? app.diffTab.views[side as 0 | 1] : app.activeView();
  Object.defineProperty(window, "weft", {
    configurable: true,
    value: Object.freeze({
      boxes: (side?: number) => boxes(view(side)),
      state: (side?: number) => state(view(side)),
      settled: () => [app.view, ...(app.diffTab?.views ?? [])].every((one) => one.settled),
      frames: () => [...app.view.frames],
      firstDrawn: () => app.view.firstDrawn,
    }),
  });
}
