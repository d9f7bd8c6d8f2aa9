"""Take nested containers apart into a flat list of leaves, and build them again.

A tree is any nesting of list, tuple, named tuple, dict, OrderedDict, defaultdict, deque and classes
registered here. Everything else is a leaf, None and unregistered subclasses included. Nothing here
recurses, so only memory bounds the depth of a tree.

Example:
    >>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3, None)})
    >>> leaves
    [1, 2, 3, None]
    >>> spec
    TreeSpec({'a': [*, *], 'b': (*, *)})
    >>> tree_unflatten([10, 20, 30, 40], spec)
    {'a': [10, 20], 'b': (30, 40)}
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Any, NamedTuple, TypeAlias, cast

from weft._missing import explain_missing

PyTree: TypeAlias = Any
Context: TypeAlias = Any
IsLeaf: TypeAlias = Callable[[PyTree], bool]
KeyPath: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class SequenceKey:
    """Name a child by its position.

    Example:
        >>> import weft
        >>> str(weft.pytree.SequenceKey(0))
        '[0]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclass(frozen=True)
class MappingKey:
    """Name a child by its key in a dict.

    Example:
        >>> import weft
        >>> str(weft.pytree.MappingKey("weight"))
        "['weight']"
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """Name a child by its attribute.

    Example:
        >>> import weft
        >>> str(weft.pytree.GetAttrKey("mean"))
        '.mean'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


def keystr(path: Iterable[Any]) -> str:
    """Write a path as the Python that reaches the leaf.

    Example:
        >>> keystr((MappingKey("a"), SequenceKey(0), GetAttrKey("weight")))
        "['a'][0].weight"
    """
    return "".join(map(str, path))


FlattenFunction: TypeAlias = Callable[[Any], tuple[Iterable[Any], Context]]
UnflattenFunction: TypeAlias = Callable[[list[Any], Context], Any]
KeyedFlattenFunction: TypeAlias = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Context]]


def _positions(_context: Context, count: int) -> Iterable[Any]:
    return map(SequenceKey, range(count))


def _attributes(names: Iterable[str], _count: int) -> Iterable[Any]:
    return map(GetAttrKey, names)


@dataclass(frozen=True)
class _Kind:
    """How one kind of container comes apart and goes together.

    The context is what a container is besides its children, such as a dict's keys; two structures
    are equal where their contexts are.
    """

    flatten: FlattenFunction
    unflatten: Callable[[type, Context, list[Any]], Any]
    keys: Callable[[Context, int], Iterable[Any]] = _positions
    flatten_with_keys: KeyedFlattenFunction | None = None

    def keyed(self, tree: Any) -> tuple[list[Any], list[Any], Context]:
        """Take a container apart into keys, children and context."""
        if self.flatten_with_keys is not None:
            pairs, context = self.flatten_with_keys(tree)
            pairs = list(pairs)
            return [key for key, _ in pairs], [child for _, child in pairs], context
        children, context = self.flatten(tree)
        children = list(children)
        return list(self.keys(context, len(children))), children, context


def _dict_keys(keys: Iterable[Any], _count: int) -> Iterable[Any]:
    return map(MappingKey, keys)


_NAMED_TUPLE = _Kind(
    flatten=lambda tree: (tree, tree._fields),
    # _make goes past a __new__ of the user's that takes other arguments.
    unflatten=lambda cls, _names, children: cast("Any", cls)._make(children),
    keys=_attributes,
)
_KINDS: dict[type, _Kind] = {
    list: _Kind(
        flatten=lambda tree: (tree, None),
        unflatten=lambda _cls, _context, children: children,
    ),
    tuple: _Kind(
        flatten=lambda tree: (tree, None),
        unflatten=lambda _cls, _context, children: tuple(children),
    ),
    deque: _Kind(
        flatten=lambda tree: (tree, tree.maxlen),
        unflatten=lambda _cls, length, children: deque(children, maxlen=length),
    ),
    dict: _Kind(
        flatten=lambda tree: (tree.values(), tuple(tree)),
        unflatten=lambda _cls, keys, children: dict(zip(keys, children, strict=True)),
        keys=_dict_keys,
    ),
    OrderedDict: _Kind(
        flatten=lambda tree: (tree.values(), tuple(tree)),
        unflatten=lambda _cls, keys, children: OrderedDict(zip(keys, children, strict=True)),
        keys=_dict_keys,
    ),
    defaultdict: _Kind(
        flatten=lambda tree: (tree.values(), (tree.default_factory, tuple(tree))),
        unflatten=lambda _cls, context, children: defaultdict(
            context[0], zip(context[1], children, strict=True)
        ),
        keys=lambda context, count: _dict_keys(context[1], count),
    ),
}
# Where trees are matched with each other these three are one kind: the keys decide.
_MAPPINGS = (dict, OrderedDict, defaultdict)


