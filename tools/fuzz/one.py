"""One process that tries inputs of one target until its time is up, or something ends it.

What it has tried stands in ``counts.json`` of its folder, rewritten as it goes on; the input it
is at stands in ``current``, so that whatever ends the process leaves it behind. Inputs that end in
an error which is not ours stand in ``crashes``, one a defect.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

PROCESSOR_SECONDS = 60
"""An input that takes more of the processor hangs: the kernel ends the process."""

MEGABYTES = 512
"""An input that needs more memory than all before it by so much needs too much."""

MOST_BYTES = 1 << 14
EVERY = 1.0
"""Seconds between two writes of the counts."""


class Trial:
    """Tries inputs, and keeps count."""

    def __init__(self, target: Any, folder: Path, seconds: float) -> None:
        from fuzz.judge import is_own, signature

        self._is_own, self._signature = is_own, signature
        self._target, self._folder = target, folder
        self._start, self._seconds, self._written = time.process_time(), seconds, 0.0
        self._counts: Counter[str] = Counter()
        self._defects: set[str] = set()
        self._peak = 0

    def __call__(self, data: bytes) -> None:
        """Try an input; end the process where the time is up."""
        data = bytes(data)
        (self._folder / "current").write_bytes(data)
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
        outcome = "succeeded"
        try:
            self._target.attempt(data)
        except BaseException as error:
            outcome = "own error"
            if not self._is_own(error):
                outcome = "crashed"
                self._keep(self._signature(error), data, traceback.format_exc())
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._watch_memory(data)
        self._counts[outcome] += 1
        now = time.process_time()
        if now - self._written > EVERY:
            self._written = now
            self._write(now - self._start)
        if now - self._start > self._seconds:
            self._write(now - self._start)
            (self._folder / "current").unlink()
            sys.stderr.flush()
            os._exit(0)  # libFuzzer would go on

    def _watch_memory(self, data: bytes) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if self._counts.total() > 20 and peak > self._peak + MEGABYTES:
            self._keep(f"memory {peak - self._peak} MB", data, "")
        self._peak = peak

    def _keep(self, defect: str, data: bytes, trace: str) -> None:
        if defect in self._defects:
            return
        self._defects.add(defect)
        name = hashlib.sha256(defect.encode()).hexdigest()[:12]
        crashes = self._folder / "crashes"
        (crashes / name).write_bytes(data)
        (crashes / f"{name}.txt").write_text(f"{defect}\n\n{trace}", encoding="utf-8")

    def _write(self, seconds: float) -> None:
        plain = {**self._counts, "seconds": round(seconds, 1), "defects": sorted(self._defects)}
        draft = self._folder / "counts.json.part"
        draft.write_text(json.dumps(plain), encoding="utf-8")
        draft.replace(self._folder / "counts.json")


def fuzz(name: str, folder: Path, seconds: float, seed: int) -> None:
    """Try inputs; does not return."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    corpus = folder / "corpus"
    for place in (corpus, folder / "crashes"):
        place.mkdir(parents=True, exist_ok=True)
    atheris = None
    with contextlib.suppress(ImportError):
        import atheris  # type: ignore[import-not-found,no-redef]
    watched = (
        atheris.instrument_imports(include=["projse"]) if atheris else contextlib.nullcontext()
    )
    with watched:
        target = importlib.import_module(f"fuzz.target_{name}")
        target.load()
    warnings.simplefilter("ignore")
    trial = Trial(target, folder, seconds)
    inputs = target.seeds()
    for data in inputs:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        trial(data)
    for path in sorted(folder.glob("again/*")):
        data = path.read_bytes()
        path.unlink()  # it is kept anew if it fails
        trial(data)
    if atheris is None:
        rng = random.Random(seed)  # nosec B311
        from fuzz.mutations import mutated

        while True:
            trial(mutated(inputs, rng)[:MOST_BYTES])
    flags = [f"-max_len={MOST_BYTES}", f"-seed={seed}", "-timeout=36000", "-rss_limit_mb=4096"]
    atheris.Setup(["fuzz", *flags, f"-artifact_prefix={folder}/", str(corpus)], trial)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    fuzz(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
