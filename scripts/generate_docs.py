"""Write the reference pages in docs/reference from the op table and from docstrings.

Ops are grouped by the file that declares them, everything else by its module. Pages are Markdown
that reads well as text; they are committed, and a test compares them with what this would write.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from pathlib import Path
from typing import Any

import weft
from weft import _core
from weft._core_docs import examples, with_example

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by scripts/generate_docs.py (`make docs`); do not edit. -->\n\n"
SECTIONS = ("Args", "Returns", "Raises", "Yields", "Attributes", "Shape", "Example", "Examples")

# Page -> (title, modules whose public names it lists, what it is about).
MODULE_PAGES = {
    "functional": ("weft: functions", (), "Functions of the package that are not ops themselves."),
    "nn": ("weft.nn", ("weft.nn",), "Modules: layers with parameters, and containers of them."),
    "nn-functional": (
        "weft.nn.functional",
        ("weft.nn.functional",),
        "The same computations as functions.",
    ),
    "nn-init": ("weft.nn.init", ("weft.nn.init",), "Ways to fill parameters."),
    "nn-utils": (
        "weft.nn.utils",
        ("weft.nn.utils", "weft.nn.utils.rnn"),
        "Helpers around parameters and sequences.",
    ),
    "linalg": ("weft.linalg", ("weft.functional.linalg",), "Linear algebra."),
    "special": ("weft.special", ("weft.functional.special",), "Special functions."),
    "optim": ("weft.optim", ("weft.optim", "weft.optim.lr_scheduler"), "Optimizers."),
    "autograd": (
        "weft.autograd",
        ("weft.autograd", "weft.autograd.functional", "weft.autograd.graph"),
        "Differentiation.",
    ),
    "func": (
        "weft.func",
        ("weft.func",),
        "Functions of functions: derivatives, many examples at once, modules without state.",
    ),
    "batching": (
        "weft.batching",
        ("weft.batching",),
        "Recording now, running many at a time when a value is needed.",
    ),
    "debug": (
        "weft.debug",
        ("weft.debug",),
        "Looking at graphs, and asking why; docs/debugging.md goes by symptoms.",
    ),
    "viewer": ("weft.viewer", ("weft.viewer",), "Graphs as trees, pictures and pages."),
    "tracing": ("weft.tracing", ("weft.tracing",), "Runs as plain data."),
    "serialization": (
        "weft.serialization",
        ("weft.serialization",),
        "Objects in files: safetensors with nested state, and PyTorch's weight files.",
    ),
    "random": ("weft.random", ("weft.random",), "Seeds and states of random streams."),
    "pytree": ("weft.pytree", ("weft.pytree",), "Nested containers as lists of leaves."),
    "distributions": (
        "weft.distributions",
        ("weft.distributions", "weft.distributions.constraints"),
        "Probability distributions: to draw from, and to differentiate.",
    ),
    "utils-data": (
        "weft.utils.data",
        ("weft.utils.data",),
        "Datasets, samplers and loaders.",
    ),
    "utils": ("weft.utils", ("weft.utils", "weft.utils.checkpoint"), "What fits nowhere else."),
}


# ---- docstrings ----------------------------------------------------------------------------------


def first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring on one line."""
    paragraph = " ".join(doc.strip().split("\n\n")[0].split())
    match = re.match(r"(.+?\.)(?:\s+[A-Z`(]|$)", paragraph)
    return match[1] if match else paragraph


def without_signature(doc: str) -> str:
    """Return an op's docstring without the signature in front of it."""
    head, _, rest = doc.partition("\n\n")
    return rest if re.match(r"\w+\(.*->", head) else doc


def entries(lines: list[str]) -> list[str]:
    """Turn the indented lines of a section such as Args into a list."""
    items: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if re.match(r"\S", line) or not items:
            items.append(line.strip())
        else:
            items[-1] += " " + line.strip()
    marked = (re.sub(r"^(\**\w+(?:, \**\w+)*)(?: \([^)]*\))?:", r"`\1`:", item) for item in items)
    return [f"- {item}" for item in marked]


