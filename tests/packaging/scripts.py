"""The scripts of packaging, which import one another as scripts do: from the folder they are in."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

import build_backend  # noqa: E402
import newcomer  # noqa: E402
import package  # noqa: E402
import release_check  # noqa: E402
import try_install  # noqa: E402

__all__ = ["ROOT", "build_backend", "newcomer", "package", "release_check", "try_install"]
