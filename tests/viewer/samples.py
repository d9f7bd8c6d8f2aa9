"""Pages of known content, built by hand, for the tests of the viewer's page.

Each function gives one page as plain data (docs/trace-format.md), so that a test can compare what
is shown with what is in it.
"""

from __future__ import annotations

import math
import random
from typing import Any

Json = dict[str, Any]


def statistics(values: list[float], *, keep: bool) -> Json:
    """Facts about numbers, with a histogram, and the numbers themselves if they are to be kept."""
    finite = [value for value in values if math.isfinite(value)]
    facts: Json = {"count": len(values)}
    if finite:
        mean = sum(finite) / len(finite)
        facts["minimum"], facts["maximum"], facts["mean"] = min(finite), max(finite), mean
        variance = sum((value - mean) ** 2 for value in finite) / len(finite)
        facts["deviation"] = math.sqrt(variance)
        low, width = min(finite), (max(finite) - min(finite)) or 1.0
        bins = [0] * 16
        for value in finite:
            bins[min(15, int((value - low) / width * 16))] += 1
        facts["histogram"] = bins
    facts["nans"] = sum(math.isnan(value) for value in values)
    facts["infinities"] = sum(math.isinf(value) for value in values)
    facts["zeros"] = values.count(0.0)
    if keep:
        facts["values"] = [value if math.isfinite(value) else str(value) for value in values]
    return {name: value for name, value in facts.items() if value != 0 or name == "count"}


class Builder:
    """A graph in the making: places, frames, modules, groups and nodes, added one by one."""

    def __init__(self, title: str, source: str, file: str = "/home/user/model.py") -> None:
        self.title = title
        self.file = file
        self.lines = source.splitlines()
        self.random = random.Random(7)
        self.places: list[Json] = []
        self.frames: list[Json] = []
        self.modules: list[Json] = []
        self.nodes: list[Json] = []
        self.reads: list[Json] = []
        self.groups: list[Json] = []
        self.group_of: list[int] = []
        self.extra: Json = {}
        self.inside: list[int] = []
        self.calls: list[int] = []
        # Of very many nodes, those of one shape share their numbers.
        self.share = False
        self.shared: dict[int, Json] = {}

    def line_of(self, text: str) -> int:
        """The number of the first line that has this text."""
        return next(at for at, line in enumerate(self.lines, 1) if text in line)

    def place(self, text: str, function: str = "forward") -> int:
        entry = {"file": self.file, "line": self.line_of(text), "function": function}
        if entry not in self.places:
            self.places.append(entry)
        return self.places.index(entry)

    def frame(self, text: str, function: str = "forward", caller: int = -1) -> int:
        entry = {"place": self.place(text, function), "caller": caller}
        if entry not in self.frames:
            self.frames.append(entry)
        return self.frames.index(entry)

    def open(self, kind: str, label: str, frame: int = -1, count: int = 1) -> int:
        parent = self.inside[-1] if self.inside else -1
        self.groups.append(
            {"kind": kind, "label": label, "parent": parent, "frame": frame, "count": count}
        )
        self.inside.append(len(self.groups) - 1)
        return self.inside[-1]

    def close(self) -> None:
        self.inside.pop()

    def call(self, path: str, kind: str, frame: int = -1) -> None:
        parent = self.calls[-1] if self.calls else -1
        self.modules.append({"path": path, "kind": kind, "parent": parent, "frame": frame})
        self.calls.append(len(self.modules) - 1)
        self.open("module", f"{path} ({kind})" if path else kind, frame)

    def leave(self) -> None:
        self.calls.pop()
        self.close()

    def add(
        self,
        op: str,
        inputs: list[int | float] | None = None,
        shape: list[int] | None = None,
        line: str = "",
        *,
        values: list[float] | None = None,
        gradient: list[float] | None = None,
        detached: bool = False,
        **fields: Any,
    ) -> int:
        shape = [] if shape is None else shape
        size = math.prod(shape)
        keep = size <= 32
        result: Json = {"shape": shape, "dtype": "float32"}
        if fields.get("kind") != "decision":
            result["bytes"] = 4 * size
            if values is None and self.share and size in self.shared:
                result["value"] = self.shared[size]
            else:
                if values is None:
                    values = [self.random.gauss(0, 1) for _ in range(min(size, 400))]
                result["value"] = {**statistics(values, keep=keep), "count": size}
                self.shared[size] = result["value"]
        if gradient is not None:
            result["gradient"] = {**statistics(gradient, keep=keep), "count": size}
        node: Json = {
            "op": op,
            "inputs": [
                {"number": one} if isinstance(one, float) else {"node": one} for one in inputs or []
            ],
            "results": [result],
            "seconds": self.random.uniform(1e-6, 4e-5) * (1 + size / 4096),
            "start": len(self.nodes) * 1e-5,
            **fields,
        }
        if line:
            node["frame"] = self.frame(line)
        if self.calls:
            node["module"] = self.calls[-1]
        if node.get("kind", "op") != "op":
            del node["seconds"]
        self.nodes.append(node)
        self.group_of.append(self.inside[-1] if self.inside and not detached else -1)
        return len(self.nodes) - 1

    def parameter(self, name: str, shape: list[int]) -> int:
        few = 20 if self.share else 400
        gradient = [self.random.gauss(0, 0.1) for _ in range(min(few, math.prod(shape)))]
        return self.add(
            "parameter", [], shape, name=name, kind="parameter", detached=True, gradient=gradient
        )

    def input(self, name: str, shape: list[int], **fields: Any) -> int:
        return self.add("input", [], shape, name=name, kind="input", detached=True, **fields)

    def read(self, node: int, value: str, line: str, kind: str = "bool") -> None:
        self.reads.append(
            {
                "kind": kind,
                "value": value,
                "node": node,
                "frame": self.frame(line),
                "after": len(self.nodes),
            }
        )

    def trace(self) -> Json:
        return {
            "format": "weft-trace",
            "version": 1,
            "title": self.title,
            "places": self.places,
            "frames": self.frames,
            "modules": self.modules,
            "nodes": self.nodes,
            "reads": self.reads,
            "outputs": [{"node": len(self.nodes) - 1}] if self.nodes else [],
            "sources": {self.file: {str(at): line for at, line in enumerate(self.lines, 1)}},
            "seconds": sum(node.get("seconds", 0) for node in self.nodes),
            **self.extra,
        }

    def graph(self) -> Json:
        return {
            "title": self.title,
            "trace": self.trace(),
            "groups": self.groups,
            "group_of": self.group_of,
        }


