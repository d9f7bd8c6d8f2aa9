"""Derive C++ from the op declarations in cpp/weft/ops.

Writes two files, and only when their text changes:

ops.h         a typed callable for each op, made from its signature, and operators on Value.
formulas.inc  one line for each FORMULA, which the kernels compile into SIMD loops.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# Comments, strings and characters, in which braces and OP( mean nothing.
SKIPPED = re.compile(rf"//[^\n]*|/\*.*?\*/|{LITERAL}|'(?:[^'\\\n]|\\.)+'", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![\w.])")
MAX_FORMULA_PARAMETERS = 4
# Which fields may not be left out, of which kinds of ops.
KERNELS = ("kernel", "view", "by_value")
NEEDED = (
    ("shape", KERNELS, ""),
    ("gradient", (*KERNELS, "FORMULA"), ', or no_gradient("the reason")'),
    ("batch", KERNELS, ', or no_batch("the reason")'),
)
# Words that may not be names in C++; an op or parameter of that name gets a trailing underscore.
RESERVED = frozenset(
    "and or xor not union int float double bool char long short auto default delete new register"
    " static switch template this try using void while for if else do return case class const"
    " typename operator private public protected namespace mutable inline explicit export".split()
)
# Parameter types: what C++ sees when the argument is required, and when it may be missing.
ATTRIBUTES = {
    "Number": ("const graph::Attribute&", "const graph::Attribute&"),
    "int": ("int64_t", "std::optional<int64_t>"),
    "int[]": ("const Dims&", "const std::optional<Dims>&"),
    "int[*]": ("const Dims&", "const std::optional<Dims>&"),
    "float": ("double", "std::optional<double>"),
    "bool": ("bool", "std::optional<bool>"),
    "str": ("const std::string&", "const std::optional<std::string>&"),
    "dtype": ("DType", "std::optional<DType>"),
    "Generator": ("graph::RandomKey", "graph::RandomKey"),
}
TENSORS = ("Tensor", "Tensor|Number", "Tensor[]")
OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}

OPS_HEADER = """\
// Made by scripts/generate_ops.py from the op declarations; do not edit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "weft/graph/record.h"
#include "weft/graph/rule.h"

