/** Read a page or a trace from JSON: check it, fill in defaults, or say in one sentence what is wrong. */

import type {
  Backward,
  BackwardStep,
  Batch,
  Change,
  Diff,
  Failure,
  Frame,
  Group,
  Input,
  Link,
  ModuleCall,
  Page,
  PageGraph,
  Place,
  Plan,
  Read,
  Result,
  Series,
  Statistics,
  Trace,
  TraceNode,
} from "./model";

export const MOST_NODES = 250_000;
export const MOST_CHARACTERS = 400_000_000;
const VERSION = 1;

/** What the page says instead of a graph. */
export class ReadError extends Error {}

type Json = Record<string, unknown>;

function fail(message: string): never {
  throw new ReadError(message);
}

function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `${typeof value} ${JSON.stringify(value)}`;
}

function object(value: unknown, where: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    fail(`${where} should be an object, but it is ${describe(value)}.`);
  return value as Json;
}

function list(value: unknown, where: string): unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) fail(`${where} should be a list, but it is ${describe(value)}.`);
  return value;
}

function text(value: unknown, where: string, standard = ""): string {
  if (value === undefined || value === null) return standard;
  if (typeof value !== "string") fail(`${where} should be text, but it is ${describe(value)}.`);
  return value;
}

const SPECIAL: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

function number(value: unknown, where: string, standard = 0): number {
  if (typeof value === "number") return value;
  if (value === undefined) return standard;
  if (typeof value === "string" && value in SPECIAL) return SPECIAL[value]!;
  if (typeof value === "boolean") return Number(value);
  fail(`${where} should be a number, but it is ${describe(value)}.`);
}

function numberOrNull(value: unknown, where: string): number | null {
  return value === undefined || value === null ? null : number(value, where);
}

function numbers(value: unknown, where: string): number[] {
  const values = list(value, where);
  return values.map((one) => (typeof one === "number" ? one : number(one, where)));
}

/** A place in a list of `count` things; -1 is none. */
function index(value: unknown, where: string, count: number, standard = -1): number {
  const at = number(value, where, standard);
  if (!Number.isInteger(at) || at < -1 || at >= count)
    fail(`${where} is ${at}, but there are ${count} of them.`);
  return at;
}

function indexes(value: unknown, where: string, count: number): number[] {
  return list(value, where).map((one) => {
    const at = index(one, where, count);
    if (at < 0) fail(`${where} has -1 in it.`);
    return at;
  });
}

function statistics(value: unknown, where: string): Statistics | null {
  if (value === undefined || value === null) return null;
  const it = object(value, where);
  return {
    count: number(it.count, `${where}.count`),
    minimum: numberOrNull(it.minimum, `${where}.minimum`),
    maximum: numberOrNull(it.maximum, `${where}.maximum`),
    mean: numberOrNull(it.mean, `${where}.mean`),
    deviation: numberOrNull(it.deviation, `${where}.deviation`),
    nans: number(it.nans, `${where}.nans`),
    infinities: number(it.infinities, `${where}.infinities`),
    zeros: number(it.zeros, `${where}.zeros`),
    histogram: numbers(it.histogram, `${where}.histogram`),
    values: it.values === undefined || it.values === null ? null : numbers(it.values, `${where}.values`),
  };
}

function result(value: unknown, where: string): Result {
  const it = object(value, where);
  return {
    shape: numbers(it.shape, `${where}.shape`),
    dtype: text(it.dtype, `${where}.dtype`),
    bytes: number(it.bytes, `${where}.bytes`),
    value: statistics(it.value, `${where}.value`),
    gradient: statistics(it.gradient, `${where}.gradient`),
  };
}

function input(value: unknown, where: string, count: number): Input {
  const it = object(value, where);
  return {
    node: index(it.node, `${where}.node`, count),
    output: number(it.output, `${where}.output`),
    number: numberOrNull(it.number, `${where}.number`),
    name: text(it.name, `${where}.name`),
  };
}

function attributes(value: unknown, where: string): Record<string, string> {
  const all: Record<string, string> = {};
  if (value === undefined) return all;
  for (const [name, one] of Object.entries(object(value, where)))
    all[name] = typeof one === "string" ? one : JSON.stringify(one);
  return all;
}