def page(title: str, *graphs: Json, **fields: Any) -> Json:
    return {"format": "weft-page", "version": 1, "title": title, "graphs": list(graphs), **fields}


# ---- One example of a branch ---------------------------------------------------------------------

BRANCH = """\
import weft

def forward(x):
    h = x * 3.0
    if h.sum() > 0:
        y = h * 2.0
    else:
        y = h - 2.0
    return y.mean()
"""


def branch_graph(positive: bool) -> Json:
    """`if h.sum() > 0`, once with each answer."""
    sign = 1.0 if positive else -1.0
    build = Builder("positive" if positive else "negative", BRANCH)
    numbers = [sign * value for value in (1.0, -1.0, 2.0)]
    x = build.input("x", [3], values=numbers, gradient=[2.0, 2.0, 2.0])
    three = [3 * value for value in numbers]
    h = build.add("mul", [x, 3.0], [3], "h = x * 3.0", values=three, saved=12)
    total = build.add("sum", [h], [], "if h.sum() > 0", values=[sum(three)])
    test = build.add("gt", [total, 0.0], [], "if h.sum() > 0", values=[float(positive)])
    build.read(test, str(positive), "if h.sum() > 0")
    if positive:
        y = build.add("mul", [h, 2.0], [3], "y = h * 2.0", values=[2 * v for v in three])
    else:
        y = build.add("sub", [h, 2.0], [3], "y = h - 2.0", values=[v - 2 for v in three])
    build.add("mean", [y], [], "return y.mean()")
    return build.graph()


def branch() -> Json:
    return page("if and else", branch_graph(True))


# ---- An LSTM, unrolled ---------------------------------------------------------------------------

LSTM = """\
class Tagger(nn.Module):
    def forward(self, words):
        x = self.embedding(words)
        h, c = self.start()
        for t in range(len(words)):
            h, c = self.cell(x[t], (h, c))
        return self.output(h)

class Cell(nn.Module):
    def forward(self, x, state):
        h, c = state
        gates = self.ih(x) + self.hh(h)
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, c
"""