namespace weft::ops {

using graph::Dims;
using graph::DType;
using graph::Value;
using graph::Values;

template <class T>
graph::Attribute attribute_of(const std::optional<T>& value) {
  return value ? graph::Attribute(*value) : graph::Attribute();
}
template <class T>
graph::Attribute attribute_of(const T& value) {
  return graph::Attribute(value);
}

"""
OPS_FOOTER = "\n}  // namespace weft::ops\n"
FORMULAS_HEADER = """\
// Made by scripts/generate_ops.py from the op declarations; do not edit.
// WEFT_FORMULA(name, domain, arity, (parameters), expression over the lane type T)
"""


class DeclarationError(Exception):
    """Something in a declaration that cannot be understood."""


@dataclass
class Parameter:
    name: str
    type: str
    optional: bool
    default: str | None

    @property
    def is_tensor(self) -> bool:
        return self.type in TENSORS

    @property
    def cpp_name(self) -> str:
        return cpp_name(self.name)

    def cpp_type(self) -> str:
        if self.is_tensor:
            return "const Values&" if self.type == "Tensor[]" else "const Value&"
        return ATTRIBUTES[self.type][self.optional]

    def cpp_default(self) -> str | None:
        """Return the C++ spelling of the default value, or None when there is none."""
        text = self.default
        if text is None:
            return None
        if text == "None":
            return "Value()" if self.is_tensor else "{}"
        if text in ("True", "False"):
            text = text.lower()
            return f"graph::number_value_bool({text})" if self.is_tensor else text
        if text.startswith(("[", "(")):
            return "Dims{" + text[1:-1].strip().rstrip(",") + "}"
        if self.is_tensor:
            return f"Value({number(text)})"
        if self.type == "Number":
            return f"graph::Attribute({number(text)})"
        if self.type == "dtype":
            return f"DType::{text}"
        if self.type == "float":
            return number(text if re.search(r"[.einf]", text) else text + ".0")
        return text.replace("'", '"')


@dataclass
class Formula:
    domain: str
    parameters: list[str]
    expression: str


@dataclass
class Op:
    name: str
    parameters: list[Parameter] = field(default_factory=list)
    returns_one: bool = True
    formula: Formula | None = None


def cpp_name(name: str) -> str:
    return name + "_" if name in RESERVED else name


def number(text: str) -> str:
    """Write a Python number as a C++ one of type int64_t or double."""
    infinity = "std::numeric_limits<double>::infinity()"
    if text.lstrip("-") in ("inf", "nan"):
        return text.replace("inf", infinity).replace(
            "nan", "std::numeric_limits<double>::quiet_NaN()"
        )
    return text if re.search(r"[.e]", text) else f"int64_t{{{text}}}"


def blank_skipped(source: str) -> str:
    """Return the source with comments and literals blanked out, of the same length."""
    return SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def closing(blanked: str, start: int) -> int:
    """Return the position of the bracket that closes the one at `start`."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    expected: list[str] = []
    for position in range(start, len(blanked)):
        character = blanked[position]
        if character in pairs:
            expected.append(pairs[character])
        elif character in pairs.values():
            if character != expected.pop():
                raise DeclarationError(f"unexpected '{character}'")
            if not expected:
                return position
    raise DeclarationError("a bracket is never closed")


def split_commas(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_signature(text: str) -> tuple[list[Parameter], bool]:
    """Return an op's parameters, and whether it returns exactly one tensor."""
    match = re.fullmatch(r"\((.*)\)\s*->\s*(.+)", text, re.DOTALL)
    if not match:
        raise DeclarationError(f"cannot read the signature '{text}'")
    inside, result = match.groups()
    parameters = []
    for part in split_commas(inside):
        if part in ("*", "/"):
            continue
        parsed = re.fullmatch(r"(\w+)\s*:\s*([^=]+?)\s*(?:=\s*(.+))?", part, re.DOTALL)
        if not parsed:
            raise DeclarationError(f"cannot read the parameter '{part}'")
        parameter, kind, default = parsed.groups()
        optional = kind.endswith("?")
        kind = kind.rstrip("?").replace(" ", "")
        if kind not in TENSORS and kind not in ATTRIBUTES:
            raise DeclarationError(f"parameter '{parameter}' has the unknown type '{kind}'")
        parameters.append(Parameter(parameter, kind, optional, default))
    return parameters, result.strip() == "Tensor"


def parse_formula(arguments: str) -> Formula:
    domain, parameters, *rest = split_commas(arguments)
    if domain not in ("floats", "numbers", "integers"):
        raise DeclarationError(f"a FORMULA's domain is floats, numbers or integers, not '{domain}'")
    names = split_commas(parameters.strip("()"))
    if len(names) > MAX_FORMULA_PARAMETERS:
        raise DeclarationError(f"a FORMULA has at most {MAX_FORMULA_PARAMETERS} parameters")
    # Literals take the lane's type, or `0.5 * x` would compute in double.
    expression = NUMBER.sub(lambda match: f"T({match[0]})", " ".join(", ".join(rest).split()))
    return Formula(domain, names, expression)


def parse_op(name: str, signature: str, body: str) -> Op:
    text = "".join(literal[1:-1] for literal in re.findall(LITERAL, signature))
    op = Op(name, *parse_signature(text))
    parameters = op.parameters
    blanked = blank_skipped(body)
    run = re.search(r"\.run\s*=\s*(?:\w+::)*(\w+)\(", blanked)
    fields = set(re.findall(r"^\s*\.(\w+)\s*=", blanked, re.MULTILINE))
    for needed, kinds, instead in NEEDED:
        if run and run[1] in kinds and needed not in fields:
            raise DeclarationError(f"it needs a `.{needed}` rule{instead}")
    start = re.search(r"\bFORMULA\s*\(", blanked)
    if start:
        end = closing(blanked, start.end() - 1)
        op.formula = parse_formula(body[start.end() : end])
        tensors = sum(parameter.is_tensor for parameter in parameters)
        if tensors != len(op.formula.parameters):
            raise DeclarationError(
                f"its FORMULA has {len(op.formula.parameters)} parameters, its signature {tensors}"
            )
    return op


def read_ops(sources: Path) -> list[Op]:
    """Read every OP(...) block below a folder, in order of names."""
    ops: dict[str, Op] = {}
    for path in sorted(sources.glob("*.cpp")):
        source = path.read_text(encoding="utf-8")
        blanked = blank_skipped(source)
        # The signature is a literal, so it is blank here.
        for match in re.finditer(r"^\s*OP\((\w+),(\s*)\)\s*\{", blanked, re.MULTILINE):
            name, signature = match[1], source[match.start(2) : match.end(2)]
            line = source.count("\n", 0, match.start(1)) + 1
            try:
                end = closing(blanked, match.end() - 1)
                if name in ops:
                    raise DeclarationError("it is declared twice")
                ops[name] = parse_op(name, signature, source[match.end() : end])
            except DeclarationError as error:
                raise SystemExit(f"{path}:{line}: OP({name}): {error}") from None
    return [ops[name] for name in sorted(ops)]


def callable_text(op: Op) -> str:
    """Return the C++ callable of an op."""
    declared, seen_default = [], False
    for parameter in op.parameters:
        default = parameter.cpp_default()
        if default is None and (seen_default or parameter.type == "Generator"):
            # C++ wants a default here; None is the only one that is never wrong.
            default = "{}"
        seen_default = seen_default or default is not None
        suffix = "" if default is None else f" = {default}"
        declared.append(f"{parameter.cpp_type()} {parameter.cpp_name}{suffix}")
    tensors = [parameter for parameter in op.parameters if parameter.is_tensor]
    attributes = [parameter for parameter in op.parameters if not parameter.is_tensor]
    body = []
    if any(parameter.type == "Tensor[]" for parameter in tensors):
        body.append("  Values inputs_;")
        for parameter in tensors:
            name = parameter.cpp_name
            if parameter.type == "Tensor[]":
                body.append(f"  for (const Value& item : {name}) inputs_.push_back(item);")
            else:
                body.append(f"  inputs_.push_back({name});")
        inputs = "inputs_"
    else:
        inputs = "{" + ", ".join(parameter.cpp_name for parameter in tensors) + "}"
    values = ", ".join(f"attribute_of({parameter.cpp_name})" for parameter in attributes)
    if op.returns_one:
        body.append(f"  return graph::record_one(op_{op.name}, {inputs}, {{{values}}});")
    else:
        if inputs != "inputs_":
            body.append(f"  const Values inputs_{inputs};")
            inputs = "inputs_"
        arguments = f"graph::Attributes({{{values}}})" if values else "{}"
        body.append(f"  return graph::record(op_{op.name}, {inputs}, {arguments});")
    result = "Value" if op.returns_one else "Values"
    head = f"inline {result} {cpp_name(op.name)}({', '.join(declared)}) {{"
    return "\n".join([f"extern const graph::Op op_{op.name};", head, *body, "}", ""])


def operators_text(names: set[str]) -> str:
    """Return the operators on Value for those ops that are declared."""
    lines = [
        f"inline Value operator{symbol}(const Value& a, const Value& b) {{ return {name}(a, b); }}"
        for symbol, name in OPERATORS.items()
        if name in names
    ]
    if "neg" in names:
        lines.append("inline Value operator-(const Value& a) { return neg(a); }")
    return "\n".join(lines) + "\n"


def formula_text(op: Op, formula: Formula) -> str:
    declared = ", ".join(f"T {parameter}" for parameter in formula.parameters)
    head = f"{op.name}, {formula.domain}, {len(formula.parameters)}, ({declared})"
    return f"WEFT_FORMULA({head}, {formula.expression})\n"


def write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True, help="folder of the declarations")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    options = parser.parse_args(arguments)
    ops = read_ops(options.sources)
    callables = "\n".join(callable_text(op) for op in ops)
    operators = operators_text({op.name for op in ops})
    write_if_changed(options.output / "ops.h", f"{OPS_HEADER}{callables}\n{operators}{OPS_FOOTER}")
    formulas = "".join(formula_text(op, op.formula) for op in ops if op.formula)
    write_if_changed(options.output / "formulas.inc", FORMULAS_HEADER + formulas)


if __name__ == "__main__":
    main(sys.argv[1:])
