"""Run the pages of docs/tour and compare what they print and draw with what they show.

    python -m scripts.run_tour                    # compare all pages
    python -m scripts.run_tour --write            # put in what the programs print and draw now
    python -m scripts.run_tour --write --pictures # and photograph the viewer's page again
    python -m scripts.run_tour --program 02       # print the program of a page

The ```python blocks of a page are one program. It is called as the page is (`02-branches.md` is
`branches.py`), its lines are counted as if the blocks stood in one file with an empty line between
them, and it runs in a process and an empty folder of its own. The ```text block after a ```python
block shows what that block prints; a block without one prints nothing. In such a text

    ...          in a line stands for any text, alone on a line for any number of lines;
    ~1.5         stands for any number, and shows one that was measured.

Pictures are files that the program writes. `branches.svg` must be the same text as
`images/branches.svg`. `branches.html` is a page of the viewer, of which `images/branches.png` is a
picture; it is made with `--write` and not compared. A comment before the picture says which keys or
tabs to press first: `<!-- press: 3 -->`, `<!-- press: Diff -->`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import linecache
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "tour"
IMAGES = FOLDER / "images"
WIDTH, HEIGHT = 1120, 640

_FENCE = re.compile(r"^```(python|text)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"(?:<!-- press: ([^>]*?) -->\s*)?!\[[^\]]*\]\(images/([^)\s]+)\)")
_FREE = re.compile(r"\.\.\.|~-?\d[\d.,]*(?:e[+-]?\d+)?")
_NUMBER = r"\s*-?\d[\d.,]*(?:e[+-]?\d+)?"


@dataclass(frozen=True)
class Block:
    """A part of the program: its first line, and where its expected text stands in the page."""

    code: str
    first_line: int
    shown: str | None
    start: int
    end: int


@dataclass(frozen=True)
class Page:
    """A page of the tour."""

    path: Path
    text: str
    blocks: tuple[Block, ...]
    pictures: dict[str, str]  # the file's name -> what to press first

    @property
    def program_name(self) -> str:
        """The name that the page's program has in messages."""
        return f"{self.path.stem.partition('-')[2]}.py"

    @property
    def program(self) -> str:
        """The blocks as one file."""
        return "\n".join(block.code for block in self.blocks)


@dataclass(frozen=True)
class Result:
    """What a program printed, block by block, and the files that it wrote."""

    printed: tuple[str, ...]
    files: dict[str, str]


def pages() -> list[Page]:
    """Return all pages in order."""
    return [read_page(path) for path in sorted(FOLDER.glob("[0-9][0-9]-*.md"))]


def read_page(path: Path) -> Page:
    """Find the blocks and pictures of a page."""
    text = path.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    blocks: list[Block] = []
    line = 1
    for number, fence in enumerate(fences):
        if fence[1] != "python":
            continue
        after = fences[number + 1] if number + 1 < len(fences) else None
        is_shown = after is not None and after[1] == "text"
        place = after.span(2) if after and is_shown else (fence.end(), fence.end())
        shown = after[2] if after and is_shown else None
        blocks.append(Block(fence[2], line, shown, *place))
        line += fence[2].count("\n") + 1
    pictures = {found[2]: found[1] or "" for found in _PICTURE.finditer(text)}
    return Page(path, text, tuple(blocks), pictures)


# ---- Running -------------------------------------------------------------------------------------