def lstm_graph(steps: int = 37, title: str = "") -> Json:
    """A loop of LSTM cells, folded to one box."""
    build = Builder(title or f"LSTM over {steps} words", LSTM)
    words = build.input("words", [steps])
    weights = {
        name: build.parameter(name, shape)
        for name, shape in {
            "embedding.weight": [5000, 64],
            "cell.ih.weight": [256, 64],
            "cell.ih.bias": [256],
            "cell.hh.weight": [256, 64],
            "output.weight": [9, 64],
            "output.bias": [9],
        }.items()
    }
    outer = build.frame("x = self.embedding(words)")
    build.call("", "Tagger")
    build.call("embedding", "Embedding", outer)
    x = build.add("embedding", [weights["embedding.weight"], words], [steps, 64], "self.embedding")
    build.leave()
    h = build.add("zeros", [], [64], "self.start()")
    c = build.add("zeros", [], [64], "self.start()")
    build.open("loop", "for t in range(len(words)):", build.frame("for t in range"), steps)
    for step in range(steps):
        build.open("iteration", str(step + 1), build.frame("self.cell(x[t]"))
        word = build.add("select", [x], [64], "self.cell(x[t]", attributes={"index": str(step)})
        build.call("cell", "LSTMCell", build.frame("self.cell(x[t]"))
        ih = build.add(
            "linear",
            [word, weights["cell.ih.weight"], weights["cell.ih.bias"]],
            [256],
            "gates = ",
            saved=256,
        )
        hh = build.add("linear", [h, weights["cell.hh.weight"]], [256], "gates = ", saved=256)
        gates = build.add("add", [ih, hh], [256], "gates = ")
        chunk = build.add("chunk", [gates], [64], ".chunk(4)", attributes={"chunks": "4"})
        i = build.add("sigmoid", [chunk], [64], "c = f.sigmoid()", saved=256)
        f = build.add("sigmoid", [chunk], [64], "c = f.sigmoid()", saved=256)
        g = build.add("tanh", [chunk], [64], "c = f.sigmoid()", saved=256)
        o = build.add("sigmoid", [chunk], [64], "h = o.sigmoid()", saved=256)
        kept = build.add("mul", [f, c], [64], "c = f.sigmoid()", saved=512)
        new = build.add("mul", [i, g], [64], "c = f.sigmoid()", saved=512)
        c = build.add("add", [kept, new], [64], "c = f.sigmoid()")
        out = build.add("tanh", [c], [64], "h = o.sigmoid()", saved=256)
        h = build.add("mul", [o, out], [64], "h = o.sigmoid()", saved=512)
        build.leave()
        build.close()
    build.close()
    build.call("output", "Linear", build.frame("return self.output(h)"))
    build.add(
        "linear", [h, weights["output.weight"], weights["output.bias"]], [9], "return self.output"
    )
    build.leave()
    build.leave()
    return build.graph()


def lstm() -> Json:
    return page("A tagger", lstm_graph())


# ---- A transformer -------------------------------------------------------------------------------

TRANSFORMER = """\
class Transformer(nn.Module):
    def forward(self, tokens, mask):
        x = self.embedding(tokens) + self.position
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))

class Block(nn.Module):
    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))

class Attention(nn.Module):
    def forward(self, x, mask):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-1, -2) / 8.0
        weights = (scores + mask).softmax(-1)
        return self.output(weights @ v)

class MLP(nn.Module):
    def forward(self, x):
        return self.down(self.up(x).gelu())

loss = F.cross_entropy(model(tokens, mask), targets)
loss.backward()
"""


