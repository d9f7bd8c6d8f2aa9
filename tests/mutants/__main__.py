"""Change a copy of the tree, one small thing at a time, and see whether a test notices."""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import signal
import sys
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.mutants import cpp_source, python_source
from tests.mutants.change import Change
from tests.mutants.judge import ROOT, Judge
from tests.mutants.suites import Suite

HARMLESS = Path(__file__).with_name("harmless.toml")
CPP_FOLDERS = ("graph", "schedule", "exec", "autograd")
OUTCOMES = {
    "noticed": "noticed",
    "unnoticed": "not noticed",
    "harmless": "harmless",
    "invalid": "did not compile",
    "unsure": "noticed by a test that fails without the change too",
}


@dataclass(frozen=True)
class Verdict:
    """What came of one change, and why: the test that noticed, or what makes it harmless."""

    change: Change
    outcome: str
    why: str = ""


def all_changes(patterns: list[str]) -> list[Change]:
    """Return all changes of the files that match, or of all files."""
    paths = sorted(ROOT.glob("src/weft/**/*.py"))
    # Headers rebuild half of the module for each change.
    paths += [path for name in CPP_FOLDERS for path in sorted(ROOT.glob(f"cpp/weft/{name}/*.cpp"))]
    found: list[Change] = []
    for path in paths:
        file = path.relative_to(ROOT).as_posix()
        if not patterns or any(fnmatch.fnmatch(file, pattern) for pattern in patterns):
            find = python_source.find_changes if path.suffix == ".py" else cpp_source.find_changes
            found += find(file, path.read_bytes())
    return found


def read_harmless() -> dict[tuple[str, str, str], str]:
    """Return the reasons why changes cannot be noticed."""
    entries = tomllib.loads(HARMLESS.read_text())["harmless"]
    return {(entry["file"], entry["before"], entry["after"]): entry["why"] for entry in entries}


def unnoticed_before(report: Path) -> set[tuple[str, str, str]]:
    """Return what was not noticed in an earlier run."""
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    return {
        (line["file"], line["before"], line["after"])
        for line in lines
        if line["outcome"] not in {"noticed", "invalid"}
    }


def write(report: Path, verdicts: list[Verdict]) -> None:
    """Write one line for each change, so that a run that is cut off leaves a report too."""
    lines = [
        asdict(verdict.change) | {"edits": None, "outcome": verdict.outcome, "why": verdict.why}
        for verdict in verdicts
    ]
    report.write_text("".join(json.dumps(line) + "\n" for line in lines))


def check(judge: Judge, verdicts: list[Verdict]) -> list[Verdict]:
    """Run the tests that noticed something without any change: all of them should pass."""
    judge.build()
    tests = {verdict.why for verdict in verdicts if "::" in verdict.why}
    failing: set[str] = set()
    for oracle in (False, True):
        paths = tuple(sorted(test for test in tests if test.startswith("tests/oracle") == oracle))
        if paths and judge.run(Suite(paths, oracle=oracle)):
            failing |= {path for path in paths if judge.run(Suite((path,), oracle=oracle))}
    return [
        Verdict(verdict.change, "unsure", verdict.why) if verdict.why in failing else verdict
        for verdict in verdicts
    ]


def judge_all(judge: Judge, changes: list[Change], report: Path) -> list[Verdict]:
    """Judge changes one after another, and show how far it is."""
    reasons = read_harmless()
    verdicts: list[Verdict] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console()
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=len(changes))
        for change in changes:
            counts = Counter(verdict.outcome for verdict in verdicts)
            so_far = f"{counts['noticed']} noticed, {counts['unnoticed']} not"
            progress.update(task, description=f"{so_far}: {change.file}")
            if change.key in reasons:
                verdict = Verdict(change, "harmless", reasons[change.key])
            else:
                verdict = Verdict(change, *judge.judge(change))
            verdicts.append(verdict)
            if verdict.outcome == "unnoticed":
                progress.console.print(
                    f"not noticed: {change}", markup=False, highlight=False, soft_wrap=True
                )
            write(report, verdicts)
            progress.advance(task)
        progress.update(task, description="the tests that noticed, without a change")
        verdicts = check(judge, verdicts)
    write(report, verdicts)
    return verdicts


def summarize(verdicts: list[Verdict]) -> float:
    """Print what was not noticed, with the counts; return the share that was."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    for outcome in ("harmless", "unsure", "unnoticed"):
        for verdict in verdicts:
            if verdict.outcome == outcome:
                print(f"{OUTCOMES[outcome]}: {verdict.change}\n    {verdict.why}".rstrip())
    print(", ".join(f"{counts[name]} {text}" for name, text in OUTCOMES.items() if counts[name]))
    judged = counts["noticed"] + counts["unnoticed"] + counts["unsure"]
    return counts["noticed"] / judged if judged else 1.0


def main() -> int:
    """Run the command line; the exit status is 1 if too little was noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many changes to make")
    parser.add_argument("--seed", type=int, default=0, help="chooses them")
    parser.add_argument("--only", action="append", default=[], help="a pattern of files")
    parser.add_argument("--again", action="store_true", help="only what was not noticed last time")
    parser.add_argument("--near", action="store_true", help="run only the likeliest tests")
    parser.add_argument("--share", type=float, default=0.9, help="how much should be noticed")
    parser.add_argument("--list", action="store_true", help="print the changes and run nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--oracle", type=Path, default=ROOT / ".venv-oracle/bin/python")
    options = parser.parse_args()
    # What the tests have started ends with this process, however it ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    changes = all_changes(options.only)
    report = options.folder / "report.jsonl"
    if options.again:
        keys = unnoticed_before(report)
        changes = [change for change in changes if change.key in keys]
    else:
        changes = random.Random(options.seed).sample(changes, min(options.count, len(changes)))
    # Files of C++ one after another, Python's before them: fewer builds.
    changes.sort(key=lambda change: (change.file.startswith("cpp"), change.file, change.line))
    if options.list:
        print(*changes, sep="\n")
        return 0
    if not options.oracle.exists():
        print(f"{options.oracle} is not there: nothing is compared with PyTorch")
    options.folder.mkdir(parents=True, exist_ok=True)
    judge = Judge(options.folder.resolve() / "tree", options.oracle, options.near)
    judge.prepare(cpp=any(change.file.startswith("cpp") for change in changes))
    share = summarize(judge_all(judge, changes, report))
    print(f"{share:.0%} noticed; {report}")
    return 0 if share >= options.share else 1


if __name__ == "__main__":
    sys.exit(main())
