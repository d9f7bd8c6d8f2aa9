"""Constants, operators, comparisons and conditions."""

from __future__ import annotations

import ast

from weft.compiling.assemble import Label
from weft.compiling.variables import Variables
from weft.compiling.writing import folded

# Numbers as in cpp/weft/routine/operators.h.
_UNARY: dict[type[ast.unaryop], int] = {ast.USub: 0, ast.UAdd: 1, ast.Invert: 2, ast.Not: 3}
BINARY: dict[type[ast.operator], int] = {
    ast.Add: 0,
    ast.Sub: 1,
    ast.Mult: 2,
    ast.Div: 3,
    ast.FloorDiv: 4,
    ast.Mod: 5,
    ast.Pow: 6,
    ast.MatMult: 7,
    ast.LShift: 8,
    ast.RShift: 9,
    ast.BitAnd: 10,
    ast.BitOr: 11,
    ast.BitXor: 12,
}
_COMPARE: dict[type[ast.cmpop], int] = {
    ast.Lt: 0,
    ast.LtE: 1,
    ast.Eq: 2,
    ast.NotEq: 3,
    ast.Gt: 4,
    ast.GtE: 5,
}
_TESTS: dict[type[ast.cmpop], str] = {
    ast.Is: "is",
    ast.IsNot: "is_not",
    ast.In: "in",
    ast.NotIn: "not_in",
}

# Builtins that take all of a generator expression before they do anything, or one item after the


class Operators(Variables):
    """Writes operators and what decides."""

    def on_Constant(self, node: ast.Constant, into: int) -> None:
        """Write a constant."""
        self.asm.at(node)
        self.asm.emit("constant", into, self.asm.constant(node.value))

    def on_UnaryOp(self, node: ast.UnaryOp, into: int) -> None:
        """Write an operator of one operand; of a number, its value."""
        value = folded(node)
        if value is not None:
            self.asm.emit("constant", into, self.asm.constant(value))
            return
        operand = self.operand(node.operand, into)
        self.asm.at(node)
        self.asm.emit("unary", into, _UNARY[type(node.op)], operand)
        self.free_operand(operand, into)

    def on_BinOp(self, node: ast.BinOp, into: int) -> None:
        """Write an operator of two operands."""
        left = self.operand(node.left, into)
        right = self.value(node.right)
        self.asm.at(node)
        self.asm.emit("binary", into, BINARY[type(node.op)], left, right)
        self.free(right)
        self.free_operand(left, into)

    def on_Compare(self, node: ast.Compare, into: int) -> None:
        """Write comparisons; of a chain, each only if the one before it holds."""
        if len(node.ops) == 1:
            left, right = self.operand(node.left, into), self.value(node.comparators[0])
            self._compare(node, node.ops[0], into, left, right)
            self.free(right)
            self.free_operand(left, into)
            return
        end = Label()
        operands = [self.kept(node.left)]
        bound = None
        result = self.asm.take()
        for place, (operator, item) in enumerate(zip(node.ops, node.comparators, strict=True)):
            operands.append(self.kept(item))
            self._compare(node, operator, result, operands[-2], operands[-1])
            bound = set(self.bound) if bound is None else bound
            if place < len(node.ops) - 1:
                self.asm.emit("jump_unless", result, end)
        self.asm.mark(end)
        self.bound = bound or self.bound
        self.moved(into, result)
        self.free_all(operands)

    def _compare(
        self, node: ast.expr, operator: ast.cmpop, into: int, left: int, right: int
    ) -> None:
        """Write one comparison."""
        self.asm.at(node)
        if type(operator) in _COMPARE:
            self.asm.emit("compare", into, _COMPARE[type(operator)], left, right)
        else:
            self.asm.emit(_TESTS[type(operator)], into, left, right)

    def on_BoolOp(self, node: ast.BoolOp, into: int) -> None:
        """Write `and` and `or`, which give one of their operands."""
        result, end = into if self.is_temporary(into) else self.asm.take(), Label()
        jump = "jump_unless" if isinstance(node.op, ast.And) else "jump_if"
        bound = None
        for item in node.values:
            self.value_into(item, result)
            bound = set(self.bound) if bound is None else bound
            if item is not node.values[-1]:
                self.asm.at(item)
                self.asm.emit(jump, result, end)
        self.bound = bound or self.bound
        self.asm.mark(end)
        if result != into:
            self.moved(into, result)

    def on_IfExp(self, node: ast.IfExp, into: int) -> None:
        """Write `a if c else b`."""
        otherwise, end = Label(), Label()
        self.jump_unless(node.test, otherwise)
        before = set(self.bound)
        self.value_into(node.body, into)
        self.asm.emit("jump", end)
        self.asm.mark(otherwise)
        self.bound = set(before)
        self.value_into(node.orelse, into)
        self.asm.mark(end)
        self.bound = before

    def on_NamedExpr(self, node: ast.NamedExpr, into: int) -> None:
        """Write `name := value`."""
        self.value_into(node.value, into)
        self.store(node.target, into)

    # ---- Conditions

    def jump_unless(self, node: ast.expr, where: Label) -> None:
        """Go there unless an expression is true."""
        self._jump(node, where, wanted=False)

    def jump_if(self, node: ast.expr, where: Label) -> None:
        """Go there if an expression is true."""
        self._jump(node, where, wanted=True)

    def _jump(self, node: ast.expr, where: Label, *, wanted: bool) -> None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._jump(node.operand, where, wanted=not wanted)
        elif isinstance(node, ast.BoolOp):
            # `a and b` is false as soon as a is; `a or b` true.
            decides = isinstance(node.op, ast.Or)
            end = Label()
            bound = None
            for item in node.values[:-1]:
                self._jump(item, where if decides == wanted else end, wanted=decides)
                bound = set(self.bound) if bound is None else bound
            self._jump(node.values[-1], where, wanted=wanted)
            self.asm.mark(end)
            self.bound = bound or self.bound
        else:
            value = self.value(node)
            self.asm.at(node)
            if not self.is_temporary(value):
                self.asm.emit("jump_if" if wanted else "jump_unless", value, where)
                return
            self.asm.emit("branch_if" if wanted else "branch_unless", value, where)
            self.drop(value)