def transformer_graph(blocks: int = 4, *, backward: bool = True, title: str = "") -> Json:
    """A tree of modules, with shared inputs, residual paths, and a backward."""
    build = Builder(title or f"transformer of {blocks} blocks", TRANSFORMER)
    build.share = blocks > 20
    tokens = build.input("tokens", [8, 32])
    mask = build.input("mask", [32, 32])
    wide = [8, 32, 64]

    def linear(path: str, x: int, rows: int, columns: int, shape: list[int], line: str) -> int:
        build.call(path, "Linear", build.frame(line))
        weight = build.parameter(f"{path}.weight", [rows, columns])
        bias = build.parameter(f"{path}.bias", [rows])
        size = 4 * math.prod(shape)
        made = build.add("linear", [x, weight, bias], shape, line, saved=size)
        build.leave()
        return made

    def norm(path: str, x: int, line: str) -> int:
        build.call(path, "LayerNorm", build.frame(line))
        weight = build.parameter(f"{path}.weight", [64])
        bias = build.parameter(f"{path}.bias", [64])
        made = build.add("layer_norm", [x, weight, bias], wide, line, saved=4 * math.prod(wide))
        build.leave()
        return made

    build.call("", "Transformer")
    build.call("embedding", "Embedding", build.frame("x = self.embedding"))
    table = build.parameter("embedding.weight", [1000, 64])
    x = build.add("embedding", [table, tokens], wide, "x = self.embedding")
    build.leave()
    x = build.add("add", [x, build.parameter("position", [32, 64])], wide, "x = self.embedding")
    for at in range(blocks):
        path = f"blocks.{at}"
        build.call(path, "Block", build.frame("x = block(x, mask)"))
        y = norm(f"{path}.norm1", x, "x = x + self.attention")
        build.call(f"{path}.attention", "Attention", build.frame("x = x + self.attention"))
        q, k, v = (
            linear(f"{path}.attention.{name}", y, 64, 64, wide, "q, k, v = ")
            for name in ("query", "key", "value")
        )
        turned = build.add(
            "transpose", [k], [8, 64, 32], "scores = q", attributes={"dim0": "-1", "dim1": "-2"}
        )
        scores = build.add("matmul", [q, turned], [8, 32, 32], "scores = q", saved=131072)
        scores = build.add("div", [scores, 8.0], [8, 32, 32], "scores = q")
        masked = build.add("add", [scores, mask], [8, 32, 32], "weights = (scores")
        weights = build.add(
            "softmax", [masked], [8, 32, 32], "weights = (scores", attributes={"dim": "-1"}
        )
        mixed = build.add("matmul", [weights, v], wide, "return self.output(weights", saved=131072)
        mixed = linear(f"{path}.attention.output", mixed, 64, 64, wide, "return self.output(w")
        build.leave()
        x = build.add("add", [x, mixed], wide, "x = x + self.attention")
        y = norm(f"{path}.norm2", x, "return x + self.mlp")
        build.call(f"{path}.mlp", "MLP", build.frame("return x + self.mlp"))
        y = linear(f"{path}.mlp.up", y, 256, 64, [8, 32, 256], "return self.down")
        y = build.add("gelu", [y], [8, 32, 256], "return self.down", saved=262144)
        y = linear(f"{path}.mlp.down", y, 64, 256, wide, "return self.down")
        build.leave()
        x = build.add("add", [x, y], wide, "return x + self.mlp")
        build.leave()
    x = norm("norm", x, "return self.head")
    x = linear("head", x, 1000, 64, [8, 32, 1000], "return self.head")
    build.leave()
    targets = build.input("targets", [8, 32])
    build.add("cross_entropy", [x, targets], [], "loss = F.cross_entropy", values=[6.91])
    if backward:
        build.extra["backwards"] = [backward_of(build, "loss.backward()")]
    return build.graph()


def backward_of(build: Builder, line: str) -> Json:
    """Steps for all ops, the youngest first."""
    steps: list[Json] = []
    for at in range(len(build.nodes) - 1, -1, -1):
        node = build.nodes[at]
        if node.get("kind", "op") != "op":
            continue
        shape = node["results"][0]["shape"]
        numbers = [build.random.gauss(0, 0.01) for _ in range(min(200, math.prod(shape)))]
        facts = {**statistics(numbers, keep=False), "count": math.prod(shape)}
        node["results"][0].setdefault("gradient", facts)
        name = "".join(part.capitalize() for part in node["op"].split("_")) + "Backward0"
        steps.append(
            {
                "name": name,
                "nodes": [at],
                "seconds": node["seconds"] * 2,
                "incoming": [facts],
                "outgoing": [facts],
            }
        )
    return {
        "steps": steps,
        "seconds": sum(step["seconds"] for step in steps),
        "place": build.place(line, "<module>"),
    }


