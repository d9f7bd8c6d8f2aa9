"""What is not compiled: each construct, with its text; Python runs the function all the same."""

from __future__ import annotations
import __future__

import linecache
from types import FunctionType

import pytest

import weft
from weft import _core

FRAME = (
    "it looks at Python's own frame of the function. Instead: pass what is needed as an argument"
)
LOOP = "a routine cannot wait for an event loop"
# A body, the line of it that is refused, and the text behind the place.
REFUSED = {
    "match": (
        "match x:\n    case 1:\n        return 2\nreturn 3",
        1,
        "`match` is not compiled, because patterns call into classes. Instead: `if` and "
        "`isinstance`.",
    ),
    "class": (
        "class A:\n    y = 1\nreturn A.y",
        1,
        "`class` inside a function is not compiled, because it makes a new type at each call. "
        "Instead: a class of the module.",
    ),
    "import": (
        "y = 1\nimport math\nreturn math.floor(x)",
        2,
        "`import` inside a function is not compiled, because it runs a module's code once. "
        "Instead: an import at the top of the module.",
    ),
    "from import": (
        "from math import floor\nreturn floor(x)",
        1,
        "`import` inside a function is not compiled, because it runs a module's code once. "
        "Instead: an import at the top of the module.",
    ),
    "except*": (
        "try:\n    y = 1\nexcept* ValueError:\n    y = 2\nreturn y",
        1,
        "`except*` is not compiled, because it takes groups of exceptions apart. Instead: "
        "`except`.",
    ),
    "async def": (
        "async def g():\n    return 1\nreturn g.__name__",
        1,
        f"`async def` inside a function is not compiled, because {LOOP}. Instead: a function of "
        "the module.",
    ),
    "async for": (
        "y = (z async for z in x)\nreturn type(y).__name__",
        1,
        f"`async for` is not compiled, because {LOOP}. Instead: a plain loop.",
    ),
    "locals": ("y = 1\nreturn locals()", 2, f"`locals` is not compiled, because {FRAME}."),
    "globals": ("return len(globals())", 1, f"`globals` is not compiled, because {FRAME}."),
    "eval": ("return eval('1')", 1, f"`eval` is not compiled, because {FRAME}."),
    "exec": ("exec('1')", 1, f"`exec` is not compiled, because {FRAME}."),
    "in a comprehension": (
        "return [eval('1') for y in (1, 2)]",
        1,
        f"`eval` is not compiled, because {FRAME}.",
    ),
    "vars": (
        "return vars()",
        1,
        "`vars()` is not compiled, because it looks at Python's own frame. Instead: "
        "`vars(object)`.",
    ),
    "dir": (
        "return dir()",
        1,
        "`dir()` is not compiled, because it looks at Python's own frame. Instead: `dir(object)`.",
    ),
    "super": (
        "y = super\nreturn type(super()).__name__",
        2,
        "`super()` alone is not compiled, because it looks at Python's own frame. Instead: "
        "`super().method()`.",
    ),
    "frames": (
        "import_ = sys\nreturn import_._getframe().f_code.co_name",
        2,
        "`_getframe` is not compiled, because it looks at Python's own frames. Instead: pass what "
        "is needed.",
    ),
    "a set of stars": (
        "return {*x}",
        1,
        "`{*items}` is not compiled, because there is no instruction that adds all of something "
        "to a set. Instead: `set(items)`.",
    ),
}


def function_of(name: str, text: str) -> FunctionType:
    file = f"<refused {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, object] = {"sys": __import__("sys")}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    found = names["f"]
    assert isinstance(found, FunctionType)
    return found


def body(text: str) -> str:
    return "def f(x):\n" + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("name", REFUSED)
def test_a_construct_is_refused_with_its_line_and_what_to_write(name: str) -> None:
    text, line, said = REFUSED[name]
    function = function_of(name, body(text))
    with pytest.raises(weft.UnsupportedError) as caught:
        weft.compile(function, fullgraph=True)
    assert str(caught.value) == f"<refused {name}>:{line + 1} in f: {said}"
    assert _core.routine_of(function) is None


