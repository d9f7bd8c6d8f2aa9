"""Trees come apart and go together again, at any depth."""

from __future__ import annotations

import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.pytree import (
    GetAttrKey,
    MappingKey,
    SequenceKey,
    TreeSpec,
    keystr,
    register_dataclass,
    register_pytree_node,
    tree_all,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_map_with_path,
    tree_structure,
    tree_unflatten,
)

DEPTH = 10_000


class Point(NamedTuple):
    x: Any
    y: Any


class Shifted(namedtuple("Shifted", ["x", "y"])):  # noqa: PYI024 (a __new__ of its own)
    __slots__ = ()

    def __new__(cls, x: int) -> Self:
        return super().__new__(cls, x, x + 1)


class Pair:
    def __init__(self, left: Any, right: Any, label: Any = None) -> None:
        self.left, self.right, self.label = left, right, label


register_pytree_node(
    Pair,
    lambda pair: ((pair.left, pair.right), pair.label),
    lambda children, label: Pair(*children, label),
    flatten_with_keys_fn=lambda pair: (
        [(GetAttrKey("left"), pair.left), (GetAttrKey("right"), pair.right)],
        pair.label,
    ),
)


class Bag:
    def __init__(self, items: list[Any]) -> None:
        self.items = items


register_pytree_node(Bag, lambda bag: (bag.items, None), lambda children, _: Bag(children))


@dataclasses.dataclass
class Batch:
    words: Any
    weight: Any
    language: str = "en"


register_dataclass(Batch, field_names=["words", "weight"])


@dataclasses.dataclass
class Whole:
    a: Any
    b: Any
    total: int = dataclasses.field(init=False, default=0)


register_dataclass(Whole)


class ListSubclass(list):
    pass


def deep(wrap: Any, leaf: Any = 1, depth: int = DEPTH) -> Any:
    tree = leaf
    for _ in range(depth):
        tree = wrap(tree)
    return tree


SAMPLES = [
    1,
    None,
    [],
    (),
    {},
    [1, 2, 3],
    (1,),
    (1, [2, (3, {"a": 4})]),
    {"b": 1, "a": [2, None]},
    OrderedDict([("z", 1), ("a", (2, 3))]),
    defaultdict(list, {"a": [1], 2: ()}),
    deque([1, [2]], maxlen=5),
    Point(1, [2, Point(3, 4)]),
    Shifted(1),
    [[], [[]], ((), {}), 1],
    Batch([1, 2], 3.0, "de"),
    Whole(1, [2]),
]


@pytest.mark.parametrize("tree", SAMPLES, ids=repr)
def test_unflatten_undoes_flatten(tree: Any) -> None:
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert tree_structure(again) == spec
    assert hash(tree_structure(again)) == hash(spec)
    assert tree_leaves(tree) == leaves
    pairs, keyed_spec = tree_flatten_with_path(tree)
    assert [leaf for _, leaf in pairs] == leaves
    assert keyed_spec == spec


