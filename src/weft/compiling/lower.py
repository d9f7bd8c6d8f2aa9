"""A function as a routine: read, resolve, check, and write its instructions."""

from __future__ import annotations

import ast
from types import FunctionType

from weft import _core
from weft.compiling.check import refusals_of
from weft.compiling.control import ends
from weft.compiling.handling import Handling
from weft.compiling.names import COMPREHENSIONS, Scope
from weft.compiling.read import read
from weft.compiling.refusals import RefusedError


class Lowering(Handling):
    """Writes the whole of one function."""

    def routine(self) -> _core.Routine:
        """Return the function's routine."""
        node = self.node
        if isinstance(node, COMPREHENSIONS):
            self.comprehension_body(node)
        elif isinstance(node, ast.Lambda):
            value = self.value(node.body)
            self.asm.at(node.body)
            self.asm.emit("return", value)
        else:
            self.statements(node.body)
            if not ends(node.body):
                self.asm.at(node.body[-1])
                self.asm.emit("return", self.constant(None))
        return self.finish()


def lower(function: FunctionType) -> _core.Routine:
    """Return a function's routine.

    Raises:
        RefusedError: It has constructs without instructions.
    """
    definition = read(function)
    code = function.__code__
    scope = Scope(definition.node, definition.class_name, None)
    name = function.__qualname__
    refusals = refusals_of(scope, code, name, Lowering)
    if refusals:
        raise RefusedError(refusals)
    return Lowering(definition.node, code, scope, code.co_filename, name).routine()
