"""Hostile values, written as Python expressions so that a failure can be read and run again."""

from __future__ import annotations

from random import Random

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int8", "int16", "int32", "int64", "uint8", "bool")

SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (1,), (2,), (3,), (5,), (0,), (33,), (2, 3), (3, 2), (3, 3), (4, 4), (1, 5), (5, 1)),
    *((0, 3), (3, 0), (0, 0), (2, 3, 4), (4, 3, 2), (2, 0, 3), (1, 1, 1), (2, 2, 2, 2)),
    *((1, 3, 8, 8), (2, 4, 6, 6), (2, 4, 5), (1, 2, 3, 4, 5), (17, 31), (64, 64), (2, 700)),
)
RARE_SHAPES: tuple[tuple[int, ...], ...] = ((1,) * 64, (2,) * 12, (100_000,), (300, 400), (0,) * 9)

INTEGERS = r"""
0 1 -1 2 -2 3 -3 4 5 7 8 16 63 64 65 100 255 256 1000 -1000 2**31-1 2**31 -2**31 2**32 2**40
-2**40 2**59 2**60 2**62 2**63-1 -2**63 2**63 -2**63-1 2**64 10**30
""".split()
SMALL = ["0", "1", "-1", "2", "-2", "3", "-3", "4"]
REALS = r"""
0.0 -0.0 0.5 1.0 -1.0 2.5 1e-8 1e-45 -1e-3 1e30 1e38 1e39 1e308 -1e308 5e-324 inf -inf nan 9.2e18
1.8e19
""".split()
STRINGS = r"""
'' 'mean' 'sum' 'none' 'prod' 'amax' 'nearest' 'linear' 'bilinear' 'tanh' 'floor' 'trunc'
'reflect' 'replicate' 'circular' 'constant' 'same' 'valid' 'ij' 'xy' 'fro' 'nuc' 'cpu' 'cuda'
'ij,jk->ik' 'ii->i' '...i->...' 'i->ii' 'a'*100000 '\x00' '\ud800' 'é' '%s%n' '{}'
""".split()
LISTS = r"""
[] () [0] [1] [-1] [2,3] (3,2) [1,2,3] [0,0] [0,1] [1,0] [-1,-2] [0,-1] [1,1] [2,0] [-1,-1]
[2**31,2**31] [2**62,2**62] [2**40] [2**63] [-2**63] [1]*64 [1]*65 [1]*300 [None] ['a'] [1.5]
[nan] [True] [1,'a'] [[1]] [[1,2],[3]] [[1,2],[3,4]] [[]] [[],[]] [1,[2]] [0]*20 [3]*2 (1,)*3
[0,1,2,3] range(3) range(2**62) range(0) (2,3,4) [4,4] deep(10) deep(70) deep(100000) cyclic()
Shrinking() [Index(1),Index(2)] [5]*5
""".split()
ARRAYS = (
    "np.ones(3)",
    "np.ones((2,3),'f4')",
    "np.arange(6).reshape(2,3)[:, ::-1]",
    "np.arange(12.)[::2]",
    "np.array(1.5)",
    "np.zeros((0,3))",
    "np.array([1j])",
    "np.array(['a'])",
    "np.array([None, 1])",
    "np.array([(1, 2.0)], dtype=[('x','i4'),('y','f8')])",
    "np.ones(3, '>f4')",
    "np.ones(4, 'f2')",
    "np.ones(2, 'u8')",
    "np.ones(2, 'M8[s]')",
    "read_only([1.0, 2.0])",
    "np.broadcast_to(np.ones(3), (4,3))",
    "np.lib.stride_tricks.as_strided(np.arange(9.), (3,3), (8,8))",
    "np.frombuffer(b'12345678', 'f4')",
    "np.ndarray((2,), 'f4', bytearray(16), 3)",
    "np.ones((1,)*32)",
    "np.float32(2)",
    "np.float64(nan)",
    "np.int64(-1)",
    "np.uint64(2**64-1)",
    "np.bool_(True)",
    "np.complex64(1j)",
    "np.ma.array([1.0, 2.0], mask=[0, 1])",
)
OTHERS = r"""
None True False Ellipsis 1j object() int str weft weft.Tensor weft.float32 weft.int64 weft.bool
weft.device('cpu') weft.Generator() weft.Size([2]) {} {'a':1} {1,2} b'abc' bytearray(8)
memoryview(b'1234') slice(None) slice(0,2**70,2) slice('a') Index(1) Index(-1) Index(2**70)
Index('a') Index(ValueError()) iter([1]) hostile_dlpack() hostile_dlpack(3)
(lambda*a:a[0]if(a)else(None)) print len weft.ones(2).sum
""".split()
OTHERS += [
    "(i for i in range(3))",
    "array.array('d', [1,2,3])",
    "weft.ops if hasattr(weft, 'ops') else 0",
    "(weft.ones(2, requires_grad=True) * 2).grad_fn",
]
ALL_WILD = (INTEGERS, REALS, STRINGS, LISTS, ARRAYS, OTHERS)


def sizes_text(sizes: tuple[int, ...] | list[int]) -> str:
    """Write sizes down; many equal ones in short."""
    if len(sizes) > 8 and len(set(sizes)) == 1:
        return f"[{sizes[0]}] * {len(sizes)}"
    return str(list(sizes))


