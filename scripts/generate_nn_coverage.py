"""Write docs/nn-coverage.md: which Module classes of `torch.nn` Weft has, and why not others."""

from __future__ import annotations

from scripts.generate_coming_from_pytorch import MODULE_CLASSES, ROOT, torch_names
from scripts.pytorch_differences import reason
from tests.oracle.module_cases import CASES, SPECIAL
from weft import nn

PAGE = ROOT / "docs" / "nn-coverage.md"
_PAGE = """\
<!-- Written by scripts/generate_nn_coverage.py (`make docs`); do not edit. -->

# Module classes of torch.nn

Weft has {there} of the {all} Module classes of PyTorch 2.13. {compared} of them have cases, which
`make oracle` compares with PyTorch (tests/oracle/test_modules.py): the parameters that a seed
draws, outputs, gradients, buffers, and what they print. The others are containers and base classes.

| class | here | how compared, or why not |
|---|---|---|
{rows}
"""


def page() -> str:
    """Return the page's text."""
    compared: dict[str, int] = {}
    for case in CASES:
        compared[case.name] = compared.get(case.name, 0) + 1
    rows: list[str] = []
    there = 0
    names = [each.name for each in torch_names()[MODULE_CLASSES]]
    for name in names:
        if name in compared and hasattr(nn, name):
            there += 1
            count = compared[name]
            rows.append(f"| {name} | yes | {count} case{'s' if count > 1 else ''} |")
        elif name in SPECIAL and hasattr(nn, name):
            there += 1
            rows.append(f"| {name} | yes | {SPECIAL[name]} |")
        else:
            rows.append(f"| {name} | no | {reason('torch.nn.' + name)} |")
    return _PAGE.format(there=there, all=len(names), compared=len(compared), rows="\n".join(rows))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