def _class_of(value: object) -> type:
    return type(value)


def _kind_of(cls: type) -> _Kind | None:
    """Return how instances of exactly this class come apart; None for leaves."""
    kind = _KINDS.get(cls)
    if kind is None and tuple in cls.__mro__ and isinstance(getattr(cls, "_fields", None), tuple):
        return _NAMED_TUPLE
    return kind


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunction,
    unflatten_fn: UnflattenFunction,
    *,
    flatten_with_keys_fn: KeyedFlattenFunction | None = None,
) -> None:
    """Make instances of a class containers; its subclasses stay leaves.

    Args:
        cls: the class.
        flatten_fn: takes an instance, returns its children and a context: whatever else is needed
            to build it again. Contexts are compared with `==`.
        unflatten_fn: takes the list of children and the context, returns an instance.
        flatten_with_keys_fn: as flatten_fn, but returns (key, child) pairs. Without it children go
            by their positions in paths.

    Raises:
        ValueError: if the class is a container already.

    Example:
        >>> class Pair:
        ...     def __init__(self, left, right):
        ...         self.left, self.right = left, right
        >>> register_pytree_node(
        ...     Pair, lambda pair: ((pair.left, pair.right), None), lambda two, _: Pair(*two)
        ... )
        >>> tree_leaves([Pair(1, 2), 3])
        [1, 2, 3]
    """
    if _kind_of(cls) is not None:
        raise ValueError(f"register_pytree_node: {cls.__qualname__} is a container already")
    _KINDS[cls] = _Kind(
        flatten=flatten_fn,
        unflatten=lambda _cls, context, children: unflatten_fn(children, context),
        flatten_with_keys=flatten_with_keys_fn,
    )


class _DataclassContext(NamedTuple):
    children: tuple[str, ...]
    others: tuple[tuple[str, Any], ...]


def register_dataclass(cls: type, *, field_names: Iterable[str] | None = None) -> None:
    """Make instances of a dataclass containers; its subclasses stay leaves.

    Args:
        cls: the dataclass.
        field_names: the fields that hold children (all that `__init__` takes, if not given). The
            other fields belong to the structure.

    Raises:
        TypeError: if the class is no dataclass.
        ValueError: if a name is not a field that `__init__` takes, or the class is a container
            already.

    Example:
        >>> @dataclasses.dataclass
        ... class Batch:
        ...     words: list
        ...     language: str
        >>> register_dataclass(Batch, field_names=["words"])
        >>> tree_map(str.upper, Batch(["a", "b"], "en"))
        Batch(words=['A', 'B'], language='en')
    """
    title = cls.__qualname__
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass: {title} is not a dataclass")
    every = [field.name for field in dataclasses.fields(cls) if field.init]
    names = tuple(every if field_names is None else field_names)
    for name in names:
        if name not in every:
            raise ValueError(f"register_dataclass: {title} takes no field {name!r}")

    def flatten(tree: Any) -> tuple[list[Any], _DataclassContext]:
        others = tuple((name, getattr(tree, name)) for name in every if name not in names)
        return [getattr(tree, name) for name in names], _DataclassContext(names, others)

    def unflatten(children: list[Any], context: _DataclassContext) -> Any:
        return cls(**dict(zip(names, children, strict=True)), **dict(context.others))

    def flatten_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], _DataclassContext]:
        children, context = flatten(tree)
        return list(zip(map(GetAttrKey, names), children, strict=True)), context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)


class _Node(NamedTuple):
    """One container or leaf of a structure."""

    type: type | None  # None for a leaf
    context: Context
    arity: int


_LEAF = _Node(None, None, 0)


def _kind_of_node(node: _Node) -> _Kind:
    kind = None if node.type is None else _kind_of(node.type)
    if kind is None:
        raise TypeError(f"pytree: {node.type} is not a registered container")
    return kind