def outcome(function, *given):  # type: ignore[no-untyped-def]
    try:
        return repr(function(*given))
    except Exception as error:  # noqa: BLE001 - errors are compared
        return repr(error)


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "async for"])
def test_python_runs_what_is_refused(name: str) -> None:
    function = function_of(name, body(REFUSED[name][0]))
    given = [1, 2] if "star" in name else 1
    assert outcome(weft.compile(function), given) == outcome(function, given)


LEFT = (
    "a generator or `async def` is not compiled, because a routine has no frame to come back to. "
    "Instead: build and return a list."
)


@pytest.mark.parametrize("text", ["def f(x):\n    yield x\n", "async def f(x):\n    return x\n"])
def test_functions_that_are_left_and_entered_again(text: str) -> None:
    function = function_of("frames", text)
    with pytest.raises(weft.UnsupportedError) as caught:
        weft.compile(function, fullgraph=True)
    assert str(caught.value) == f"<refused frames>:1 in f: {LEFT}"
    made = weft.compile(function)(1)
    assert type(made).__name__ in ("generator", "coroutine")
    made.close()


def test_a_generator_still_yields() -> None:
    function = function_of("yield", "def f(x):\n    yield x\n    yield x + 1\n")
    assert list(weft.compile(function)(1)) == [1, 2]


def test_a_function_without_source() -> None:
    names: dict[str, object] = {}
    exec("def f(x):\n    return x", names)
    with pytest.raises(weft.UnsupportedError, match=r"^<string>:1 in f: a function without source"):
        weft.compile(names["f"], fullgraph=True)  # type: ignore[call-overload]
    assert weft.compile(names["f"])(3) == 3  # type: ignore[call-overload]


def test_a_function_whose_file_has_changed() -> None:
    function = function_of("changed", "def f(x):\n    return x\n")
    text = "def f(x):\n    return x + 1\n"
    linecache.cache["<refused changed>"] = (
        len(text),
        None,
        text.splitlines(True),
        "<refused changed>",
    )
    with pytest.raises(weft.UnsupportedError, match="a function whose source has changed"):
        weft.compile(function, fullgraph=True)
    assert weft.compile(function)(3) == 3


def test_all_refusals_come_at_once_also_of_what_is_called() -> None:
    text = (
        "def h(x):\n    return locals()\n"
        "def g(x):\n    import os\n    return h(x)\n"
        "def f(x):\n    class A: pass\n    del x\n    match 1:\n        case _: pass\n"
    )
    function = function_of("all", text)
    with pytest.raises(weft.UnsupportedError) as caught:
        weft.compile(function, fullgraph=True)
    assert [line.split(":")[1].split()[0] for line in str(caught.value).splitlines()] == ["7", "9"]
    text = "def h(x):\n    return locals()\ndef g(x):\n    import os\n    return h(x)\n"
    function = function_of("both", text + "def f(x):\n    return g(x), h(x)\n")
    with pytest.raises(weft.UnsupportedError) as caught:
        weft.compile(function, fullgraph=True)
    assert [line.split(" ")[3] for line in str(caught.value).splitlines()] == ["h:", "g:"]


def test_an_expression_that_is_too_deep_is_left_to_python() -> None:
    function = function_of("deep", "def f(x):\n    return " + " + ".join(["x"] * 2000) + "\n")
    assert weft.compile(function)(1) == 2000


def test_a_function_compiled_with_the_flags_of_others() -> None:
    text = "def f(x: int) -> int:\n    def g(y: int): return y\n    return g.__annotations__['y']\n"
    file = "<future>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    for flags, annotation in ((0, int), (__future__.annotations.compiler_flag, "int")):
        names: dict[str, object] = {}
        exec(compile(text, file, "exec", flags=flags, dont_inherit=True), names)
        function = weft.compile(names["f"], fullgraph=True)  # type: ignore[call-overload]
        assert function(1) == annotation