def transformer(blocks: int = 4) -> Json:
    return page("A transformer", transformer_graph(blocks))


# ---- Many nodes ----------------------------------------------------------------------------------


def large(nodes: int = 10_000) -> Json:
    """A deep transformer of about this many nodes."""
    blocks = nodes // 31
    return page(f"{nodes:,} nodes", transformer_graph(blocks, backward=False, title="large"))


def flat(nodes: int = 2_000) -> Json:
    """Nodes without any groups: chains that meet, as a script without modules records them."""
    build = Builder("flat", "x = weft.randn(8)\nx = x * 2.0 + y\n")
    build.share = True
    chains = [build.input(f"x{at}", [8]) for at in range(12)]
    while len(build.nodes) < nodes:
        at = build.random.randrange(12)
        inputs: list[int | float] = [chains[at]]
        if build.random.random() < 0.2:
            inputs.append(chains[build.random.randrange(12)])
        op = build.random.choice(["mul", "add", "tanh", "exp", "relu", "sum", "matmul"])
        chains[at] = build.add(op, inputs, [8], "x = x * 2.0")
    return page("flat", build.graph())


# ---- A plan --------------------------------------------------------------------------------------

PLAN = """\
def score(tree):
    if tree.leaf:
        return embed(tree.word)
    left, right = score(tree.left), score(tree.right)
    return (left @ W + right).tanh()

with weft.lazy():
    losses = weft.map(score, trees)
    weft.stack(losses).mean().backward()
"""


def plan() -> Json:
    """Three examples of different depth in one plan."""
    build = Builder("three trees", PLAN)
    weight = build.parameter("W", [16, 16])
    table = build.parameter("embedding", [100, 16])
    levels: dict[str, list[int]] = {}
    ends: list[int] = []
    for example, depth in enumerate([1, 2, 3]):
        build.open("function", "score()", build.frame("losses = weft.map"))

        def embed(example: int) -> int:
            made = build.add("embedding", [table], [16], "return embed", example=example)
            levels.setdefault("embedding", []).append(made)
            return made

        top = embed(example)
        for level in range(depth):
            right = embed(example)
            product = build.add("matmul", [top, weight], [16], "return (left", example=example)
            total = build.add("add", [product, right], [16], "return (left", example=example)
            top = build.add("tanh", [total], [16], "return (left", example=example)
            for op, made in (("matmul", product), ("add", total), ("tanh", top)):
                levels.setdefault(f"{op} {level}", []).append(made)
        ends.append(top)
        build.close()
    stack = build.add("stack", list(ends), [3, 16], "weft.stack(losses)")
    mean = build.add("mean", [stack], [], "weft.stack(losses)")
    batches: list[Json] = []
    for key, nodes in levels.items():
        op = key.split()[0]
        line = "return embed" if op == "embedding" else "return (left"
        batches.append(
            {
                "op": op,
                "nodes": nodes,
                "bytes_copied": 64 * len(nodes) if op == "matmul" else 0,
                "seconds": 2e-6 * (1 + len(nodes)),
                "place": build.place(line, "score"),
                "note": "one row: nothing to batch" if len(nodes) == 1 else "",
            }
        )
    last = [
        {"op": name, "nodes": [at], "seconds": 1e-6}
        for name, at in (("stack", stack), ("mean", mean))
    ]
    build.extra["plans"] = [
        {
            "batches": [*batches, *last],
            "seconds": 9e-5,
            "seconds_planning": 1e-5,
            "place": build.place("weft.stack(losses)", "<module>"),
        }
    ]
    return page("A batched plan", build.graph())


# ---- A failure -----------------------------------------------------------------------------------

FAILURE = """\
class Net(nn.Module):
    def forward(self, x):
        h = self.first(x).relu()
        h = h.log()
        y = self.second(h)
        return y.sum()
"""


def failure() -> Json:
    """A forward that raised, after a NaN."""
    build = Builder("failed", FAILURE)
    x = build.input("x", [4, 3])
    build.call("", "Net")
    build.call("first", "Linear", build.frame("h = self.first"))
    weight = build.parameter("first.weight", [5, 3])
    h = build.add("linear", [x, weight], [4, 5], "h = self.first")
    build.leave()
    h = build.add("relu", [h], [4, 5], "h = self.first", values=[0.0, 1.5] * 10)
    numbers = [-math.inf, 0.405] * 9 + [math.nan, 0.405]
    build.add("log", [h], [4, 5], "h = h.log()", values=numbers)
    build.leave()
    build.extra["failure"] = {
        "kind": "ValueError",
        "message": "linear: input has shape (4, 5) and weight (7, 6): 5 is not 6.",
        "frame": build.frame("y = self.second(h)"),
        "after": len(build.nodes),
    }
    return page("A forward that failed", build.graph())


