"""Changes that tests should notice: one comparison, operator or constant of the sources at a time.

    make mutate MUTATE="--count 300 --seed 1"           a sample of Python and C++
    make mutate MUTATE="--only 'src/weft/optim/*'"      of some files
    make mutate MUTATE="--again"                        what was not noticed last time, once more

`python_source.py` and `cpp_source.py` find what can be changed, `suites.py` says which tests should
notice, in which order, and `judge.py` changes a copy of the tree, builds it and runs them. What no
test can notice stands in `harmless.toml` with the reason.
"""
