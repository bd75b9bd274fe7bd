"""Look whether a tag is a release, and whether two builds of it give the same bytes.

    python tools/release.py check v0.2.0
    python tools/release.py build dist

``check`` compares the tag with ``__version__`` and looks for the version in the changelog.
``build`` makes wheel and source archive twice (with the package ``build``), each from a copy of its
own, with the time of the last commit as the time of all files, and compares the bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(
    ".git", "__pycache__", "*.egg-info", "dist", "build", "_build", "node_modules", ".*_cache",
    ".coverage*", ".hypothesis", ".venv",
)  # fmt: skip


def version(root: Path = ROOT) -> str:
    """Read the version of the package, without importing it."""
    text = (root / "src" / "projse" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, flags=re.MULTILINE)
    if found is None:
        raise ValueError("src/projse/__init__.py has no line __version__ = ...")
    return found[1]


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """Say what keeps a tag from being a release; nothing if it is one."""
    number = version(root)
    found = []
    if tag != f"v{number}":
        found.append(f"The tag is {tag}, the version is {number}: they must be v{number} both.")
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", number):
        found.append(f"{number} is no version to release, as 1.2.3 or 1.2.3rc1 are.")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[?{re.escape(number)}\]?\b", changelog, flags=re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## {number}'.")
    return found


def build(folder: Path, root: Path = ROOT, arguments: tuple[str, ...] = ()) -> dict[str, str]:
    """Build twice into ``folder``; return the SHA-256 of each file, or raise if they differ."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _commit_time(root)}
    digests = []
    with tempfile.TemporaryDirectory() as place:
        # Other folders and other file times: neither may show in the result. Both copies are made
        # before any build, which takes long enough for someone to edit a file.
        copies = [Path(place) / name / "projse" for name in ("one", "another")]
        for source, copy in zip((root, copies[0]), copies, strict=True):
            shutil.copytree(source, copy, ignore=NOT_COPIED, copy_function=shutil.copyfile)
        for copy in copies:
            out = copy.parent / "dist"
            command = [sys.executable, "-m", "build", "--outdir", str(out), *arguments, str(copy)]
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
            digests.append(
                {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(out.iterdir())}
            )
        if digests[0] != digests[1]:
            raise RuntimeError(f"Two builds differ: {digests[0]} and {digests[1]}.")
        shutil.copytree(out, folder, dirs_exist_ok=True)
    return digests[0]


def _commit_time(root: Path) -> str:
    """Seconds since 1970 of the last commit; a fixed day where the sources have no history."""
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "1704067200"
    return done.stdout.strip()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", tag]:
            if said := faults(tag):
                raise SystemExit("\n".join(said))
        case ["build", folder]:
            for name, digest in build(Path(folder)).items():
                print(digest, name)
        case _:
            raise SystemExit(__doc__)