@dataclass(frozen=True, repr=False)
class TreeSpec:
    """The structure of a tree without its leaves: it can be compared, hashed and printed.

    Example:
        >>> import weft
        >>> spec = weft.pytree.tree_structure({"a": [1, 2], "b": 3})
        >>> spec.num_leaves
        3
    """

    # Flat, each container before its children: comparing, hashing and freeing cannot overflow.
    nodes: tuple[_Node, ...]

    @property
    def type(self) -> type | None:
        """The class of the outermost container; None if the tree is one leaf."""
        return self.nodes[0].type

    @property
    def context(self) -> Context:
        """What the outermost container is besides its children."""
        return self.nodes[0].context

    @property
    def num_children(self) -> int:
        """How many children the outermost container has."""
        return self.nodes[0].arity

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves the tree has."""
        return len(self.nodes)

    @cached_property
    def num_leaves(self) -> int:
        """How many leaves the tree has."""
        return sum(node.type is None for node in self.nodes)

    def is_leaf(self) -> bool:
        """Tell whether the tree is one leaf.

        Example:
            >>> import weft
            >>> weft.pytree.tree_structure(5).is_leaf(), weft.pytree.tree_structure([5]).is_leaf()
            (True, False)
        """
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the structures of the outermost container's children.

        Example:
            >>> import weft
            >>> len(weft.pytree.tree_structure({"a": [1, 2], "b": 3}).children())
            2
        """
        found: list[TreeSpec] = []
        start = 1
        while start < len(self.nodes):
            end, missing = start, 1
            while missing:
                missing += self.nodes[end].arity - 1
                end += 1
            found.append(TreeSpec(self.nodes[start:end]))
            start = end
        return found

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Build a tree of this structure; see `tree_unflatten`.

        Example:
            >>> import weft
            >>> weft.pytree.tree_structure({"a": 1, "b": 2}).unflatten([10, 20])
            {'a': 10, 'b': 20}
        """
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Return the parts of a tree that stand where this structure has its leaves.

        Dicts are matched by their keys, whatever their order.

        Raises:
            ValueError: if the tree has another structure; the message names the place.

        Example:
            >>> tree_structure({"a": 0, "b": 0}).flatten_up_to({"b": [1, 2], "a": 3})
            [3, [1, 2]]
        """
        return _flatten_up_to(self, tree, "flatten_up_to: the tree does not match the structure")

    def __hash__(self) -> int:
        total = 0
        for node in self.nodes:
            try:
                total = hash((total, node))
            except TypeError:  # a context that cannot be hashed, of a registered class
                total = hash((total, node.type, node.arity))
        return total

    def __repr__(self) -> str:
        parts: list[str] = []
        # For each open container: the texts before its next children, and the closing bracket.
        frames: list[tuple[list[str], str]] = []
        for node in self.nodes:
            if frames:
                parts.append(frames[-1][0].pop())
            if node.type is None:
                parts.append("*")
            else:
                opening, labels, closing = _brackets(node)
                parts.append(opening)
                frames.append((labels[::-1], closing))
            while frames and not frames[-1][0]:
                parts.append(frames.pop()[1])
        return f"TreeSpec({''.join(parts)})"


def _brackets(node: _Node) -> tuple[str, list[str], str]:
    """Return what is written before a container's children, before each of them, and behind."""
    cls, context, arity = node
    name = "" if cls is None else cls.__name__
    labels = [""] * arity
    if cls in _MAPPINGS:
        labels = [f"{key.key!r}: " for key in _kind_of_node(node).keys(context, arity)]
    elif isinstance(context, _DataclassContext):
        labels = [f"{field}=" for field in context.children]
    elif _is_named_tuple(node):
        labels = [f"{field}=" for field in context]
    labels = [f", {label}" if i else label for i, label in enumerate(labels)]
    if cls is list:
        return "[", labels, "]"
    if cls is tuple:
        return "(", labels, ",)" if arity == 1 else ")"
    if cls is deque:
        return "deque([", labels, "])" if context is None else f"], maxlen={context})"
    if cls is dict:
        return "{", labels, "}"
    if cls is OrderedDict:
        return "OrderedDict({", labels, "})"
    if cls is defaultdict:
        factory = getattr(context[0], "__name__", repr(context[0]))
        return f"defaultdict({factory}, {{", labels, "})"
    if isinstance(context, _DataclassContext):
        others = "".join(f", {other}={value!r}" for other, value in context.others)
        return f"{name}(", labels, f"{others})" if arity else f"{others[2:]})"
    if context is None or _is_named_tuple(node):
        return f"{name}(", labels, ")"
    return f"{name}[{context!r}](", labels, ")"


def _is_named_tuple(node: _Node) -> bool:
    return node.type is not None and _kind_of(node.type) is _NAMED_TUPLE