function node(value: unknown, where: string, counts: Counts): TraceNode {
  const it = object(value, where);
  return {
    op: text(it.op, `${where}.op`, "?"),
    kind: text(it.kind, `${where}.kind`, "op") as TraceNode["kind"],
    inputs: list(it.inputs, `${where}.inputs`).map((one, at) =>
      input(one, `${where}.inputs[${at}]`, counts.nodes),
    ),
    results: list(it.results, `${where}.results`).map((one, at) => result(one, `${where}.results[${at}]`)),
    attributes: attributes(it.attributes, `${where}.attributes`),
    frame: index(it.frame, `${where}.frame`, counts.frames),
    module: index(it.module, `${where}.module`, counts.modules),
    start: number(it.start, `${where}.start`),
    seconds: number(it.seconds, `${where}.seconds`),
    example: number(it.example, `${where}.example`, -1),
    name: text(it.name, `${where}.name`),
    saved: number(it.saved, `${where}.saved`),
    sequence: number(it.sequence, `${where}.sequence`),
    phase: it.phase === "backward" ? "backward" : "forward",
  };
}

interface Counts {
  places: number;
  frames: number;
  modules: number;
  nodes: number;
}

function read(value: unknown, where: string, counts: Counts): Read {
  const it = object(value, where);
  return {
    kind: text(it.kind, `${where}.kind`),
    value: text(it.value, `${where}.value`),
    node: index(it.node, `${where}.node`, counts.nodes),
    output: number(it.output, `${where}.output`),
    frame: index(it.frame, `${where}.frame`, counts.frames),
    module: index(it.module, `${where}.module`, counts.modules),
    after: number(it.after, `${where}.after`),
    example: number(it.example, `${where}.example`, -1),
  };
}

function batch(value: unknown, where: string, counts: Counts): Batch {
  const it = object(value, where);
  return {
    op: text(it.op, `${where}.op`, "?"),
    nodes: indexes(it.nodes, `${where}.nodes`, counts.nodes),
    bytes_copied: number(it.bytes_copied, `${where}.bytes_copied`),
    seconds: number(it.seconds, `${where}.seconds`),
    start: number(it.start, `${where}.start`),
    place: index(it.place, `${where}.place`, counts.places),
    note: text(it.note, `${where}.note`),
  };
}

function step(value: unknown, where: string, counts: Counts): BackwardStep {
  const it = object(value, where);
  const facts = (key: "incoming" | "outgoing"): (Statistics | null)[] =>
    list(it[key], `${where}.${key}`).map((one) => statistics(one, `${where}.${key}`));
  return {
    name: text(it.name, `${where}.name`, "?"),
    nodes: indexes(it.nodes, `${where}.nodes`, counts.nodes),
    seconds: number(it.seconds, `${where}.seconds`),
    start: number(it.start, `${where}.start`),
    rows: number(it.rows, `${where}.rows`, 1),
    incoming: facts("incoming"),
    outgoing: facts("outgoing"),
  };
}

function sources(value: unknown): Trace["sources"] {
  if (value === undefined) return {};
  for (const [file, lines] of Object.entries(object(value, "sources")))
    for (const one of Object.values(object(lines, `sources[${file}]`)))
      if (typeof one !== "string") fail(`sources[${file}] has a line that is ${describe(one)}.`);
  return value as Trace["sources"];
}

