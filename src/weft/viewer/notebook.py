"""What notebooks show: pages that share one copy of their code (decision 0033).

The page's code is far larger than most graphs. The first output of a notebook brings it along; the
others hold their graph, a still picture, and a few lines that put the page in the picture's place
as soon as the code is there, in whatever order a front end builds its outputs.
"""

from __future__ import annotations

import hashlib
import html
import json
import sys
import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

from weft.viewer.page import PageMissingError, page_data, page_html, page_parts

LIMIT = 4 << 20  # characters of data; more would make a notebook slow to open
_STYLE = "width: 100%; height: 32rem; border: 0"
# Both speak of `window.weftPages`, the codes by their marks, and of the event `weft-page`.
_BRING = """\
<script type="application/json" id="weft-code-{mark}">{code}</script>
<script>{{
const code = document.getElementById("weft-code-{mark}");
if (code) {{
(window.weftPages ??= {{}})["{mark}"] = JSON.parse(code.textContent);
dispatchEvent(new Event("weft-page"));
}}
}}</script>
"""
_SHOW = """\
<div id="{place}">{still}</div>
<script type="application/json" id="{place}-data">{data}</script>
<script>{{
const show = () => {{
const code = window.weftPages?.["{mark}"];
const place = document.getElementById("{place}");
const data = document.getElementById("{place}-data");
if (!code || !place || !data) return;
removeEventListener("weft-page", show);
const frame = document.createElement("iframe");
frame.title = {title};
frame.setAttribute("sandbox", "allow-scripts");
frame.style.cssText = "{style}";
frame.srcdoc = code[0] + data.textContent + code[1];
place.replaceChildren(frame);
}};
addEventListener("weft-page", show);
show();
}}</script>
"""


@dataclass(frozen=True)
class Cell:
    """Which cell of a notebook runs now, and which of its runs it is."""

    name: str
    run: str


@dataclass
class Copy:
    """Where this process has put the page's code last."""

    cell: Cell | None = None

    def is_needed(self, cell: Cell) -> bool:
        """Tell whether an output of this cell must bring the code along.

        A cell that runs again takes its old output away, and the code with it.
        """
        needed = self.cell is None or (self.cell.name == cell.name and self.cell.run != cell.run)
        if needed:
            self.cell = cell
        return needed


_copy = Copy()


def notebook_html(page: dict[str, Any], title: str, still: str) -> str:
    """Return what a notebook shows of a page.

    Args:
        page: What `page_of` gave.
        title: What readers of screens are told.
        still: HTML that stands there where no script runs or the code is not there, and alone if
            the viewer was not built or the page is too large.
    """
    data = page_data(page)
    if len(data) > LIMIT:
        return still
    cell = running_cell()
    try:
        if cell is None:
            return _alone(page, title)
        mark, code = _code()
    except PageMissingError:
        return still
    output = _SHOW.format(
        place=f"weft-{uuid.uuid4().hex}",
        still=still,
        data=data,
        mark=mark,
        title=_text(title),
        style=_STYLE,
    )
    return _BRING.format(mark=mark, code=code) + output if _copy.is_needed(cell) else output


def _alone(page: dict[str, Any], title: str) -> str:
    """Return a frame that holds everything."""
    source = html.escape(page_html(page), quote=True)
    return (
        f'<iframe title="{html.escape(title, quote=True)}" sandbox="allow-scripts" '
        f'style="{_STYLE}" srcdoc="{source}"></iframe>'
    )


def running_cell() -> Cell | None:
    """Return the cell that runs, or None where outputs are not parts of one document.

    In a notebook of Colab each output is a document of its own.
    """
    ipython: Any = sys.modules.get("IPython")
    if ipython is None or "google.colab" in sys.modules:
        return None
    parent: Any = getattr(ipython.get_ipython(), "get_parent", dict[str, Any])() or {}
    run = parent.get("header", {}).get("msg_id")
    # Old front ends do not say which cell it is: then its text has to do.
    name = parent.get("metadata", {}).get("cellId") or parent.get("content", {}).get("code")
    return Cell(str(name), str(run)) if name and run else None


@cache
def _code() -> tuple[str, str]:
    """Return the mark of the page's code, and the code before and behind the data as JSON."""
    code = _text(page_parts())
    return hashlib.sha256(code.encode()).hexdigest()[:12], code


def _text(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")
