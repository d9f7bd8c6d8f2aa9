"""Where things stand in a picture: layers from top to bottom, frames laid out from the inside out.

Each frame is laid out alone, with the frames inside of it as boxes of known size. Things get layers
by the longest way to them, an order within a layer by the mean place of their neighbours, and then
places as near to their neighbours as that order allows. Edges that go past a layer get a place in
it, and all that leave one box share their way as long as they can. Edges back to the next round of
a loop go around on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from weft.viewer.picture import Picture

Point = tuple[float, float]
GAP_X = 26.0
GAP_Y = 40.0
PADDING = 14.0
HEADER = 22.0
LANE = 12.0
DETOUR = 12.0
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes and places: centres of boxes, rectangles of frames, points of edges."""

    width: float
    height: float
    centres: list[Point]
    frames: list[tuple[float, float, float, float]]
    paths: list[list[Point]]


# A thing in a layer: ("box", n), ("frame", n), or ("way", source box, layer).
Thing = tuple[str, int, int]


@dataclass(slots=True)
class _Level:
    """The inside of one frame."""

    layer_of: dict[Thing, int] = field(default_factory=dict[Thing, int])
    layers: list[list[Thing]] = field(default_factory=list[list[Thing]])
    links: list[tuple[Thing, Thing]] = field(default_factory=list[tuple[Thing, Thing]])
    at: dict[Thing, Point] = field(default_factory=dict[Thing, Point])
    size: Point = (0.0, 0.0)


def lay_out(picture: Picture, sizes: Sequence[Point], label_widths: Sequence[float]) -> Layout:
    """Find places for everything in a picture.

    Args:
        picture: What to draw.
        sizes: Width and height of each box.
        label_widths: How wide the label of each frame is.
    """
    return _Layouter(picture, sizes, label_widths).layout()


