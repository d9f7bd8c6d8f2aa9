"""Pictures as SVG, drawn here: no other program and no script in it."""

from __future__ import annotations

from html import escape

from weft.viewer.layout import Layout, Point, lay_out
from weft.viewer.picture import Box, Edge, Picture
from weft.viewer.words import plain

_LINE = 15.0
_MARGIN = 8.0

# Colours are variables, so that one file is light or dark as the reader's system is.
_STYLE = """\
.weft{--ink:#1f2328;--soft:#59636e;--line:#8c959f;--paper:#ffffff;--op:#f6f8fa;--op-line:#afb8c1;\
--input:#ddf4ff;--input-line:#54aeff;--output:#dafbe1;--output-line:#4ac26b;--ask:#fff8c5;\
--ask-line:#d4a72c;--group:#fbefff;--group-line:#c297ff;--bad:#ffebe9;--bad-line:#ff8182;\
--frame:#6e77811a;--loop:#9a6700;\
font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
@media (prefers-color-scheme:dark){.weft{--ink:#e6edf3;--soft:#9198a1;--line:#7d8590;\
--paper:#0d1117;--op:#161b22;--op-line:#484f58;--input:#0c2d4d;--input-line:#388bfd;--output:#0f2f1c;\
--output-line:#2ea043;--ask:#33280a;--ask-line:#bb8009;--group:#271a40;--group-line:#8957e5;\
--bad:#3c1414;--bad-line:#f85149;--frame:#9198a11a;--loop:#d29922}}
.weft text{fill:var(--ink);font-size:12px;text-anchor:middle;dominant-baseline:central}
.weft .note{fill:var(--soft);font-size:10.5px}
.weft .title{font-weight:600}
.weft .label{fill:var(--loop);font-size:10.5px;font-weight:600;paint-order:stroke;\
stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
.weft .head{text-anchor:start;fill:var(--soft);font-size:11px;font-weight:600;paint-order:stroke;\
stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.weft .loop .head{fill:var(--loop)}
.weft .box{fill:var(--op);stroke:var(--op-line)}
.weft .input .box{fill:var(--input);stroke:var(--input-line)}
.weft .output .box{fill:var(--output);stroke:var(--output-line)}
.weft .decision .box{fill:var(--ask);stroke:var(--ask-line)}
.weft .group .box,.weft .cell .box{fill:var(--group);stroke:var(--group-line)}
.weft .failure .box{fill:var(--bad);stroke:var(--bad-line)}
.weft .frame{fill:var(--frame);stroke:var(--op-line);stroke-width:.75}
.weft .edge{fill:none;stroke:var(--line);stroke-width:1.25}
.weft .control{stroke:var(--ask-line);stroke-dasharray:5 3}
.weft .back{stroke-dasharray:2 3}
.weft .tip{fill:var(--line)}
.weft .tip-control{fill:var(--ask-line)}
"""


def svg(picture: Picture) -> str:
    """Draw a picture."""
    sizes = [_size(box) for box in picture.boxes]
    widths = [_width(cluster.label, 6.6) for cluster in picture.clusters]
    layout = lay_out(picture, sizes, widths)
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    title = _text(picture.title or "graph")
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="weft" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}" role="img" '
        f'aria-label="{title}">'
    )
    parts = [
        opening,
        f"<title>{title}</title><style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="var(--paper)"/>',
        f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">',
    ]
    for cluster, (x, y, w, h) in zip(picture.clusters, layout.frames, strict=True):
        parts.append(
            f'<g class="{cluster.kind}"><rect class="frame" x="{x:.1f}" y="{y:.1f}" '
            f'width="{w:.1f}" height="{h:.1f}" rx="8"/></g>'
        )
    parts += _edges(picture, layout)
    for box, size, centre in zip(picture.boxes, sizes, layout.centres, strict=True):
        parts.append(_box(box, size, centre))
    for cluster, (x, y, _, _) in zip(picture.clusters, layout.frames, strict=True):
        parts.append(
            f'<g class="{cluster.kind}"><text class="head" x="{x + 12:.1f}" y="{y + 14:.1f}">'
            f"{_text(cluster.label)}</text></g>"
        )
    parts += _labels(picture, layout)
    parts.append("</g></svg>")
    return "\n".join(parts) + "\n"


def _text(text: str) -> str:
    return escape(plain(text))


def _width(text: str, letter: float) -> float:
    """Return about how wide a text is; letters outside of ASCII are often twice as wide."""
    return sum(letter if ord(one) < 0x2E80 else 1.8 * letter for one in text)


