"""What a long run holds on to: memory and open files of this process."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass, field
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Watch:
    """Samples of memory and open files on the way.

    What was there before the first does not count: imports, pools of threads, caches.
    """

    samples: list[tuple[int, int, int]] = field(default_factory=list)

    def __call__(self, step: int) -> None:
        """Take a sample."""
        gc.collect()
        self.samples.append((step, resident(), open_files()))

    def growth(self) -> tuple[int, int]:
        """Return by how many bytes and open files the last sample exceeds the first."""
        (_, bytes_before, files_before), (_, bytes_after, files_after) = (
            self.samples[0],
            self.samples[-1],
        )
        return bytes_after - bytes_before, files_after - files_before


def resident() -> int:
    """Bytes of memory that the process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def open_files() -> int:
    """Descriptors that the process holds."""
    return len(os.listdir("/proc/self/fd"))
