"""Run random programs as Python and compiled: `python -m tests.compiling --programs 20000`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.compiling.oracle import check

MOST_SHOWN = 5


def main() -> None:
    """Run them all; say which differ, and the seed that makes the same ones again."""
    parser = argparse.ArgumentParser(prog="python -m tests.compiling", description=__doc__)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6) * 1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    differences: list[str] = []
    console = Console(stderr=True)
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
        multiprocessing.get_context("spawn").Pool(options.processes) as pool,
    ):
        task = progress.add_task("all agree", total=options.programs)
        seeds = range(options.seed, options.seed + options.programs)
        for found in pool.imap_unordered(check, seeds, chunksize=20):
            if found is not None:
                differences.append(found)
                if len(differences) <= MOST_SHOWN:
                    progress.console.print(found, markup=False, highlight=False)
                progress.update(task, description=f"{len(differences)} differ")
            progress.advance(task)
    print(f"{options.programs} programs from seed {options.seed}: {len(differences)} differ")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