def _size(box: Box) -> Point:
    lines = 1 + len(box.notes)
    wide = max(_width(box.title, 7.0), *(_width(note, 5.9) for note in box.notes), 20.0)
    if box.kind == "decision":
        return 1.25 * wide + 56.0, 50.0
    return wide + 24.0, lines * _LINE + 12.0


def _box(box: Box, size: Point, centre: Point) -> str:
    (width, height), (x, y) = size, centre
    if box.kind == "decision":
        points = f"{x - width / 2:.1f},{y:.1f} {x:.1f},{y - height / 2:.1f} "
        points += f"{x + width / 2:.1f},{y:.1f} {x:.1f},{y + height / 2:.1f}"
        shape = f'<polygon class="box" points="{points}"/>'
    else:
        radius = height / 2 if box.kind in ("input", "output") else 5.0
        shape = (
            f'<rect class="box" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}" rx="{min(radius, 18.0):.1f}"/>'
        )
    top = y - len(box.notes) * _LINE / 2
    words = f'<text class="title" x="{x:.1f}" y="{top:.1f}">{_text(box.title)}</text>'
    for number, note in enumerate(box.notes):
        line = top + (number + 1) * _LINE
        words += f'<text class="note" x="{x:.1f}" y="{line:.1f}">{_text(note)}</text>'
    return f'<g class="{box.kind}">{shape}{words}</g>'


def _edges(picture: Picture, layout: Layout) -> list[str]:
    parts: list[str] = []
    for edge, path in zip(picture.edges, layout.paths, strict=True):
        kind = "edge control" if edge.kind == "control" else "edge"
        kind += " back" if edge.is_back else ""
        curve = _around(path) if edge.is_back else _curve(path)
        parts.append(f'<path class="{kind}" d="{curve}"/>{_tip(edge, path)}')
    return parts


def _curve(path: list[Point]) -> str:
    """Return a curve through points that goes straight down at each of them."""
    (x, y), *rest = path
    words = [f"M{x:.1f} {y:.1f}"]
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        words.append(f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}")
        x, y = next_x, next_y
    return "".join(words)


def _around(path: list[Point]) -> str:
    """Return straight lines through points, with round corners."""
    words = [f"M{path[0][0]:.1f} {path[0][1]:.1f}"]
    for before, (x, y), after in zip(path, path[1:], path[2:], strict=False):
        x1, y1 = _towards((x, y), before)
        x2, y2 = _towards((x, y), after)
        words.append(f"L{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}")
    return "".join([*words, f"L{path[-1][0]:.1f} {path[-1][1]:.1f}"])


def _towards(start: Point, end: Point) -> Point:
    """Return a point a little on the way from one point to another."""
    (x1, y1), (x2, y2) = start, end
    length = max(abs(x2 - x1) + abs(y2 - y1), 1e-6)
    part = min(8.0, length / 2) / length
    return x1 + (x2 - x1) * part, y1 + (y2 - y1) * part


def _tip(edge: Edge, path: list[Point]) -> str:
    """Return the arrow's tip; drawn, because a marker's name would be shared by all of a page."""
    x, y = path[-1]
    kind = "tip-control" if edge.kind == "control" else "tip"
    if edge.is_back and path[-2][0] != x:
        points = f"{x:.1f},{y:.1f} {x + 7:.1f},{y - 3.5:.1f} {x + 7:.1f},{y + 3.5:.1f}"
    else:
        points = f"{x:.1f},{y:.1f} {x - 3.5:.1f},{y - 7:.1f} {x + 3.5:.1f},{y - 7:.1f}"
    return f'<polygon class="{kind}" points="{points}"/>'


def _on_curve(start: Point, end: Point, part: float) -> Point:
    """Return a point on the piece of curve that `_curve` draws between two points."""
    (x1, y1), (x2, y2) = start, end
    rest, middle = 1 - part, (y1 + y2) / 2
    x = x1 + (x2 - x1) * part * part * (3 - 2 * part)
    y = rest**3 * y1 + 3 * rest * part * middle + part**3 * y2
    return x, y


def _labels(picture: Picture, layout: Layout) -> list[str]:
    parts: list[str] = []
    for edge, path in zip(picture.edges, layout.paths, strict=True):
        if edge.label:
            x, y = _on_curve(path[0], path[1], 0.6)
            if edge.is_back:
                x = max(point[0] for point in path)
                y = sum(point[1] for point in path if point[0] == x) / 2
            parts.append(f'<text class="label" x="{x:.1f}" y="{y:.1f}">{_text(edge.label)}</text>')
    return parts