def trees() -> st.SearchStrategy[Any]:
    def extend(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(children, max_size=4)
        named = st.dictionaries(st.text(max_size=2) | st.integers(), children, max_size=4)
        return (
            several
            | several.map(tuple)
            | several.map(deque)
            | named
            | named.map(OrderedDict)
            | named.map(lambda items: defaultdict(int, items))
            | st.builds(Point, children, children)
            | st.builds(Batch, children, children, st.text(max_size=1))
        )

    return st.recursive(st.integers() | st.none() | st.text(max_size=3), extend, max_leaves=20)


@given(trees())
def test_random_trees_go_together_again(tree: Any) -> None:
    leaves, spec = tree_flatten(tree)
    assert tree_unflatten(leaves, spec) == tree
    assert spec.num_nodes == 1 + sum(child.num_nodes for child in spec.children())
    pairs, _ = tree_flatten_with_path(tree)
    for path, leaf in pairs:
        assert reached(tree, path) is leaf


@given(trees(), trees())
def test_specs_are_equal_where_their_texts_are(first: Any, second: Any) -> None:
    one, two = tree_structure(first), tree_structure(second)
    assert (one == two) == (repr(one) == repr(two))


def reached(tree: Any, path: Any) -> Any:
    """Follow a path by hand."""
    for key in path:
        if isinstance(key, GetAttrKey):
            tree = getattr(tree, key.name)
        elif isinstance(key, MappingKey):
            tree = tree[key.key]
        else:
            tree = tree[key.idx]
    return tree


def test_none_and_unregistered_subclasses_are_leaves() -> None:
    odd = ListSubclass([1, 2])
    assert tree_leaves([None, odd]) == [None, odd]
    assert tree_structure(None).is_leaf()


def test_dicts_keep_insertion_order() -> None:
    tree = {"b": 1, "a": 2}
    assert tree_leaves(tree) == [1, 2]
    assert list(tree_map(lambda leaf: leaf, tree)) == ["b", "a"]


def test_what_a_container_is_besides_its_children_survives() -> None:
    assert tree_map(str, deque([1], maxlen=3)).maxlen == 3
    assert tree_map(str, defaultdict(set, a=1)).default_factory is set
    assert tree_map(str, Pair(1, 2, "label")).label == "label"
    assert tree_map(str, Batch(1, 2, "fr")) == Batch("1", "2", "fr")


def test_unflatten_copies_lists() -> None:
    tree = [1, 2]
    assert tree_map(lambda leaf: leaf, tree) is not tree


def test_is_leaf_stops_the_walk() -> None:
    leaves, spec = tree_flatten([(1, 2), [3]], is_leaf=lambda item: isinstance(item, tuple))
    assert leaves == [(1, 2), 3]
    assert spec == tree_structure([0, [0]])


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (1, "TreeSpec(*)"),
        ([], "TreeSpec([])"),
        ((1,), "TreeSpec((*,))"),
        ((1, [2, ()]), "TreeSpec((*, [*, ()]))"),
        ({"a": 1, 2: [3]}, "TreeSpec({'a': *, 2: [*]})"),
        (OrderedDict(a=1), "TreeSpec(OrderedDict({'a': *}))"),
        (defaultdict(list, a=1), "TreeSpec(defaultdict(list, {'a': *}))"),
        (deque([1, 2]), "TreeSpec(deque([*, *]))"),
        (deque([1], maxlen=2), "TreeSpec(deque([*], maxlen=2))"),
        (Point(1, (2, 3)), "TreeSpec(Point(x=*, y=(*, *)))"),
        (Pair(1, 2), "TreeSpec(Pair(*, *))"),
        (Pair(1, [2], "label"), "TreeSpec(Pair['label'](*, [*]))"),
        (Batch([1], 2), "TreeSpec(Batch(words=[*], weight=*, language='en'))"),
    ],
    ids=repr,
)
def test_spec_text(tree: Any, text: str) -> None:
    assert repr(tree_structure(tree)) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, [1]),
        ([1], (1,)),
        ([1, 2], [1]),
        ([[1], 2], [1, [2]]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, OrderedDict(a=1)),
        (defaultdict(int, a=1), defaultdict(list, a=1)),
        (deque([1]), deque([1], maxlen=1)),
        (Point(1, 2), Shifted(1)),
        (Pair(1, 2, "a"), Pair(1, 2, "b")),
    ],
    ids=repr,
)
def test_specs_differ(one: Any, other: Any) -> None:
    assert tree_structure(one) != tree_structure(other)


def test_spec_parts() -> None:
    spec = tree_structure({"a": [1, 2], "b": 3})
    assert (spec.type, spec.context, spec.num_children) == (dict, ("a", "b"), 2)
    assert (spec.num_leaves, spec.num_nodes, spec.is_leaf()) == (3, 5, False)
    assert spec.children() == [tree_structure([0, 0]), tree_structure(0)]
    assert spec.unflatten([4, 5, 6]) == {"a": [4, 5], "b": 6}
    assert spec != "something else"


def test_specs_can_be_pickled_and_used_as_keys() -> None:
    spec = tree_structure([1, {"a": defaultdict(list, b=2)}, Point(3, 4)])
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert {spec: 1}[tree_structure([5, {"a": defaultdict(list, b=6)}, Point(7, 8)])] == 1


