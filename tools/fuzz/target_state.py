"""State folders of which parts were changed: what comes out is right, or refused."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SEPARATOR = b"\n\xfe\xfe\n"
KINDS: tuple[dict[str, Any], ...] = (
    {"targets": "y_*"},
    {"targets": "y_*", "missing": "indicator", "basis": "spline", "covariates": ["c"]},
)


def load() -> None:
    """Import what is fuzzed."""
    import projse
    import projse.moments.state
    import projse.moments.stream  # noqa: F401


def seeds() -> list[bytes]:
    """Return states of numbers and of mixed columns: as they are, and with checksums to be made."""
    return [
        bytes([kind + 2 * made]) + SEPARATOR.join(Good.of(kind).parts())
        for kind in range(len(KINDS))
        for made in range(2)
    ]


class Good:
    """Data, the state that a run over them leaves, and its moments."""

    def __init__(self, kind: int) -> None:
        import pyarrow as pa
        import pyarrow.csv

        from projse import moments_from

        self.root = Path(tempfile.mkdtemp(prefix="projse-fuzz-"))
        atexit.register(shutil.rmtree, self.root, ignore_errors=True)
        self.data, self.state = self.root / "data", self.root / "state"
        self.data.mkdir()
        rng = np.random.default_rng(kind)
        for number in range(2):
            columns: dict[str, Any] = {
                n: rng.normal(size=12) for n in ("a", "b", "c", "y_0", "y_1")
            }
            if kind:
                columns["c"] = list("uvw" * 4)
                columns["a"][3] = np.nan
                columns["a"] = pa.array(columns["a"], from_pandas=True)
            pyarrow.csv.write_csv(pa.table(columns), self.data / f"{number}.csv")
        self.options = KINDS[kind]
        self.moments = moments_from(self.data, state=self.state, **self.options)
        self.files = {
            str(path.relative_to(self.state)): path.read_bytes()
            for path in self.state.rglob("*")
            if path.is_file()
        }
        self.entry = min(
            name for name in self.files if name.startswith("files/") and "json" in name
        )
        place = self.entry.removesuffix(".json")
        self.kept = next(n for n in self.files if n.startswith(place) and n.endswith(".moments"))

    @staticmethod
    @cache
    def of(kind: int) -> Good:
        """Return the one of a kind."""
        return Good(kind)

    def parts(self) -> list[bytes]:
        """Return what is changed: the request, one entry, and its moments without checksum."""
        return [self.files["state.json"], self.files[self.entry], self.files[self.kept][:-32]]

    def restore(self) -> None:
        """Put the state back as it was."""
        shutil.rmtree(self.state, ignore_errors=True)
        for name, content in self.files.items():
            path = self.state / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def attempt(data: bytes) -> None:
    """Run with a state that was changed."""
    from fuzz.judge import WrongAnswerError
    from projse import moments_from

    mode = data[0] % 4 if data else 0
    good, made = Good.of(mode % 2), mode >= 2
    plan, entry, kept = [*data[1:].split(SEPARATOR, 2), b"", b""][:3]
    good.restore()
    (good.state / "state.json").write_bytes(plan)
    kept_name = good.kept
    if made:  # moments that someone made up, with an entry that vouches for them
        digest = hashlib.sha256(kept).digest()
        kept += digest
        (good.state / good.kept).unlink()
        kept_name = f"{good.kept.split('-')[0]}-{digest.hex()[:24]}.moments"
        try:
            entry = json.dumps({**json.loads(entry), "moments": digest.hex()}).encode()
        except (ValueError, TypeError, RecursionError):
            made = False
    else:
        kept += good.files[good.kept][-32:]
    (good.state / good.entry).write_bytes(entry)
    (good.state / kept_name).write_bytes(kept)
    got = moments_from(good.data, state=good.state, **good.options)
    if made or plan != good.files["state.json"]:
        return
    for name in ("n_samples", "yy", "yx", "xx"):
        if not np.array_equal(getattr(got, name), getattr(good.moments, name)):
            raise WrongAnswerError(f"{name} is not that of the rows")