function trace(value: unknown, where: string): Trace {
  const it = object(value, where);
  checkVersion(it, where);
  const places = list(it.places, `${where}.places`);
  const frames = list(it.frames, `${where}.frames`);
  const modules = list(it.modules, `${where}.modules`);
  const nodes = list(it.nodes, `${where}.nodes`);
  if (nodes.length > MOST_NODES)
    fail(
      `${where} has ${nodes.length.toLocaleString("en")} nodes, and the page shows at most ` +
        `${MOST_NODES.toLocaleString("en")}: trace fewer steps, or a smaller part of the program.`,
    );
  const counts: Counts = {
    places: places.length,
    frames: frames.length,
    modules: modules.length,
    nodes: nodes.length,
  };
  const failure = (): Failure | null => {
    if (it.failure === undefined || it.failure === null) return null;
    const one = object(it.failure, `${where}.failure`);
    return {
      kind: text(one.kind, `${where}.failure.kind`),
      message: text(one.message, `${where}.failure.message`),
      frame: index(one.frame, `${where}.failure.frame`, counts.frames),
      after: number(one.after, `${where}.failure.after`, counts.nodes),
    };
  };
  return {
    title: text(it.title, `${where}.title`),
    places: places.map((value, at): Place => {
      const one = object(value, `${where}.places[${at}]`);
      return {
        file: text(one.file, "file"),
        line: number(one.line, "line"),
        function: text(one.function, "function"),
      };
    }),
    frames: frames.map((value, at): Frame => {
      const one = object(value, `${where}.frames[${at}]`);
      return {
        place: index(one.place, `${where}.frames[${at}].place`, counts.places),
        caller: index(one.caller, `${where}.frames[${at}].caller`, counts.frames),
      };
    }),
    modules: modules.map((value, at): ModuleCall => {
      const one = object(value, `${where}.modules[${at}]`);
      return {
        path: text(one.path, "path"),
        kind: text(one.kind, "kind"),
        parent: index(one.parent, `${where}.modules[${at}].parent`, at),
        frame: index(one.frame, `${where}.modules[${at}].frame`, counts.frames),
      };
    }),
    nodes: nodes.map((one, at) => node(one, `${where}.nodes[${at}]`, counts)),
    outputs: list(it.outputs, `${where}.outputs`).map((one, at) =>
      input(one, `${where}.outputs[${at}]`, counts.nodes),
    ),
    reads: list(it.reads, `${where}.reads`).map((one, at) => read(one, `${where}.reads[${at}]`, counts)),
    plans: list(it.plans, `${where}.plans`).map((value, at): Plan => {
      const one = object(value, `${where}.plans[${at}]`);
      return {
        batches: list(one.batches, "batches").map((each, k) =>
          batch(each, `${where}.plans[${at}].batches[${k}]`, counts),
        ),
        seconds: number(one.seconds, "seconds"),
        seconds_planning: number(one.seconds_planning, "seconds_planning"),
        start: number(one.start, "start"),
        place: index(one.place, `${where}.plans[${at}].place`, counts.places),
      };
    }),
    backwards: list(it.backwards, `${where}.backwards`).map((value, at): Backward => {
      const one = object(value, `${where}.backwards[${at}]`);
      return {
        steps: list(one.steps, "steps").map((each, k) =>
          step(each, `${where}.backwards[${at}].steps[${k}]`, counts),
        ),
        seconds: number(one.seconds, "seconds"),
        start: number(one.start, "start"),
        place: index(one.place, `${where}.backwards[${at}].place`, counts.places),
      };
    }),
    failure: failure(),
    sources: sources(it.sources),
    seconds: number(it.seconds, `${where}.seconds`),
  };
}

function checkVersion(it: Json, where: string): void {
  if (it.version !== undefined && it.version !== VERSION)
    fail(
      `${where} has version ${JSON.stringify(it.version)} of the format, and this page reads version ` +
        `${VERSION}: make the page again with the Weft that wrote the file.`,
    );
}

/** Fold by module where a trace comes without groups: one group for each call. */
function groupsOfModules(it: Trace): { groups: Group[]; group_of: number[] } {
  return {
    groups: it.modules.map((call) => ({
      kind: "module",
      label: call.path === "" ? call.kind : `${call.path} (${call.kind})`,
      parent: call.parent,
      frame: call.frame,
      count: 1,
    })),
    group_of: it.nodes.map((one) => one.module),
  };
}

export function readGraph(value: unknown, where: string): PageGraph {
  const it = object(value, where);
  const one = trace(it.trace, `${where}.trace`);
  const count = one.nodes.length;
  let folded = groupsOfModules(one);
  if (it.groups !== undefined) {
    const groups = list(it.groups, `${where}.groups`).map((value, at): Group => {
      const group = object(value, `${where}.groups[${at}]`);
      return {
        kind: text(group.kind, "kind", "function") as Group["kind"],
        label: text(group.label, `${where}.groups[${at}].label`),
        // A parent stands before its children, so that there can be no circles.
        parent: index(group.parent, `${where}.groups[${at}].parent`, at),
        frame: index(group.frame, `${where}.groups[${at}].frame`, one.frames.length),
        count: number(group.count, `${where}.groups[${at}].count`, 1),
      };
    });
    const group_of = list(it.group_of, `${where}.group_of`).map((value, at) =>
      index(value, `${where}.group_of[${at}]`, groups.length),
    );
    if (group_of.length !== count)
      fail(`${where}.group_of has ${group_of.length} entries for ${count} nodes.`);
    folded = { groups, group_of };
  }
  const sides = it.sides === undefined || it.sides === null ? null : list(it.sides, `${where}.sides`);
  if (sides !== null && sides.length !== count)
    fail(`${where}.sides has ${sides.length} entries for ${count} nodes.`);
  return {
    title: text(it.title, `${where}.title`, one.title || "graph"),
    trace: one,
    ...folded,
    links: list(it.links, `${where}.links`).map((value, at): Link => {
      const link = object(value, `${where}.links[${at}]`);
      return {
        source: index(link.source, `${where}.links[${at}].source`, count),
        target: index(link.target, `${where}.links[${at}].target`, count),
        label: text(link.label, "label"),
      };
    }),
    sides: sides === null ? null : sides.map((one, at) => numbers(one, `${where}.sides[${at}]`)),
  };
}

