"""The state folder: moments of every file as it is done, so that no file is read twice.

Layout::

    state.json             what was asked for: columns, references, weights
    lock                   held by the run that uses the folder
    files/<p>.json         one entry a file: its path, fingerprint, and the name of its moments
    files/<p>-<f>.moments  the moments; p and f are hashes of the path and of the fingerprint

An entry is written after its moments, and both are renamed into place: whatever moment a run is
killed at, each file is either done or not begun. What a killed run left behind is swept up by the
next one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from projse._columns import Columns, Request, choose
from projse._moments import Moments
from projse._parts import Part
from projse.exceptions import MomentsFileError, StateError

LAYOUT = 1


@dataclass(frozen=True)
class Entry:
    """A file that is done; ``moments`` is None for a file without rows."""

    path: str
    fingerprint: dict[str, Any]
    moments: str | None
    n_rows: int


class StateFolder:
    """A state folder, locked while it is open.

    Parameters
    ----------
    path : path-like
        Created where it is not there.
    content : bool
        Whether a file is told by its content instead of its time.
    """

    def __init__(self, path: Any, *, content: bool = False) -> None:
        self.path = Path(path)
        self.content = content
        self._lock: Any = None
        self._entries: dict[str, Entry] = {}
        self._plan: dict[str, Any] | None = None
        self.n_done = 0

    def __enter__(self) -> Self:
        with self._named_errors():
            (self.path / "files").mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path / "lock", self.path)
        try:
            with self._named_errors():
                self._load()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.close()

    def columns(self, request: Request, parts: list[Part], with_xx: bool | str) -> Columns | None:
        """Return the columns of the runs before; refuse a request that means others."""
        if self._plan is None:
            return None
        columns = Columns.from_dict(self._plan["columns"])
        asked = {"missing": request.missing, "with_xx": with_xx}
        for name, value in asked.items():
            if self._plan[name] != value:
                self._refuse(f"{name} was {self._plan[name]!r} and is now {value!r}")
        if self._plan["request"] != request.as_dict():
            fields = parts[0].fields()
            assert fields is not None
            now = choose(fields, request, parts[0].label)
            for name, before in columns.as_dict().items():
                if now.as_dict()[name] != before:
                    self._refuse(
                        f"{name}: {_short(before)} before, {_short(now.as_dict()[name])} now"
                    )
        return columns

    def begin(self, columns: Columns, request: Request, with_xx: bool | str) -> None:
        """Write down what was asked for, the first time."""
        if self._plan is not None:
            return
        self._plan = {
            "layout": LAYOUT,
            "columns": columns.as_dict(),
            "request": request.as_dict(),
            "missing": request.missing,
            "with_xx": with_xx,
        }
        with self._named_errors():
            _write_json(self.path / "state.json", self._plan)

    def find(self, part: Part) -> Entry | None:
        """Return the entry of a file that has not changed since."""
        assert part.path is not None
        entry = self._entries.get(part.path)
        if entry is None or entry.fingerprint != part.fingerprint(self.content):
            return None
        return entry

    def load(self, entry: Entry) -> Moments | None:
        """Read the moments of an entry; raise MomentsFileError where they are damaged."""
        if entry.moments is None:
            return None
        try:
            return Moments.load(self.path / "files" / entry.moments)
        except OSError as error:
            raise MomentsFileError(f"{entry.moments} cannot be read: {error.strerror}") from error

    def put(self, part: Part, fingerprint: dict[str, Any], moments: Moments | None) -> None:
        """Keep the moments of a file that is done."""
        assert part.path is not None
        place = _hash(part.path)
        name = None if moments is None else f"{place}-{_hash(json.dumps(fingerprint))}.moments"
        entry = Entry(part.path, fingerprint, name, 0 if moments is None else moments.n_samples)
        before = self._entries.get(part.path)
        with self._named_errors():
            if moments is not None and name is not None:
                moments.save(self.path / "files" / name)
            _write_json(self.path / "files" / f"{place}.json", vars(entry))
            if before is not None and before.moments not in (None, name):
                (self.path / "files" / str(before.moments)).unlink(missing_ok=True)
        self._entries[part.path] = entry
        self.n_done += 1

    def _load(self) -> None:
        plan = self.path / "state.json"
        if plan.exists():
            self._plan = _read_json(plan)
            if self._plan is None or self._plan.get("layout") != LAYOUT:
                raise StateError(
                    f"{plan} is damaged or of another version of projse; use another state folder, "
                    "or delete this one to begin anew."
                )
        kept = set()
        folder = self.path / "files"
        for file in sorted(folder.glob("*.json")):
            plain = _read_json(file)
            try:
                entry = Entry(**plain)  # type: ignore[arg-type]
            except TypeError:
                file.unlink()  # damaged: that file is read again
                continue
            if self._is_gone(entry):
                file.unlink()
                continue
            self._entries[entry.path] = entry
            kept.add(entry.moments)
        for file in [*folder.glob("*.moments"), *folder.glob(".projse-*.part")]:
            if file.name not in kept:
                file.unlink(missing_ok=True)
        for file in self.path.glob(".projse-*.part"):
            file.unlink(missing_ok=True)

    def _is_gone(self, entry: Entry) -> bool:
        """Whether a local file was removed; files that lie elsewhere are left alone."""
        return os.path.isabs(entry.path) and not os.path.exists(entry.path)

    def _refuse(self, difference: str) -> None:
        raise StateError(
            f"{self.path} holds the state of another request ({difference}). Use another state "
            "folder, or delete this one to begin anew."
        )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = error.filename or self.path
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise StateError(
                    f"There is no room for the state in {self.path} ({error.strerror}). Free some "
                    "space and run again: what is done is kept."
                ) from error
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise StateError(
                    f"The state folder {self.path} cannot be written ({error.strerror}: {place}). "
                    "Give yourself permission, or use another folder."
                ) from error
            if error.errno in (errno.ENOTDIR, errno.EEXIST):
                raise StateError(f"{place} is a file; the state needs a folder.") from error
            raise StateError(f"The state folder {self.path} cannot be used: {error}") from error


def _locked(path: Path, folder: Path) -> Any:
    """Open a file and lock it until it is closed, or its process ends in whatever way."""
    file = path.open("a+")
    try:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            file.seek(1 << 30)  # a byte far from the text, which can then be read by others
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        who = f" (process {holder})" if holder else ""
        raise StateError(
            f"Another run{who} is using the state folder {folder}. Wait until it ends, or use "
            "another folder."
        ) from error
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()))
    file.flush()
    return file


def _write_json(path: Path, plain: dict[str, Any]) -> None:
    temporary = path.with_name(f".projse-{secrets.token_hex(8)}.part")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            json.dump(plain, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return plain if isinstance(plain, dict) else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