class _Layouter:
    def __init__(
        self, picture: Picture, sizes: Sequence[Point], label_widths: Sequence[float]
    ) -> None:
        self._picture = picture
        self._sizes = sizes
        self._label_widths = label_widths
        self._ways = [self._way(box.group) for box in picture.boxes]
        self._levels: dict[int, _Level] = {}
        self._lanes: dict[int, int] = {}
        self._forward = [edge for edge in picture.edges if not edge.is_back]
        for edge in picture.edges:
            if edge.is_back:
                around = self._around(edge.source, edge.target)
                self._lanes[around] = self._lanes.get(around, 0) + 1
        self._flows = self._collect_flows()

    def _way(self, group: int) -> list[int]:
        """Return the frames around a box, outermost first, beginning with the whole (-1)."""
        way: list[int] = []
        while group >= 0:
            way.append(group)
            group = self._picture.clusters[group].parent
        return [-1, *reversed(way)]

    def _around(self, one: int, other: int) -> int:
        """Return the innermost frame around two boxes."""
        found = -1
        for first, second in zip(self._ways[one], self._ways[other], strict=False):
            if first != second:
                break
            found = first
        return found

    def _item(self, level: int, box: int) -> Thing | None:
        """Return what stands for a box on a level: itself, a frame around it, or nothing."""
        way = self._ways[box]
        depth = 0 if level < 0 else self._depth(level)
        if depth >= len(way) or way[depth] != level:
            return None
        return ("box", box, 0) if depth == len(way) - 1 else ("frame", way[depth + 1], 0)

    def _depth(self, level: int) -> int:
        depth = 0
        while level >= 0:
            depth += 1
            level = self._picture.clusters[level].parent
        return depth

    def _collect_flows(self) -> dict[int, dict[int, set[Thing | None]]]:
        """Return for each level: source box -> things on that level it leads to (None: out)."""
        flows: dict[int, dict[int, set[Thing | None]]] = {}
        for edge in self._forward:
            for level in {*self._ways[edge.source], *self._ways[edge.target]}:
                source = self._item(level, edge.source)
                target = self._item(level, edge.target)
                if source != target:
                    flows.setdefault(level, {}).setdefault(edge.source, set()).add(target)
        return flows

    # ---- one level -------------------------------------------------------------------------------

    def _lay_level(self, number: int) -> None:
        level = self._levels[number] = _Level()
        items: list[Thing] = [
            ("box", one, 0) for one, box in enumerate(self._picture.boxes) if box.group == number
        ]
        items += [
            ("frame", one, 0)
            for one, cluster in enumerate(self._picture.clusters)
            if cluster.parent == number
        ]
        items.sort(key=self._first_box)
        flows = self._flows.get(number, {})
        level.layer_of = self._assign_layers(number, items, flows)
        count = max(level.layer_of.values(), default=0) + 1
        level.layers = [[] for _ in range(count)]
        for item in items:
            level.layers[level.layer_of[item]].append(item)
        for source, targets in flows.items():
            self._add_flow(level, number, source, targets)
        _order(level)
        self._place(level, number)

    def _first_box(self, item: Thing) -> int:
        if item[0] == "box":
            return item[1]
        inside = [box for box, way in enumerate(self._ways) if item[1] in way]
        return min(inside, default=0)

    def _assign_layers(
        self, number: int, items: list[Thing], flows: dict[int, set[Thing | None]]
    ) -> dict[Thing, int]:
        """Give each thing the layer after the last of those that lead to it."""
        rank = {item: position for position, item in enumerate(items)}
        after: dict[Thing, set[Thing]] = {item: set() for item in items}
        for source, targets in flows.items():
            start = self._item(number, source)
            for target in targets:
                # What leads back to something earlier (through another frame) does not count.
                if start and target and rank[start] < rank[target]:
                    after[start].add(target)
        layers = dict.fromkeys(items, 0)
        for item in items:
            for target in after[item]:
                layers[target] = max(layers[target], layers[item] + 1)
        return layers

    def _add_flow(
        self, level: _Level, number: int, source: int, targets: set[Thing | None]
    ) -> None:
        """Add the way that all edges of one source share through the layers of a level."""
        start = self._item(number, source)
        first = level.layer_of[start] if start else -1
        last = len(level.layers) if None in targets else 0
        last = max([last, *(level.layer_of[target] for target in targets if target)])
        before = start
        for layer in range(first + 1, last):
            way: Thing = ("way", source, layer)
            level.layer_of[way] = layer
            level.layers[layer].append(way)
            if before:
                level.links.append((before, way))
            for target in targets:
                if target and level.layer_of[target] == layer and before:
                    level.links.append((before, target))
            before = way
        for target in targets:
            if target and level.layer_of[target] == last and before:
                level.links.append((before, target))

    def _size(self, thing: Thing) -> Point:
        if thing[0] == "box":
            return self._sizes[thing[1]]
        return self._levels[thing[1]].size if thing[0] == "frame" else (2.0, 0.0)

    def _place(self, level: _Level, number: int) -> None:
        """Give things their places within a level, the corner being (0, 0)."""
        columns = _columns(level, {thing: self._size(thing)[0] for thing in level.layer_of})
        left = min((columns[t] - self._size(t)[0] / 2 for t in columns), default=0.0)
        top = PADDING + (HEADER if number >= 0 else 0.0)
        for layer in level.layers:
            height = max((self._size(thing)[1] for thing in layer), default=0.0)
            for thing in layer:
                level.at[thing] = (columns[thing] - left + PADDING, top + height / 2)
            top += height + GAP_Y
        right = max((level.at[t][0] + self._size(t)[0] / 2 for t in columns), default=0.0)
        width = right + PADDING + LANE * self._lanes.get(number, 0)
        if number >= 0 and width < self._label_widths[number] + 2 * PADDING:
            more = self._label_widths[number] + 2 * PADDING - width
            level.at = {thing: (x + more / 2, y) for thing, (x, y) in level.at.items()}
            width += more
        level.size = (width, max(top - GAP_Y, 0.0) + PADDING)

    # ---- everything ------------------------------------------------------------------------------

    def layout(self) -> Layout:
        """Return all places."""
        for number in range(len(self._picture.clusters) - 1, -2, -1):
            self._lay_level(number)
        corners: dict[int, Point] = {-1: (0.0, 0.0)}
        frames: list[tuple[float, float, float, float]] = []
        for number, cluster in enumerate(self._picture.clusters):
            x, y = self._absolute(corners, cluster.parent, ("frame", number, 0))
            width, height = self._levels[number].size
            corners[number] = (x - width / 2, y - height / 2)
            frames.append((*corners[number], width, height))
        centres = [
            self._absolute(corners, box.group, ("box", number, 0))
            for number, box in enumerate(self._picture.boxes)
        ]
        paths = self._paths(corners, centres)
        width, height = self._levels[-1].size
        return Layout(width, height, centres, frames, paths)

    def _absolute(self, corners: dict[int, Point], level: int, thing: Thing) -> Point:
        x, y = self._levels[level].at[thing]
        return corners[level][0] + x, corners[level][1] + y

    def _paths(self, corners: dict[int, Point], centres: list[Point]) -> list[list[Point]]:
        used: dict[int, int] = {}
        paths: list[list[Point]] = []
        for edge in self._picture.edges:
            if edge.is_back:
                paths.append(self._path_back(edge.source, edge.target, corners, centres, used))
            else:
                paths.append(self._path(edge.source, edge.target, corners, centres))
        self._spread(paths)
        return paths

    def _path(
        self, source: int, target: int, corners: dict[int, Point], centres: list[Point]
    ) -> list[Point]:
        """Return the points of an edge: down through the layers, out of frames and into others."""
        x, y = centres[source]
        points = [(x, y + self._sizes[source][1] / 2)]
        around = self._around(source, target)
        up = self._ways[source][self._ways[source].index(around) :]
        down = self._ways[target][self._ways[target].index(around) + 1 :]
        for level in [*reversed(up), *down]:
            here = self._levels[level]
            start = self._item(level, source)
            end = self._item(level, target)
            first = here.layer_of[start] if start else -1
            last = here.layer_of[end] if end else len(here.layers)
            points += [
                self._absolute(corners, level, ("way", source, layer))
                for layer in range(first + 1, last)
            ]
        x, y = centres[target]
        points.append((x, y - self._sizes[target][1] / 2))
        return points

    def _path_back(
        self,
        source: int,
        target: int,
        corners: dict[int, Point],
        centres: list[Point],
        used: dict[int, int],
    ) -> list[Point]:
        """Return the points of an edge to the next round: out to the right and up.

        Where another box stands in the way it leaves at the bottom, or comes in at the top.
        """
        around = self._around(source, target)
        lane = used[around] = used.get(around, 0) + 1
        x = self._right(around) + corners[around][0] + LANE * lane
        (x1, y1), (x2, y2) = centres[source], centres[target]
        (width1, height1), (width2, height2) = self._sizes[source], self._sizes[target]
        shift = 5.0 if source == target else 0.0
        points = [(x1 + width1 / 2, y1 + shift), (x, y1 + shift)]
        if self._is_blocked(source, x, centres):
            at, bottom = x1 + width1 / 4, y1 + height1 / 2
            points = [(at, bottom), (at, bottom + DETOUR), (x, bottom + DETOUR)]
        if self._is_blocked(target, x, centres):
            at, top = x2 + width2 / 4, y2 - height2 / 2
            return [*points, (x, top - DETOUR), (at, top - DETOUR), (at, top)]
        return [*points, (x, y2 - shift), (x2 + width2 / 2, y2 - shift)]

    def _is_blocked(self, box: int, right: float, centres: list[Point]) -> bool:
        """Tell whether another box stands between a box and a place on its right."""
        x, y = centres[box]
        for other, (other_x, other_y) in enumerate(centres):
            width, height = self._sizes[other]
            if x < other_x - width / 2 < right and abs(y - other_y) < height / 2 + 4:
                return True
        return False

    def _right(self, number: int) -> float:
        """Return where the things of a level end on the right."""
        at = self._levels[number].at
        return max(x + self._size(thing)[0] / 2 for thing, (x, _) in at.items())

    def _spread(self, paths: list[list[Point]]) -> None:
        """Let edges that come into one box end side by side."""
        coming: dict[int, list[int]] = {}
        for number, edge in enumerate(self._picture.edges):
            if not edge.is_back and self._picture.boxes[edge.target].kind != "decision":
                coming.setdefault(edge.target, []).append(number)
        for target, numbers in coming.items():
            numbers.sort(key=lambda number: paths[number][-2][0])
            step = min(16.0, self._sizes[target][0] / (len(numbers) + 1))
            for position, number in enumerate(numbers):
                shift = (position - (len(numbers) - 1) / 2) * step
                x, y = paths[number][-1]
                paths[number][-1] = (x + shift, y)