def _flatten(
    tree: PyTree, is_leaf: IsLeaf | None, paths: list[KeyPath] | None
) -> tuple[list[Any], TreeSpec]:
    """Take a tree apart, adding each leaf's path to `paths` unless that is None."""
    leaves: list[Any] = []
    nodes: list[_Node] = []
    # One entry for each open container, plus one at the bottom that holds the tree itself.
    pending: list[Iterator[Any]] = [iter((tree,))]
    keys: list[Iterator[Any]] = [iter((None,))]
    path: list[Any] = [None]
    open_containers: dict[int, Any] = {}
    while pending:
        for item in pending[-1]:
            if paths is not None:
                path[-1] = next(keys[-1])
            cls = _class_of(item)
            kind = _kind_of(cls)
            if kind is None or (is_leaf is not None and is_leaf(item)):
                leaves.append(item)
                nodes.append(_LEAF)
                if paths is not None:
                    paths.append(tuple(path[1:]))
                continue
            if id(item) in open_containers:
                raise ValueError(f"pytree: a {cls.__name__} contains itself")
            open_containers[id(item)] = item
            if paths is None:
                children, context = kind.flatten(item)
                children = list(children)
            else:
                names, children, context = kind.keyed(item)
                keys.append(iter(names))
                path.append(None)
            nodes.append(_Node(cls, context, len(children)))
            pending.append(iter(children))
            break
        else:
            pending.pop()
            if pending:
                open_containers.popitem()
            if paths is not None:
                keys.pop()
                path.pop()
    return leaves, TreeSpec(tuple(nodes))


def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """Take a tree apart into its leaves and its structure.

    Args:
        tree: the tree.
        is_leaf: tells of a container that it is to be taken as a leaf.

    Raises:
        ValueError: if a container contains itself.

    Example:
        >>> tree_flatten([1, (2, 3)], is_leaf=lambda item: isinstance(item, tuple))
        ([1, (2, 3)], TreeSpec([*, *]))
    """
    return _flatten(tree, is_leaf, None)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Take a tree apart into its leaves, each with its path, and its structure.

    Example:
        >>> pairs, _ = tree_flatten_with_path({"a": [1, 2]})
        >>> [(keystr(path), leaf) for path, leaf in pairs]
        [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    paths: list[KeyPath] = []
    leaves, spec = _flatten(tree, is_leaf, paths)
    return list(zip(paths, leaves, strict=True)), spec


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return a tree's leaves.

    Example:
        >>> tree_leaves({"a": 1, "b": [2, None]})
        [1, 2, None]
    """
    return _flatten(tree, is_leaf, None)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """Return a tree's structure.

    Example:
        >>> tree_structure((1, [2])) == tree_structure((3, [4]))
        True
    """
    return _flatten(tree, is_leaf, None)[1]


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Build a tree from its leaves and its structure.

    Raises:
        TypeError: if treespec is no TreeSpec.
        ValueError: if the structure has another number of leaves.

    Example:
        >>> tree_unflatten([1, 2, 3], tree_structure((0, [0, 0])))
        (1, [2, 3])
    """
    if not isinstance(treespec, TreeSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"tree_unflatten: treespec must be a TreeSpec, not {type(treespec)}")
    remaining = list(leaves)
    if len(remaining) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: the structure has {treespec.num_leaves} leaves; "
            f"{len(remaining)} were given"
        )
    # Backwards: when a container comes up, its children are built and lie on top, first uppermost.
    built: list[Any] = []
    for node in reversed(treespec.nodes):
        if node.type is None:
            built.append(remaining.pop())
        else:
            children = [built.pop() for _ in range(node.arity)]
            built.append(_kind_of_node(node).unflatten(node.type, node.context, children))
    return built.pop()


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Build a tree of the first one's structure from the results of a function on the leaves.

    Args:
        func: takes one leaf of each tree.
        tree: the tree whose structure counts.
        rests: other trees. Where the first has a leaf they may have whole containers.
        is_leaf: tells of a container of the first tree that it is to be taken as a leaf.

    Raises:
        ValueError: if another tree does not match the first; the message names the place.

    Example:
        >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"b": [20], "a": 10})
        {'a': 11, 'b': [22]}
    """
    leaves, spec = _flatten(tree, is_leaf, None)
    columns = [leaves, *_matched(spec, rests, "tree_map")]
    return tree_unflatten(map(func, *columns), spec)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Do as `tree_map`, with the leaf's path as the function's first argument.

    Example:
        >>> tree_map_with_path(lambda path, leaf: keystr(path) + "=" + str(leaf), {"a": [1, 2]})
        {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    paths: list[KeyPath] = []
    leaves, spec = _flatten(tree, is_leaf, paths)
    columns = [paths, leaves, *_matched(spec, rests, "tree_map_with_path")]
    return tree_unflatten(map(func, *columns), spec)


def tree_map_only(
    type_or_types_or_pred: type | tuple[type, ...] | UnionType | Callable[[Any], bool],
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """Do as `tree_map`, but leave alone the leaves of other types.

    Args:
        type_or_types_or_pred: a type, a tuple or union of types, or a function that tells of a
            leaf whether it is meant.
        func: takes one leaf.
        tree: the tree.
        is_leaf: tells of a container that it is to be taken as a leaf.

    Example:
        >>> tree_map_only(int, lambda x: -x, [1, "a", (2.5, 3)])
        [-1, 'a', (2.5, -3)]
    """
    chosen = type_or_types_or_pred

    def convert(leaf: Any) -> Any:
        if isinstance(chosen, type | tuple | UnionType):
            return func(leaf) if isinstance(leaf, chosen) else leaf
        return func(leaf) if chosen(leaf) else leaf

    return tree_map(convert, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether something is true of all leaves.

    Example:
        >>> tree_all(lambda leaf: leaf > 0, [1, (2, {"a": 3})])
        True
    """
    return all(map(pred, _flatten(tree, is_leaf, None)[0]))


