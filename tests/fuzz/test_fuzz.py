"""The fuzzer notices what it is there to notice."""

from __future__ import annotations

import pytest

from tests.fuzz.programs import Programs
from tests.fuzz.shrink import shrink
from tests.fuzz.watch import Answer, Child, describe_death

FAULTS = {
    "ok": ["weft.ones(2).sum()"],
    "raised": ["weft.ones(2).view(3)"],
    "wrong": ["raise SystemError('error return without exception set')"],
    "died": ["import os, signal", "os.kill(os.getpid(), signal.SIGSEGV)"],
    "hung": ["import time; time.sleep(60)"],
    "skipped": ["keep_small(weft.ones(1).expand(2**40))"],
}


@pytest.mark.parametrize("status", FAULTS)
def test_notices(status: str) -> None:
    with Child(timeout=5) as child:
        answers = list(child.run([["pass"], FAULTS[status], ["pass"]]))
    assert answers[1].status == status, answers[1].text
    # After a failure the process is given up; otherwise the next program runs.
    assert len(answers) == (2 if answers[1].is_failure else 3)


def test_says_how_a_child_died() -> None:
    report = (
        "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x7f\n"
        "    #0 0x7f in memcpy libasan.cpp:1\n"
        "    #1 0x7f in weft::kernels::copy(Array const&) /root/x/cpp/weft/kernels/cpu/map.cpp:42\n"
    )
    text = describe_death(-6, report)
    assert text.startswith("SIGABRT, heap-buffer-overflow, in weft::kernels::copy() map.cpp:42")


def test_makes_failures_smaller() -> None:
    program = ["a = 1", "b = weft.ones(2)", "raise SystemError('x')", "c = 2"]
    answer = Answer("wrong", "SystemError: x")
    assert shrink(program, answer, 10, lambda _: None) == ["raise SystemError('x')"]


def test_makes_functions_smaller() -> None:
    program = [
        "def f(x):\n    try:\n        y = x\n        raise SystemError('x')\n    finally: z = 1",
        "f(1)",
    ]
    answer = Answer("wrong", "SystemError: x")
    found = shrink(program, answer, 10, lambda _: None)
    assert found == ["def f(x):\n    raise SystemError('x')", "f(1)"]


def test_notices_an_internal_error_that_an_example_caught() -> None:
    program = [
        "def f(x): raise weft.InternalError('x')",
        "look(weft.map(f, [1], return_exceptions=True))",
    ]
    with Child(timeout=20) as child:
        (answer,) = child.run([program])
    assert answer.status == "wrong"


def test_thresholds_are_part_of_a_program() -> None:
    programs = Programs(1)
    dynamic = [programs.make(number) for number in range(2, 300, 3)]
    assert all(lines[0].startswith("set_thresholds(") for lines in dynamic)
    assert len({lines[0] for lines in dynamic}) > 30


def test_programs_follow_from_the_seed() -> None:
    first, second = Programs(5), Programs(5)
    assert [first.make(i) for i in range(40)] == [second.make(i) for i in range(40)]
    assert first.make(1) != Programs(6).make(1)


def test_programs_are_python() -> None:
    programs = Programs(1)
    for number in range(300):
        for line in programs.make(number):
            compile(line, f"<program {number}>", "exec")


def test_every_kind_of_target_is_there() -> None:
    assert all(count > 5 for count in Programs(1).count().values())