def test_spec_with_unhashable_context_has_a_hash() -> None:
    one, same = tree_structure(Pair(1, 2, ["list"])), tree_structure(Pair(3, 4, ["list"]))
    assert one == same
    assert hash(one) == hash(same)


def test_paths() -> None:
    tree = {"a": [1, Point(2, 3)], 4: Pair(5, Batch(6, 7)), "bag": Bag([8])}
    pairs, _ = tree_flatten_with_path(tree)
    assert [(keystr(path), leaf) for path, leaf in pairs] == [
        ("['a'][0]", 1),
        ("['a'][1].x", 2),
        ("['a'][1].y", 3),
        ("[4].left", 5),
        ("[4].right.words", 6),
        ("[4].right.weight", 7),
        ("['bag'][0]", 8),
    ]
    assert pairs[0][0] == (MappingKey("a"), SequenceKey(0))
    assert tree_flatten_with_path(1)[0] == [((), 1)]


def test_paths_stop_at_leaves_by_choice() -> None:
    pairs, _ = tree_flatten_with_path([(1, 2)], is_leaf=lambda item: isinstance(item, tuple))
    assert pairs == [((SequenceKey(0),), (1, 2))]


def test_map_over_several_trees() -> None:
    assert tree_map(lambda *leaves: sum(leaves), [1, (2,)], [10, (20,)], [100, (200,)]) == [
        111,
        (222,),
    ]


def test_map_matches_dicts_by_key() -> None:
    other = OrderedDict([("b", 20), ("a", 10)])
    assert tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, other) == {"a": (1, 10), "b": (2, 20)}


def test_map_takes_whole_containers_where_the_first_tree_has_leaves() -> None:
    assert tree_map(lambda x, y: (x, y), [1, 2], [[3, 4], None]) == [(1, [3, 4]), (2, None)]


def test_map_ignores_the_bound_of_a_deque() -> None:
    assert tree_map(max, deque([1, 5]), deque([3, 4], maxlen=2)) == deque([3, 5])


def test_map_with_path() -> None:
    tree = {"a": [1, 2]}
    result = tree_map_with_path(lambda path, x, y: (keystr(path), x + y), tree, {"a": [10, 20]})
    assert result == {"a": [("['a'][0]", 11), ("['a'][1]", 22)]}


def test_map_only() -> None:
    tree = [1, 2.5, ("a", None, True)]
    assert tree_map_only(float, str, tree) == [1, "2.5", ("a", None, True)]
    assert tree_map_only((float, str), repr, tree) == [1, "2.5", ("'a'", None, True)]
    assert tree_map_only(float | str, repr, tree) == [1, "2.5", ("'a'", None, True)]
    assert tree_map_only(lambda leaf: leaf is None, str, tree) == [1, 2.5, ("a", "None", True)]
    assert tree_map_only(tuple, len, tree, is_leaf=lambda item: isinstance(item, tuple)) == [
        1,
        2.5,
        3,
    ]