def _matched(spec: TreeSpec, rests: tuple[PyTree, ...], caller: str) -> Iterator[list[PyTree]]:
    for number, other in enumerate(rests, start=2):
        yield _flatten_up_to(spec, other, f"{caller}: tree {number} does not match tree 1")


def _flatten_up_to(spec: TreeSpec, tree: PyTree, complaint: str) -> list[PyTree]:
    found: list[PyTree] = []
    stack: list[PyTree] = [tree]
    for index, node in enumerate(spec.nodes):
        part = stack.pop()
        if node.type is None:
            found.append(part)
            continue
        children, difference = _matching_children(node, part)
        if difference:
            place = keystr(_path_to(spec, index, tree)) or "the root"
            raise ValueError(f"{complaint} at {place}: {difference}")
        stack.extend(reversed(children))
    return found


def _matching_children(node: _Node, tree: PyTree) -> tuple[list[PyTree], str]:
    """Return the children of a container like the node's, or else say how it differs."""
    cls = _class_of(tree)
    if node.type in _MAPPINGS and cls in _MAPPINGS:
        wanted = [key.key for key in _kind_of_node(node).keys(node.context, node.arity)]
        missing = [key for key in wanted if key not in tree]
        extra = [key for key in tree if key not in set(wanted)]
        if missing or extra:
            facts = [("missing", missing), ("unexpected", extra)]
            texts = [f"{what} keys {', '.join(map(repr, keys))}" for what, keys in facts if keys]
            return [], " and ".join(texts)
        return [tree[key] for key in wanted], ""
    kind = _kind_of(cls)
    if kind is None:
        return [], f"expected {_described(node)}, found a leaf of type {cls.__name__}"
    children, context = kind.flatten(tree)
    children = list(children)
    other = _Node(cls, context, len(children))
    # A deque's bound says nothing of its children.
    if (cls, len(children)) == (node.type, node.arity) and (
        cls is deque or context == node.context
    ):
        return children, ""
    return [], f"expected {_described(node)}, found {_described(other)}"


def _described(node: _Node) -> str:
    """Describe a container for an error message."""
    name = "" if node.type is None else node.type.__name__
    kind = _kind_of_node(node)
    is_own = kind is _NAMED_TUPLE or node.type in (list, tuple, deque, *_MAPPINGS)
    context = "" if is_own or node.context is None else f" with context {node.context!r}"
    return f"a {name} of {node.arity}{context}"


def _path_to(spec: TreeSpec, index: int, tree: PyTree) -> KeyPath:
    """Return the path to one node of a structure, in a tree that matches it up to there."""
    # Which child of each open container the node lies in, and how many that container has.
    trail: list[tuple[int, int]] = []
    for node in spec.nodes[:index]:
        if node.arity:
            trail.append((0, node.arity))
            continue
        while trail:
            position, arity = trail.pop()
            if position + 1 < arity:
                trail.append((position + 1, arity))
                break
    path: list[Any] = []
    at = 0
    for position, _ in trail:
        node = spec.nodes[at]
        kind = _kind_of_node(node)
        if node.type in _MAPPINGS:
            key = list(kind.keys(node.context, node.arity))[position]
            tree = tree[key.key]
        else:
            keys, children, _ = kind.keyed(tree)
            key, tree = keys[position], children[position]
        path.append(key)
        at += 1
        for _ in range(position):
            missing = 1
            while missing:
                missing += spec.nodes[at].arity - 1
                at += 1
    return tuple(path)


explain_missing(__name__)