def wild(random: Random) -> str:
    """Return any hostile value, a tensor too."""
    if random.random() < 0.3:
        return tensor(random)
    return random.choice(random.choice(ALL_WILD))


def shape(random: Random) -> tuple[int, ...]:
    return random.choice(RARE_SHAPES if random.random() < 0.03 else SHAPES)


def dtype(random: Random) -> str:
    return "float32" if random.random() < 0.5 else random.choice(DTYPES)


def tensor(random: Random, sizes: tuple[int, ...] | None = None, kind: str | None = None) -> str:
    """Return an expression for a tensor, by default of any shape and dtype."""
    sizes = shape(random) if sizes is None else sizes
    kind = dtype(random) if kind is None else kind
    text = _values(random, sizes, kind)
    text = _arranged(random, text, sizes, kind)
    return _with_history(random, text, sizes, kind)


def _values(random: Random, sizes: tuple[int, ...], kind: str) -> str:
    """Return a contiguous tensor of a shape and dtype."""
    text, place = sizes_text(sizes), f"dtype=weft.{kind}"
    choice = random.random()
    if kind in FLOATS:
        if choice < 0.7:
            made = f"weft.randn({text})"
            return made if kind == "float32" else f"{made}.to(weft.{kind})"
        return f"weft.full({text}, {random.choice(REALS)}, {place})"
    if kind == "bool":
        return f"(weft.rand({text}) < {random.choice(('0.5', '0', '1'))})"
    if choice < 0.7:
        high = random.choice(("1", "2", "3", "5", "100"))
        low = random.choice(("0", "0", "-1", "-3")) if kind != "uint8" else "0"
        return f"weft.randint({low}, {high}, {text}).to(weft.{kind})"
    extreme = {"int64": "2**63-1 -2**63 -1 0", "int32": "2**31-1 -2**31 -1", "int8": "127 -128"}
    value = random.choice(extreme.get(kind, "0 1 100").split())
    return f"weft.full({text}, {value}, {place})"


def _arranged(random: Random, text: str, sizes: tuple[int, ...], kind: str) -> str:
    """Return a tensor of the same shape that lies in memory in some other way."""
    choice = random.random()
    if choice < 0.6 or not sizes:
        return text
    if choice < 0.68 and sizes[-1] < 1000:
        wide = [*sizes[:-1], 2 * sizes[-1] + 1]
        return f"{_values(random, tuple(wide), kind)}[..., 1::2]"
    if choice < 0.76 and len(sizes) > 1:
        order = list(range(len(sizes)))[::-1]
        return f"{_values(random, tuple(reversed(sizes)), kind)}.permute({order})"
    if choice < 0.84:
        ones = [1 if random.random() < 0.6 else size for size in sizes]
        return f"{_values(random, tuple(ones), kind)}.expand({sizes_text(sizes)})"
    if choice < 0.9:
        count = sum(sizes) + 1
        strides = [random.choice((0, 1, 1, 1)) for _ in sizes]
        flat, start = _values(random, (count,), kind), random.choice((0, 0, 1))
        return f"{flat}.as_strided({sizes_text(sizes)}, {sizes_text(strides)}, {start})"
    if choice < 0.95 and kind != "bfloat16":
        maker = random.choice(("np.ones", "np.zeros"))
        array = f"{maker}({sizes}, '{kind}')"
        return f"weft.from_numpy({random.choice((array, f'read_only({array})'))})"
    return f"{_values(random, (sizes[0] + 1, *sizes[1:]), kind)}[1:]"


def _with_history(random: Random, text: str, sizes: tuple[int, ...], kind: str) -> str:
    choice = random.random()
    if kind not in FLOATS or choice < 0.55:
        return text
    if choice < 0.78:
        return f"{text}.detach().requires_grad_()"
    if choice < 0.92:
        return f"({text}.detach().requires_grad_() * 1)"
    if choice < 0.96 and sizes:
        return f"in_inference({', '.join(map(str, sizes))})"
    return f"weft.nn.Parameter({text})"


def index_item(random: Random, sizes: tuple[int, ...]) -> str:
    """Return one item of an index."""
    choice = random.random()
    if choice < 0.2:
        return random.choice(SMALL)
    if choice < 0.4:
        parts = [random.choice(("", "", *SMALL, "2**62", "-2**63", "2**70")) for _ in range(3)]
        ends = [part or "None" for part in parts]
        return f"slice({', '.join(ends)})"
    if choice < 0.55:
        return random.choice(("None", "...", "True", "False"))
    if choice < 0.8:
        kind = random.choice(("int64", "int64", "int32", "bool", "uint8", "float32", "int8"))
        own = sizes[: random.choice((1, 1, 2))] if kind in ("bool", "uint8") else None
        return tensor(random, own or random.choice(((), (1,), (2,), (0,), (2, 2), (3,))), kind)
    if choice < 0.9:
        return random.choice(
            ("[0]", "[0,1]", "[True,False]", "[[0,1],[1,0]]", "[]", "[-1]", "[[]]")
        )
    return wild(random)


def index(random: Random, sizes: tuple[int, ...]) -> str:
    """Return what stands between the brackets of x[...]."""
    if random.random() < 0.4:
        return index_item(random, sizes)
    count = random.choice((1, 2, 2, 3, 3, 4, 70)) if random.random() < 0.3 else 2
    return f"({', '.join(index_item(random, sizes) for _ in range(min(count, 70)))},)"