def markdown(doc: str) -> str:
    """Turn a docstring into Markdown."""
    lines = inspect.cleandoc(doc).splitlines()
    out: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        section = line.rstrip(":") if line.endswith(":") else ""
        position += 1
        if section not in SECTIONS:
            out.append(line)
            continue
        body: list[str] = []
        while position < len(lines) and (not lines[position] or lines[position][0] == " "):
            body.append(lines[position])
            position += 1
        body = inspect.cleandoc("\n" + "\n".join(body)).splitlines()
        out += [f"{section}:", ""]
        if section.startswith("Example"):
            out += ["```python", *body, "```"]
        elif section in ("Returns", "Yields", "Shape"):
            out += body
        else:
            out += entries(body)
        out.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


# ---- names ---------------------------------------------------------------------------------------


def public_names(module: types.ModuleType) -> list[str]:
    """Return what a module offers: its __all__, or what it defines and takes from ops."""
    names = getattr(module, "__all__", None)
    if names is None:
        homes = (module.__name__, "weft.functional")
        names = [
            name
            for name, value in vars(module).items()
            if isinstance(value, _core.OpFunction)
            or str(getattr(value, "__module__", "")).startswith(homes)
        ]
    return sorted(name for name in names if not name.startswith("_"))


def signature_text(value: Any) -> str:
    value = inspect.unwrap(value)
    if isinstance(value, _core.OpFunction):
        return value.signature.partition("(")[1] + value.signature.partition("(")[2]
    if type(value).__module__ == "nanobind":  # has none; since 3.13 inspect makes one up
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    text = str(signature)
    if isinstance(value, type):
        text = re.sub(r" -> [^)]*$", "", text)
    # Defaults that are objects have addresses in them, which differ from run to run.
    return (
        re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "...", text).replace("'", "").replace("ForwardRef", "")
    )


def heading(title: str, call: str) -> str:
    return f"### {title}\n\n```python\n{call}\n```\n\n"


def function_text(title: str, value: Any) -> str:
    doc = without_signature(inspect.getdoc(value) or "")
    if ">>>" not in doc:
        doc = with_example(doc, title)
    return heading(title, f"{title}{signature_text(value)}") + markdown(doc) + "\n"


def members(value: type) -> list[str]:
    """List the public methods and properties that a class itself defines."""
    lines: list[str] = []
    for name, member in sorted(vars(value).items()):
        plain = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        doc = inspect.getdoc(plain)
        described = isinstance(inspect.unwrap(plain), types.FunctionType | property)
        if name.startswith("_") or not described or not doc:
            continue
        text = name if isinstance(plain, property) else f"{name}{signature_text(plain)}"
        text = re.sub(r"\((self|cls)(, )?", "(", text)
        lines.append(f"- `{text}`: {first_sentence(doc)}")
    return lines


def class_text(title: str, value: type) -> str:
    text = function_text(title, value)
    listed = members(value)
    return text + ("\n" + "\n".join(listed) + "\n" if listed else "")


def entry_text(title: str, value: Any) -> str:
    if isinstance(value, type):
        return class_text(title, value)
    return function_text(title, value)


# ---- pages ---------------------------------------------------------------------------------------