def test_all() -> None:
    assert tree_all(lambda leaf: leaf > 0, [1, (2, {"a": 3})])
    assert not tree_all(lambda leaf: leaf > 1, [1, (2, {"a": 3})])
    assert tree_all(lambda leaf: False, [[], ()])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1], 1, "at the root: expected a list of 1, found a leaf of type int"),
        ([1], (1,), "at the root: expected a list of 1, found a tuple of 1"),
        ({"a": [1, 2]}, {"a": [1]}, "at ['a']: expected a list of 2, found a list of 1"),
        ({"a": 1}, {"b": 1}, "at the root: missing keys 'a' and unexpected keys 'b'"),
        ([0, {"a": 1}], [0, {}], "at [1]: missing keys 'a'"),
        ([[], [(1, 2), (3, [4])]], [[], [(1, 2), (3, 4)]], "at [1][1][1]: expected a list of 1"),
        (Point(1, [2]), Point(1, None), "at .y: expected a list of 1, found a leaf of type None"),
        (Point(1, 2), Shifted(1), "expected a Point of 2, found a Shifted of 2"),
        (Pair(1, [2]), Pair(1, 2), "at .right: expected a list of 1"),
        ([Pair(1, 2, "a")], [Pair(1, 2, "b")], "at [0]: expected a Pair of 2 with context 'a'"),
        ([Batch(1, [2])], [Batch(1, ())], "at [0].weight: expected a list of 1, found a tuple"),
        ({"a": 0, "b": [1]}, {"b": 1, "a": 0}, "at ['b']: expected a list of 1, found a leaf"),
    ],
)
def test_structure_mismatch_names_the_place(first: Any, second: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        tree_map(lambda x, y: x, first, second)
    assert str(caught.value).startswith("tree_map: tree 2 does not match tree 1 at ")
    assert message in str(caught.value)
    with pytest.raises(ValueError, match="tree 3 does not match tree 1"):
        tree_map(lambda x, y, z: x, first, first, second)
    with pytest.raises(ValueError, match="flatten_up_to: the tree does not match the structure"):
        tree_structure(first).flatten_up_to(second)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_unflatten_counts_the_leaves(count: int) -> None:
    with pytest.raises(ValueError, match=f"the structure has 3 leaves; {count} were given"):
        tree_unflatten(range(count), tree_structure([1, (2, 3)]))


def test_unflatten_wants_a_spec() -> None:
    with pytest.raises(TypeError, match="treespec must be a TreeSpec"):
        tree_unflatten([1], [2])  # type: ignore[arg-type]


def test_containers_that_contain_themselves_are_refused() -> None:
    ring: list[Any] = [1]
    ring.append({"again": ring})
    with pytest.raises(ValueError, match="a list contains itself"):
        tree_flatten(ring)
    with pytest.raises(ValueError, match="a list contains itself"):
        tree_flatten_with_path(ring)


def test_the_same_container_may_stand_in_several_places() -> None:
    shared = [1]
    assert tree_leaves([shared, shared, (shared,)]) == [1, 1, 1]


def test_classes_are_registered_once() -> None:
    for cls in (Pair, list, Point):
        with pytest.raises(ValueError, match=f"{cls.__name__} is a container already"):
            register_pytree_node(cls, lambda tree: ((), None), lambda children, _: None)


def test_register_dataclass_checks_its_arguments() -> None:
    @dataclasses.dataclass
    class Local:
        a: int
        b: int = dataclasses.field(init=False, default=0)

    with pytest.raises(TypeError, match="Bag is not a dataclass"):
        register_dataclass(Bag)
    with pytest.raises(ValueError, match="takes no field 'c'"):
        register_dataclass(Local, field_names=["c"])
    with pytest.raises(ValueError, match="takes no field 'b'"):
        register_dataclass(Local, field_names=["b"])
    assert tree_structure(Local(1)).is_leaf()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda tree: [tree],
        lambda tree: (0, tree),
        lambda tree: {"a": tree, "b": 1},
        lambda tree: Point(tree, 1),
        lambda tree: Pair(tree, 1),
        lambda tree: deque([tree]),
        lambda tree: Batch(tree, 1),
    ],
    ids=["list", "tuple", "dict", "namedtuple", "registered", "deque", "dataclass"],
)
def test_depth_is_no_limit(wrap: Any) -> None:
    tree = deep(wrap)
    leaves, spec = tree_flatten(tree)
    assert spec.num_nodes - spec.num_leaves == DEPTH
    doubled = tree_map(lambda x, y: x + y, tree, tree)
    assert tree_leaves(doubled) == [2 * leaf for leaf in leaves]
    assert tree_structure(doubled) == spec
    assert hash(tree_structure(doubled)) == hash(spec)
    assert repr(spec).count("*") == len(leaves)
    assert tree_structure(deep(wrap, leaf=())) != spec
    assert len(spec.children()) == spec.num_children
    assert isinstance(pickle.loads(pickle.dumps(spec)), TreeSpec)


def test_depth_is_no_limit_for_paths_and_errors() -> None:
    tree = deep(lambda inner: [inner])
    ((path, leaf),), _ = tree_flatten_with_path(tree)
    assert (len(path), leaf) == (DEPTH, 1)
    with pytest.raises(ValueError, match=r"\[0\]\[0\]: expected a list of 1, found a leaf"):
        tree_map(lambda x, y: x, tree, deep(lambda inner: [inner], depth=DEPTH - 1))
