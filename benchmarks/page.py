"""docs/performance.md and the README's small table, written from the results of a whole run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.measure import Row, Spread
from benchmarks.models.common import MAIN_BATCH, MAIN_HIDDEN, Size
from benchmarks.report import FORMAT
from benchmarks.small import PAIRS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- written by make bench -->\n", "<!-- end -->\n"

# The parts of the page: a heading, a sentence, and the cases whose rows stand there.
PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Models written over one example": (
        (
            "A training step of a batch of examples, written as ordinary Python over one of them. "
            "`map` and `lazy` are Weft's two ways of running them; *by hand* is the same model, "
            "batched by hand; *per example* is the plain model in a Python loop."
        ),
        (
            "tree-lstm",
            "tree-lstm-cells",
            "tagger",
            "parser",
            "experts",
            "lattice",
            "child-sum",
            "early-exit",
            "beam",
            "spellings",
            "tree-lstm-memory",
        ),
    ),
    "Small models": (
        "What counts here is the work around the arithmetic: recording, differentiating, updating.",
        ("op", "op-unrecorded", "chain", "act", "adam", "per-example", "jacobian", "lstm"),
    ),
    "Dense models": (
        "Models in which nothing changes from one example to the next.",
        ("gpt", "gpt-explicit", "char-lstm", "char-lstm-cells", "lazy-dense"),
    ),
    "Accuracy": (
        "How far results are from the right ones at most, over all floats of a range.",
        ("tanh-ulp", "exp-ulp", "sigmoid-ulp", "gelu-ulp"),
    ),
    "The library itself": (
        "",
        (
            "import",
            "wheel",
            "long-chain",
            "many-graphs",
            "checkpoint",
            "trace",
            "lazy-costs",
        ),
    ),
}
INTRODUCTION = (
    "`make bench` wrote this page from its results (`docs/performance.json`); nothing on it is "
    "typed. Weft and its peer take turns in one process and compute the same from the same "
    "weights, which is checked before the clock starts. Times are medians, ± half the distance "
    "of the quartiles; a ratio over 1 says that Weft is faster. The peer is PyTorch unless the "
    "line says otherwise."
)
LARGE = "Large tensors"
LEFT_OUT = ("lines",)  # the size of the source is no figure for those who use it

# The README's three figures: a case, its row's name, what one writes and what one gets.
README_ROWS = (
    (
        ("tree-lstm", f"Tree-LSTM, {Size(256, MAIN_BATCH)}: map / torch by hand + index"),
        "a recursive function over one tree, called by `weft.map`",
        (
            "{} the speed of PyTorch code that batches 64 trees by hand (Tree-LSTM, hidden 256, "
            "training)"
        ),
    ),
    (
        ("parser", f"transition parser, {Size(MAIN_HIDDEN, MAIN_BATCH)}: map / torch per example"),
        "a loop that chooses its next step by its own `argmax`",
        "{} the speed of the same loop in PyTorch (a parser, hidden 128, 64 sentences, training)",
    ),
    (
        ("op", PAIRS["op"][0]),
        "any small op, with no call to compile",
        "{} the speed at which PyTorch records it, with your source line kept for messages",
    ),
)


class NotPublishableError(Exception):
    """Results of which the page cannot be made, in a sentence."""


def rows_of(document: Mapping[str, Any]) -> list[tuple[str, Row]]:
    """Return the rows of a document of results, each with the case that measured it."""
    if document.get("format") != FORMAT or any("case" not in row for row in document["results"]):
        raise NotPublishableError(
            f"these are not results of format {FORMAT} of `python -m benchmarks`: measure again"
        )
    fields = {"name", "unit", "compare", "required", "aim", "threads", "note", "error", "reason"}
    rows = []
    for result in document["results"]:
        spreads = {
            name: Spread(**result[name]) if result[name] else None for name in ("weft", "other")
        }
        rows.append((result["case"], Row(**spreads, **{name: result[name] for name in fields})))
    return rows


def table(rows: Iterable[Row]) -> list[str]:
    """Write rows as a table: what was measured, both numbers and their ratio."""
    lines = ["| what | threads | Weft | peer | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        _, threads, ours, theirs, figure, *_ = report.cells(row)
        name = f"{row.name} ({row.note})" if row.note else row.name
        ratio = figure if row.compare == "ratio" else ""
        if row.figure is None:
            ratio = "not measured"
        cells = (text.replace("|", "\\|") for text in (name, threads, ours, theirs, ratio))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def slow_lines(rows: Sequence[Row]) -> list[str]:
    """Say which rows are slower than their peer, and why where a reason is known."""
    lines = []
    for row in rows:
        if row.figure is not None and row.compare == "ratio" and row.figure < 1:
            why = f": {row.reason}" if row.reason else ""
            threads = f", {row.threads} threads" if (row.threads or 1) > 1 else ""
            lines.append(f"- {row.name}{threads} ({row.figure:.2f}x){why}.")
    return lines


def conditions(machine: Mapping[str, Any]) -> list[str]:
    """Say what a reader has to know of a run that was not a whole one on a quiet machine."""
    said = []
    if machine.get("quick"):
        said.append("The run was a quick one, with fewer rounds.")
    if machine.get("clock", "time") != "time":
        said.append("Times are processor time.")
    if (machine.get("other_work") or 0) > report.DISTURBED:
        said.append(
            f"Other processes kept {machine['other_work']:.1f} of the machine's cores busy."
        )
    return ["", " ".join(said)] if said else []


def page_text(document: Mapping[str, Any]) -> str:
    """Return the page of a document of results."""
    machine, rows = document["machine"], rows_of(document)
    processor, versions = report.machine_lines(machine)
    lines = [
        "# How fast Weft is",
        "",
        INTRODUCTION,
        *conditions(machine),
        "",
        f"- {processor}",
        f"- {versions}",
        f"- {machine['time'][:10]}, {document['seconds'] / 60:.0f} minutes",
        "- one thread where no number of threads stands",
    ]
    parts = dict(PARTS)
    known = {name for _, names in parts.values() for name in names}
    others = tuple(dict.fromkeys(case for case, _ in rows if case not in (*known, *LEFT_OUT)))
    parts[LARGE] = ("Forward and backward of single ops over large tensors.", others)
    for heading, (sentence, names) in parts.items():
        chosen = [row for name in names for case, row in rows if case == name]
        if not chosen:
            continue
        lines += ["", f"## {heading}", ""]
        if sentence:
            lines += [sentence, ""]
        lines += table(chosen)
    slower = slow_lines([row for _, row in rows])
    if slower:
        lines += ["", "## Where the peer is faster", "", *slower]
    return "\n".join(lines) + "\n"


def readme_table(document: Mapping[str, Any]) -> str:
    """Return the README's table: what is written, what is got, three ratios."""
    figures = {(case, row.name): row.figure for case, row in rows_of(document) if row.threads != 2}
    lines = ["| what you write | what you get |", "|---|---|"]
    for key, written, got in README_ROWS:
        figure = figures.get(key)
        if figure is None:
            raise NotPublishableError(f"there is no figure of `{key[1]}` (case {key[0]})")
        text = f"{figure:.1f}x" if figure < 10 else f"{figure:.0f}x"
        lines.append(f"| {written} | {got.format(text)} |")
    processor = document["machine"]["cpu"]
    lines += [
        "",
        (
            f"One thread of {processor}, against PyTorch {document['machine']['torch']}. "
            "[docs/performance.md](docs/performance.md) has every figure, also where the peer is "
            "faster."
        ),
    ]
    return "\n".join(lines) + "\n"


def with_table(readme: str, document: Mapping[str, Any]) -> str:
    """Return the README's text with the table of these results."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise NotPublishableError(f"README.md has no lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}{readme_table(document)}{END}{after}"


def publish(document: Mapping[str, Any]) -> None:
    """Write the results, the page and the README's table, or nothing.

    Raises:
        NotPublishableError: Something is missing.
    """
    text = page_text(document)
    readme = with_table(README.read_text(encoding="utf-8"), document)
    report.write_json(RESULTS, document)
    PAGE.write_text(text, encoding="utf-8")
    README.write_text(readme, encoding="utf-8")


def publish_file(path: Path) -> str:
    """Publish the results of an earlier run and return a line to print.

    Raises:
        NotPublishableError: There are none, or something is missing in them.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NotPublishableError(f"{path} cannot be read: {error}") from None
    if not isinstance(document, dict) or "results" not in document:
        raise NotPublishableError(f"{path} has no results of `python -m benchmarks`")
    publish(document)
    return f"The figures of README.md and {PAGE.relative_to(ROOT)} are now these of {path}."
