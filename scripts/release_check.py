"""Say what keeps this checkout from being a release: `make release-check`.

One version everywhere, a dated section of the changelog, packages in dist/ that are whole and say
the same, and nothing that is not committed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from package import PAGE, glibc_of
from packaging.metadata import Metadata
from packaging.utils import parse_sdist_filename, parse_wheel_filename
from prepare import ROOT

RELEASED = re.compile(r"^## \[(.+?)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


def version_of(root: Path) -> str:
    """Return the version, from the one place that says it."""
    text = (root / "src" / "weft" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return found[1] if found else ""


def texts(root: Path) -> Iterator[str]:
    """Say where the version or its date differ."""
    version = version_of(root)
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"src/weft/__init__.py: {version!r} is no version of a release"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    released = RELEASED.search(changelog)
    if released is None or released[1] != version:
        yield f"CHANGELOG.md: its newest section is not `## [{version}] - date`"
        return
    unreleased = changelog[: released.start()].partition("\n## Unreleased\n")
    if not unreleased[1] or unreleased[2].strip():
        yield f"CHANGELOG.md: over {version} there is no empty section `## Unreleased`"
    after = changelog[released.end() :]
    if "\n### " not in after.partition("\n## ")[0]:
        yield f"CHANGELOG.md: the section of {version} is empty"
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    for line in (f"version: {version}", f"date-released: {released[2]}"):
        if f"\n{line}\n" not in citation:
            yield f"CITATION.cff: the line `{line}` is missing"


def claims(root: Path) -> Iterator[str]:
    """Say where the README and the metadata name other Pythons."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [
        int(each.removeprefix(prefix))
        for each in project["classifiers"]
        if each.startswith(prefix) and each.removeprefix(prefix).isdigit()
    ]
    if project["requires-python"] != f">=3.{min(minors)}":
        said = project["requires-python"]
        yield f"pyproject.toml: requires-python is {said}, not 3.{min(minors)}"
    *first, last = (f"3.{minor}" for minor in sorted(minors))
    words = f"Python {', '.join(first)} or {last}"
    if words not in (root / "README.md").read_text(encoding="utf-8"):
        yield f"README.md does not say `{words}`, as the classifiers do"


def packages(root: Path) -> Iterator[str]:
    """Say what is wrong with the sdist and the wheels of dist/."""
    version, readme = version_of(root), (root / "README.md").read_text(encoding="utf-8")
    wheels = sorted((root / "dist").glob("weft-*.whl"))
    sdists = sorted((root / "dist").glob("weft-*.tar.gz"))
    if not wheels or len(sdists) != 1:
        yield f"dist/ has {len(wheels)} wheels and {len(sdists)} sdists"
        return
    for path in wheels:
        if str(parse_wheel_filename(path.name)[1]) != version:
            yield f"dist/{path.name} is not of {version}"
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
            yield from contents(path.name, {f"/{name}" for name in names})
            yield from described(path.name, archive.read(metadata), version)
        try:
            if f"glibc {glibc_of(path.name)} or newer" not in readme:
                yield f"README.md does not say `glibc {glibc_of(path.name)} or newer`"
        except ValueError as error:
            yield f"{error}"
    (sdist,) = sdists
    if str(parse_sdist_filename(sdist.name)[1]) != version:
        yield f"dist/{sdist.name} is not of {version}"
    with tarfile.open(sdist) as archive:
        folder = sdist.name.removesuffix(".tar.gz")
        yield from contents(sdist.name, {f"/{name}" for name in archive.getnames()})
        member = archive.extractfile(f"{folder}/PKG-INFO")
        yield from described(sdist.name, member.read() if member else b"", version)


def contents(package: str, names: set[str]) -> Iterator[str]:
    """Say which files a package lacks."""
    for wanted in (f"/{PAGE}", "/LICENSE", "/LICENSE-THIRD-PARTY.txt", "/weft/py.typed"):
        if not any(name.endswith(wanted) for name in names):
            yield f"{package} has no {wanted[1:]}"


def described(package: str, text: bytes, version: str) -> Iterator[str]:
    """Say what is wrong with the metadata of a package."""
    try:
        metadata = Metadata.from_email(text)
    except ExceptionGroup as group:
        yield from (f"{package}: {error}" for error in group.exceptions)
        return
    if (metadata.name, str(metadata.version)) != ("weft", version):
        yield f"{package}: its metadata say {metadata.name} {metadata.version}"
    if metadata.description_content_type != "text/markdown" or not metadata.description:
        yield f"{package}: its metadata have no README"
    if metadata.license_expression != "MIT":
        yield f"{package}: its metadata have no license"


def tree(root: Path) -> Iterator[str]:
    """Say what is not committed, and whether this commit has the name of another release."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain")
    if changed:
        yield "not committed:\n" + changed
    names = git("tag", "--points-at", "HEAD", "v*").split()
    if names and names != [f"v{version_of(root)}"]:
        yield f"this commit is tagged {', '.join(names)}, and this is {version_of(root)}"


def main() -> int:
    """Print all of it; the exit code says whether there is any."""
    found = [line for check in (texts, claims, packages, tree) for line in check(ROOT)]
    for line in found:
        print(f"release-check: {line}", file=sys.stderr)
    if not found:
        print(f"{version_of(ROOT)} can be released")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
