/** The page's data, as docs/trace-format.md defines it, with every default filled in. */

export type NodeKind = "op" | "cell" | "parameter" | "input" | "constant" | "decision";

export interface Place {
  file: string;
  line: number;
  function: string;
}
export interface Frame {
  place: number;
  caller: number;
}
export interface ModuleCall {
  path: string;
  kind: string;
  parent: number;
  frame: number;
}
export interface Statistics {
  count: number;
  minimum: number | null;
  maximum: number | null;
  mean: number | null;
  deviation: number | null;
  nans: number;
  infinities: number;
  zeros: number;
  histogram: number[];
  values: number[] | null;
}
export interface Result {
  shape: number[];
  dtype: string;
  bytes: number;
  value: Statistics | null;
  gradient: Statistics | null;
}
export interface Input {
  node: number;
  output: number;
  number: number | null;
  name: string;
}
export interface TraceNode {
  op: string;
  kind: NodeKind;
  inputs: Input[];
  results: Result[];
  attributes: Record<string, string>;
  frame: number;
  module: number;
  start: number;
  seconds: number;
  example: number;
  name: string;
  saved: number;
  sequence: number;
  phase: "forward" | "backward";
}
export interface Read {
  kind: string;
  value: string;
  node: number;
  output: number;
  frame: number;
  module: number;
  after: number;
  example: number;
}
export interface Batch {
  op: string;
  nodes: number[];
  bytes_copied: number;
  seconds: number;
  start: number;
  place: number;
  note: string;
}
export interface Plan {
  batches: Batch[];
  seconds: number;
  seconds_planning: number;
  start: number;
  place: number;
}
export interface BackwardStep {
  name: string;
  nodes: number[];
  seconds: number;
  start: number;
  rows: number;
  incoming: (Statistics | null)[];
  outgoing: (Statistics | null)[];
}
export interface Backward {
  steps: BackwardStep[];
  seconds: number;
  start: number;
  place: number;
}
export interface Failure {
  kind: string;
  message: string;
  frame: number;
  after: number;
}
export interface Trace {
  title: string;
  places: Place[];
  frames: Frame[];
  modules: ModuleCall[];
  nodes: TraceNode[];
  outputs: Input[];
  reads: Read[];
  plans: Plan[];
  backwards: Backward[];
  failure: Failure | null;
  sources: Record<string, Record<string, string>>;
  seconds: number;
}

export type GroupKind = "module" | "function" | "loop" | "iteration" | "part";
export interface Group {
  kind: GroupKind;
  label: string;
  parent: number;
  frame: number;
  count: number;
}
export interface Link {
  source: number;
  target: number;
  label: string;
}
export interface PageGraph {
  title: string;
  trace: Trace;
  groups: Group[];
  group_of: number[];
  links: Link[];
  sides: number[][] | null;
}
export interface Series {
  name: string;
  unit: string;
  points: [number, number][];
}
export type ChangeKind =
  "branch" | "loop" | "only-left" | "only-right" | "shape" | "bytes" | "value" | "time";
export interface Change {
  kind: ChangeKind;
  text: string;
  left: number[];
  right: number[];
}
export interface Diff {
  left: number;
  right: number;
  summary: string[];
  pairs: [number, number][];
  changes: Change[];
}
export interface Page {
  title: string;
  graphs: PageGraph[];
  diff: Diff | null;
  series: Series[];
  live: boolean;
}

/** Leaves that stand as a chip on whoever reads them, never as a box of the layout. */
export function isChip(node: TraceNode): boolean {
  return node.kind === "parameter" || node.kind === "constant";
}

export function placeOf(trace: Trace, frame: number): Place | null {
  const entry = trace.frames[frame];
  return entry === undefined ? null : (trace.places[entry.place] ?? null);
}

/** "model.py:12": the short name of a place. */
export function placeText(place: Place | null): string {
  return place === null ? "" : `${place.file.split("/").pop() ?? place.file}:${place.line}`;
}

export function sourceLine(trace: Trace, place: Place | null): string {
  return place === null ? "" : (trace.sources[place.file]?.[String(place.line)] ?? "").trim();
}