# ---- A diff, a merge, curves ---------------------------------------------------------------------


def diff() -> Json:
    """The two sides of the branch, and two lengths of the loop."""
    same = [[0, 0], [1, 1], [2, 2], [3, 3], [5, 5]]
    changes = [
        {
            "kind": "branch",
            "text": "`if h.sum() > 0` at model.py:5 was True on the left and False on the right.",
            "left": [3],
            "right": [3],
        },
        {
            "kind": "only-left",
            "text": "mul at model.py:6 is only on the left.",
            "left": [4],
            "right": [],
        },
        {
            "kind": "only-right",
            "text": "sub at model.py:8 is only on the right.",
            "left": [],
            "right": [4],
        },
        {"kind": "value", "text": "The mean went from 4 to -8.", "left": [5], "right": [5]},
    ]
    return page(
        "Two inputs",
        branch_graph(True),
        branch_graph(False),
        diff={
            "left": 0,
            "right": 1,
            "summary": ["The inputs took different branches at model.py:5."],
            "pairs": same,
            "changes": changes,
        },
    )


def loop_diff() -> Json:
    """The same tagger over five words and over three."""
    left, right = lstm_graph(5, "five words"), lstm_graph(3, "three words")
    count = len(right["trace"]["nodes"]) - 1
    last = len(left["trace"]["nodes"]) - 1
    only = list(range(count, last))
    return page(
        "Two lengths",
        left,
        right,
        diff={
            "left": 0,
            "right": 1,
            "summary": ["The loop at model.py:5 ran 5 times on the left and 3 times on the right."],
            "pairs": [*([at, at] for at in range(count)), [last, count]],
            "changes": [
                {
                    "kind": "loop",
                    "text": "for t in range(len(words)): ran 5 times, then 3.",
                    "left": only,
                    "right": [],
                },
                {
                    "kind": "shape",
                    "text": "embedding went from 5×64 to 3×64.",
                    "left": [7],
                    "right": [7],
                },
            ],
        },
    )


def merged() -> Json:
    """Both sides of the branch in one graph."""
    build = Builder("both inputs", BRANCH)
    x = build.input("x", [3])
    h = build.add("mul", [x, 3.0], [3], "h = x * 3.0")
    total = build.add("sum", [h], [], "if h.sum() > 0")
    test = build.add("gt", [total, 0.0], [], "if h.sum() > 0")
    decision = build.add("if", [test], [], "if h.sum() > 0", kind="decision")
    double = build.add("mul", [h, 2.0], [3], "y = h * 2.0")
    minus = build.add("sub", [h, 2.0], [3], "y = h - 2.0")
    build.add("mean", [double, minus], [], "return y.mean()")
    graph = build.graph()
    graph["links"] = [
        {"source": decision, "target": double, "label": "True"},
        {"source": decision, "target": minus, "label": "False"},
    ]
    graph["sides"] = [[0, 1]] * 5 + [[0], [1], [0, 1]]
    return page("Merged", graph)


def series(points: int = 200) -> list[Json]:
    noise = random.Random(3)
    return [
        {
            "name": "loss",
            "unit": "",
            "points": [
                [at, 2.3 * math.exp(-at / 60) + 0.1 * noise.random()] for at in range(points)
            ],
        },
        {
            "name": "seconds a step",
            "unit": "s",
            "points": [[at, 0.011 + 0.002 * noise.random()] for at in range(points)],
        },
    ]


def curves() -> Json:
    return page("A training run", branch_graph(True), series=series())


ALL = {
    "branch": branch,
    "lstm": lstm,
    "transformer": transformer,
    "large": large,
    "flat": flat,
    "plan": plan,
    "failure": failure,
    "diff": diff,
    "loop_diff": loop_diff,
    "merged": merged,
    "curves": curves,
}