def _order(level: _Level) -> None:
    """Order each layer by the mean place of the neighbours, down and up a few times."""
    above, below = _neighbours(level)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        layers = level.layers if down else level.layers[::-1]
        for fixed, layer in pairwise(layers):
            places = {thing: float(position) for position, thing in enumerate(fixed)}
            wanted: dict[Thing, float] = {}
            for position, thing in enumerate(layer):
                known = [places[one] for one in near.get(thing, []) if one in places]
                wanted[thing] = sum(known) / len(known) if known else float(position)
            layer.sort(key=wanted.__getitem__)


def _neighbours(level: _Level) -> tuple[dict[Thing, list[Thing]], dict[Thing, list[Thing]]]:
    above: dict[Thing, list[Thing]] = {}
    below: dict[Thing, list[Thing]] = {}
    for first, second in level.links:
        above.setdefault(second, []).append(first)
        below.setdefault(first, []).append(second)
    return above, below


def _columns(level: _Level, widths: dict[Thing, float]) -> dict[Thing, float]:
    """Return a centre for each thing: near its neighbours, in order, without overlap."""
    above, below = _neighbours(level)
    columns: dict[Thing, float] = {}
    for layer in level.layers:
        total = sum(widths[thing] + GAP_X for thing in layer)
        x = -total / 2
        for thing in layer:
            columns[thing] = x + widths[thing] / 2
            x += widths[thing] + GAP_X
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for layer in level.layers if down else level.layers[::-1]:
            wanted: list[float] = []
            for thing in layer:
                known = [columns[one] for one in near.get(thing, [])]
                wanted.append(sum(known) / len(known) if known else columns[thing])
            columns.update(zip(layer, _apart(wanted, layer, widths), strict=True))
    return columns


def _apart(wanted: list[float], layer: list[Thing], widths: dict[Thing, float]) -> list[float]:
    """Return places as near to the wanted ones as can be, in order and apart (least squares)."""
    offsets = [0.0] if layer else []
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + (widths[one] + widths[other]) / 2 + GAP_X)
    blocks: list[list[float]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        blocks.append([want - offset, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, weight = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
            last[1] += weight
    values = [mean for mean, weight in blocks for _ in range(int(weight))]
    return [value + offset for value, offset in zip(values, offsets, strict=True)]