export function readSeries(value: unknown, where = "series"): Series[] {
  return list(value, where).map((value, at) => {
    const one = object(value, `${where}[${at}]`);
    return {
      name: text(one.name, `${where}[${at}].name`),
      unit: text(one.unit, `${where}[${at}].unit`),
      points: list(one.points, `${where}[${at}].points`).map((point): [number, number] => {
        const pair = numbers(point, `${where}[${at}].points`);
        if (pair.length !== 2) fail(`${where}[${at}].points has a point that is not [step, value].`);
        return [pair[0]!, pair[1]!];
      }),
    };
  });
}

function readDiff(value: unknown, graphs: PageGraph[]): Diff | null {
  if (value === undefined || value === null) return null;
  const it = object(value, "diff");
  const left = index(it.left, "diff.left", graphs.length, 0);
  const right = index(it.right, "diff.right", graphs.length, 1);
  if (left < 0 || right < 0) fail("diff.left and diff.right should each name a graph of the page.");
  const counts = [graphs[left]!.trace.nodes.length, graphs[right]!.trace.nodes.length] as const;
  return {
    left,
    right,
    summary: list(it.summary, "diff.summary").map((one) => text(one, "diff.summary")),
    pairs: list(it.pairs, "diff.pairs").map((value): [number, number] => {
      const pair = list(value, "diff.pairs");
      return [index(pair[0], "diff.pairs", counts[0]), index(pair[1], "diff.pairs", counts[1])];
    }),
    changes: list(it.changes, "diff.changes").map((value, at): Change => {
      const one = object(value, `diff.changes[${at}]`);
      return {
        kind: text(one.kind, `diff.changes[${at}].kind`) as Change["kind"],
        text: text(one.text, `diff.changes[${at}].text`),
        left: indexes(one.left, `diff.changes[${at}].left`, counts[0]),
        right: indexes(one.right, `diff.changes[${at}].right`, counts[1]),
      };
    }),
  };
}

/** Read a page, or a trace alone, from what JSON gave. */
export function readPage(value: unknown): Page {
  if (value === null || value === undefined)
    fail("There is no graph in this page yet. Drop a .json file of Weft here, or open one.");
  const it = object(value, "The file");
  if (it.format === "weft-trace") {
    const graph = readGraph({ trace: it }, "trace");
    return { title: graph.title, graphs: [graph], diff: null, series: [], live: false };
  }
  if (it.format !== "weft-page")
    fail(
      `This is JSON, but neither a page nor a trace of Weft: its "format" is ${describe(it.format)} ` +
        'instead of "weft-page" or "weft-trace".',
    );
  checkVersion(it, "The page");
  const graphs = list(it.graphs, "graphs").map((one, at) => readGraph(one, `graphs[${at}]`));
  const series = readSeries(it.series);
  const live = it.live === true;
  if (graphs.length === 0 && series.length === 0 && !live)
    fail("This page has no graphs and no curves in it.");
  return { title: text(it.title, "title", "Weft"), graphs, diff: readDiff(it.diff, graphs), series, live };
}

/** Read a page from text. */
export function readText(content: string): Page {
  if (content.length > MOST_CHARACTERS)
    fail(
      `The file has ${(content.length / 1e6).toFixed(0)} million characters, and the page reads at most ` +
        `${MOST_CHARACTERS / 1e6} million: trace fewer steps.`,
    );
  if (content.trim() === "") fail("The file is empty.");
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    fail(`The file is not JSON, or not all of it arrived: ${(error as Error).message}.`);
  }
  return readPage(value);
}
