"""What pip asks to build Weft: scikit-build-core, and a look at the machine before it.

The viewer's page is built with npm and is not in git. An sdist holds it; a checkout builds it if
there is npm, and is otherwise installed without it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import build_viewer
import prepare
from scikit_build_core import build as backend
from scikit_build_core.build import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

PAGE = build_viewer.PAGE
NODE = "node {}.{} or newer with npm".format(*prepare.NODE_LEAST)
WITHOUT_PAGE = (
    f"*** Weft is built without the viewer's page, which needs {NODE}: graphs cannot be shown as "
    "HTML until it is installed again with them, and everything else works."
)

Settings = dict[str, Any] | None


def build_wheel(directory: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel, with the page if it is there or can be built."""
    look_at_machine(settings)
    return backend.build_wheel(directory, settings, metadata)


def build_editable(directory: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build what an editable installation installs."""
    look_at_machine(settings)
    return backend.build_editable(directory, settings, metadata)


def build_sdist(directory: str, settings: Settings = None) -> str:
    """Build an sdist, which has the page so that nobody needs npm who builds from it."""
    if not build_page():
        sys.exit(f"An sdist of Weft holds the viewer's page, which needs {NODE} to be built.")
    return backend.build_sdist(directory, settings)


def look_at_machine(settings: Settings) -> None:
    """End with a sentence if Weft cannot be built here; say so if the page cannot."""
    if not (settings or {}).get("cmake.define.WEFT_BUILT"):
        prepare.check_compiler()
        prepare.check_python_headers()
    if not build_page():
        print(WITHOUT_PAGE, flush=True)


def build_page() -> bool:
    """Build the page unless it is there; tell whether it is there."""
    if not PAGE.exists() and has_npm():
        builder = Path(build_viewer.__file__)
        subprocess.run([sys.executable, str(builder)], check=False)
    return PAGE.exists()


def has_npm() -> bool:
    """Tell whether there is what builds the page."""
    try:
        build_viewer.find_node()
    except SystemExit:
        return False
    return True