def families() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the op table by the file that declares them."""
    table = {op["name"]: op for op in _core.describe_ops()}
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((ROOT / "cpp" / "weft" / "ops").glob("*.cpp")):
        names = re.findall(r"^OP\((\w+),", path.read_text(encoding="utf-8"), re.MULTILINE)
        rows = [table.pop(name) for name in sorted(names) if name in table]
        if rows:
            found[path.stem] = rows
    if table:
        found["other"] = [table[name] for name in sorted(table)]
    return found


def gradient_text(op: dict[str, Any]) -> str:
    if op["differentiable"]:
        return "Differentiable."
    if op["kind"] == "composite":
        return "Made of other ops; differentiable where they are."
    return f"No gradient: {op['no_gradient'].rstrip('.')}."


def op_text(op: dict[str, Any]) -> str:
    name = op["name"]
    notes = [gradient_text(op)]
    if isinstance(vars(weft.Tensor).get(name), _core.OpFunction):
        notes.append(f"Method: `Tensor.{name}`.")
    if op["in_place"]:
        notes.append(f"In place: `{name}_`.")
    if op["kind"] == "view":
        notes.append("The result is a view.")
    public = getattr(weft, name, None)
    if public is not None and not isinstance(public, _core.OpFunction):
        notes.append(f"`weft.{name}` is [a function](functional.md) over this op.")
    doc = " ".join(op["doc"].split())
    example = f"```python\n{examples()[name]}\n```" if name in examples() else ""
    return heading(name, op["signature"]) + f"{doc}\n\n{' '.join(notes)}\n\n{example}\n"


def family_page(family: str, rows: list[dict[str, Any]]) -> str:
    title = f"# Ops: {family.replace('_', ' ')}\n\n"
    plain = [op for op in rows if not op["name"].endswith("_backward")]
    parts = [op for op in rows if op["name"].endswith("_backward")]
    body = "\n".join(map(op_text, plain))
    if parts:
        body += "\n## Parts of gradients\n\n" + "\n".join(map(op_text, parts))
    return NOTE + title + body


def method_text(name: str, value: Any) -> str:
    """Write a method of Tensor that is no function of the package."""
    signature = re.sub(r"^\((self|input|\$self)(: \w+)?(, )?(/, |/)?", "(", signature_text(value))
    doc = inspect.getdoc(value) or ""
    doc = doc if ">>>" in doc else with_example(doc, f"Tensor.{name}")
    return heading(name, f"Tensor.{name}{signature}") + markdown(doc) + "\n"


def tensor_page() -> str:
    """Write what Tensor has besides ops."""
    methods: list[str] = []
    properties: list[str] = []
    functions: list[str] = []
    for name in sorted(dir(weft.Tensor)):
        value = inspect.getattr_static(weft.Tensor, name)
        doc = inspect.getdoc(value) or ""
        if name.startswith("_") or not doc or isinstance(value, bool | str | int):
            continue
        if inspect.isdatadescriptor(value):
            properties.append(f"- `{name}`: {first_sentence(doc)}")
        elif callable(getattr(weft, name, None) or getattr(weft, name.removesuffix("_"), None)):
            functions.append(f"`{name}`")
        else:
            methods.append(method_text(name, value))
    text = "# weft.Tensor\n\n" + markdown(inspect.getdoc(weft.Tensor) or "")
    text += "\n\n## Properties\n\n" + "\n".join(properties)
    text += (
        "\n\n## Functions that are methods too\n\n"
        "The tensor is their first argument; a trailing underscore writes the result over it.\n\n"
    )
    text += ", ".join(functions) + ".\n\n## Methods\n\n" + "\n".join(methods)
    return NOTE + text


def functional_page() -> str:
    title, _, about = MODULE_PAGES["functional"]
    chosen = []
    for name in public_names(weft):
        value = getattr(weft, name)
        skipped = isinstance(value, types.ModuleType | _core.OpFunction | _core.dtype)
        if skipped or not callable(value) or value is weft.Tensor:
            continue
        chosen.append(entry_text(name, value))
    return NOTE + f"# {title}\n\n{about}\n\n" + "\n".join(chosen)


def module_page(page: str) -> str | None:
    title, modules, about = MODULE_PAGES[page]
    text = NOTE + f"# {title}\n\n{about}\n"
    for module_name in modules:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError:
            continue
        if module_name != modules[0]:
            text += f"\n## {module_name}\n\n{inspect.getdoc(module) or ''}\n"
        for name in public_names(module):
            value = getattr(module, name)
            if callable(value):
                text += "\n" + entry_text(name, value)
    return text if "###" in text else None


def index_page(pages: dict[str, str]) -> str:
    lines = [
        f"- [{text.split('# ', 1)[1].splitlines()[0]}]({name}.md)" for name, text in pages.items()
    ]
    return NOTE + "# Reference\n\n" + "\n".join(lines) + "\n"


def reference() -> dict[Path, str]:
    """Return what each page must say."""
    pages = {"tensor": tensor_page(), "functional": functional_page()}
    for family, rows in families().items():
        pages[f"ops-{family.replace('_', '-')}"] = family_page(family, rows)
    for page in MODULE_PAGES:
        text = module_page(page) if page != "functional" else None
        if text is not None:
            pages[page] = text
    pages["README"] = index_page(pages)
    return {FOLDER / f"{name}.md": text for name, text in pages.items()}


def main() -> None:
    """Write the pages that differ and remove those that are no more."""
    pages = reference()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in set(FOLDER.glob("*.md")) - set(pages):
        path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
