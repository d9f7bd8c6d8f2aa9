"""Call everything public with hostile arguments, in child processes, and report what breaks.

Run it with `make fuzz`, or `python -m tests.fuzz --calls 3000 --seed 7`. A Python exception is a
good answer. A signal, a sanitizer's report, a hang, a SystemError and an InternalError are not.

kit.py       what programs may use; everything in it is importable for a reproduction
pool.py      hostile values, as Python expressions
forms.py     operators, indexing and small stories
bodies.py    lines of functions that are mapped, recorded, replayed or run by rows, and their runs
dynamic.py   programs of those
targets.py   what can be called, and what its parameters look like
programs.py  programs of a few lines, made from a seed
child.py     runs programs and answers
watch.py     keeps children alive, notices how they die
shrink.py    makes a failing program smaller
"""