def run_page(page: Page) -> Result:
    """Run a page's program in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [sys.executable, "-W", "error", Path(__file__).resolve(), "--run", page.path],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if process.returncode:
            raise RuntimeError(f"{page.path.name} fails:\n{process.stderr}")
        files = {path.name: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
    return Result(tuple(json.loads(process.stdout)), files)


def _run_here(page: Page) -> None:
    """Run a page's program in this process; print what each block printed as JSON."""
    name = page.program_name
    lines = page.program.splitlines(keepends=True)
    linecache.cache[name] = (len(page.program), None, lines, name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: list[str] = []
    for block in page.blocks:
        code = compile("\n" * (block.first_line - 1) + block.code, name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, namespace)
        printed.append(output.getvalue())
    print(json.dumps(printed))


# ---- Comparing -----------------------------------------------------------------------------------


def matches(shown: str, printed: str) -> bool:
    """Tell whether a text is what a page shows, `...` and `~1.5` standing for others."""
    parts: list[str] = []
    for line in shown.splitlines():
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        parts.append(_line_pattern(line) + r"\n")
    return re.fullmatch("".join(parts), printed) is not None


def _line_pattern(line: str) -> str:
    pattern, position = "", 0
    for free in _FREE.finditer(line):
        before = line[position : free.start()]
        if free[0] == "...":
            pattern += re.escape(before) + r"[^\n]*"
        else:
            # A measured number may have more or fewer digits, and columns move by that.
            pattern += re.escape(before.rstrip(" ")) + _NUMBER
        position = free.end()
    return pattern + re.escape(line[position:])


def problems(page: Page, result: Result) -> list[str]:
    """Return in sentences where a page does not show what its program does."""
    found: list[str] = []
    for block, printed in zip(page.blocks, result.printed, strict=True):
        if not matches(block.shown or "", printed):
            where = f"{page.path.name}, line {block.first_line} of its program"
            found.append(f"{where}: shown is\n{block.shown}\nand printed is\n{printed}")
    made = set(result.files)
    for name in page.pictures:
        path = IMAGES / name
        source = name if path.suffix == ".svg" else f"{path.stem}.html"
        if source not in made:
            found.append(f"{page.path.name}: {name} is shown, and the program does not make it")
        elif not path.exists():
            found.append(f"{page.path.name}: images/{name} is missing")
        elif path.suffix == ".svg" and path.read_text(encoding="utf-8") != result.files[source]:
            found.append(f"{page.path.name}: images/{name} is not what the program draws")
        made.discard(source)
    found += [f"{page.path.name}: {name} is made and not shown" for name in sorted(made)]
    return found


# ---- Writing -------------------------------------------------------------------------------------


def rewritten(page: Page, result: Result) -> str:
    """Return a page's text with what its program prints now; lines that fit stay as they are."""
    text = page.text
    for block, printed in reversed(list(zip(page.blocks, result.printed, strict=True))):
        if matches(block.shown or "", printed):
            continue
        if block.shown is None:
            text = f"{text[: block.end]}\n```text\n{printed}```\n{text[block.end :]}"
            continue
        new = printed.splitlines(keepends=True)
        old = block.shown.splitlines(keepends=True)
        if len(old) == len(new):
            new = [a if matches(a, b) else b for a, b in zip(old, new, strict=True)]
        text = text[: block.start] + "".join(new) + text[block.end :]
    return text


def write_page(page: Page, result: Result, *, photograph: bool = False) -> None:
    """Put in what a page's program prints and draws now.

    Photographs show times, so they are another file each time: they are taken again only where the
    page's text changed, or when asked for.
    """
    text = rewritten(page, result)
    if text != page.text:
        page.path.write_text(text, encoding="utf-8")
        print(f"{page.path.name} is written")
    for name, keys in page.pictures.items():
        path = IMAGES / name
        if path.suffix == ".svg" and name in result.files:
            path.write_text(result.files[name], encoding="utf-8")
        elif f"{path.stem}.html" in result.files and (
            photograph or text != page.text or not path.exists()
        ):
            _photograph(result.files[f"{path.stem}.html"], path, keys.split())


def _photograph(html: str, path: Path, keys: list[str]) -> None:
    """Open a page of the viewer in a browser, press keys, and keep a picture of it."""
    from tests.viewer import pages as browser  # noqa: PLC0415 - only for pictures

    reason = browser.missing()
    if reason:
        print(f"{path.name} stays as it is. {reason}")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    executable = next(filter(None, map(shutil.which, browser.BROWSERS)))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(html, encoding="utf-8")
        chromium = playwright.chromium.launch(
            executable_path=executable, args=browser.ARGUMENTS, headless=True
        )
        shown = browser.Shown(chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}))
        shown.open(file)
        for key in keys:
            if len(key) == 1:
                shown.press(key)
            else:
                shown.page.get_by_role("tab", name=key).click()
            shown.page.wait_for_timeout(400)
        shown.page.mouse.move(WIDTH / 2, HEIGHT - 8)
        shown.page.wait_for_timeout(400)
        shown.page.screenshot(path=str(path))
        chromium.close()
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description="Run the pages of docs/tour.")
    parser.add_argument("--write", action="store_true", help="rewrite texts and pictures")
    parser.add_argument("--pictures", action="store_true", help="with --write: photograph again")
    parser.add_argument("--program", action="store_true", help="print the programs")
    parser.add_argument("--run", metavar="PAGE", help=argparse.SUPPRESS)
    parser.add_argument("pages", nargs="*", help="numbers of pages; all of them without")
    options = parser.parse_args()
    if options.run:
        _run_here(read_page(Path(options.run)))
        return
    failed = False
    for page in pages():
        if options.pages and page.path.name[:2] not in options.pages:
            continue
        if options.program:
            print(page.program, end="")
            continue
        result = run_page(page)
        if options.write:
            write_page(page, result, photograph=options.pictures)
            continue
        found = problems(page, result)
        print(f"{page.path.name}: {'differs' if found else 'ok'}", *found, sep="\n")
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
