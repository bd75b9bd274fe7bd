"""The state folder: moments of every file as it is done, so that no file is read twice.

Layout::

    state.json             what was asked for: columns, references, weights; how they are encoded
    lock                   held by the run that uses the folder
    files/<p>.json         one entry a file: its path, its fingerprint, the request that it was
                           summed for, and the checksum of its moments
    files/<p>-<c>.moments  the moments; p is a hash of the path, c the beginning of the checksum

An entry is written after its moments, and both are renamed into place: whatever moment a run is
killed at, each file is either done or not begun. What a killed run left behind is swept up by the
next one.

A folder may be shared, damaged or tampered with. It is used only if it is empty or a state, only
names of these forms are opened or removed in it, and only if they are regular files. No entry says
where anything lies: names follow from the path and from the checksum. An entry counts only for the
path, the fingerprint, the request and the moments that it was written for; otherwise the file is
read again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from projse.atomic import TEMPORARY, Draft
from projse.exceptions import MomentsFileError, StateError
from projse.moments.file import DIGEST_SIZE, moments_from_bytes, write_moments_to
from projse.moments.own_files import locked, read_json, read_own, remove, write_json
from projse.moments.state_request import KIND, LAYOUT, difference, encoding_of, is_plan
from projse.moments.sums import Moments
from projse.sources.columns import Columns, Request, choose
from projse.sources.parts import Part, fields_of

if TYPE_CHECKING:
    from projse.sources.table.encoding import TableEncoding

ENTRY = re.compile(r"[0-9a-f]{24}\.json")
MOMENTS = re.compile(r"[0-9a-f]{24}-[0-9a-f]{24}\.moments")
CHECKSUM = re.compile(r"[0-9a-f]{64}")

ENTRY_BYTES = 1 << 20
STATE_BYTES = 1 << 28
"""Longer files were not written here: an entry holds a path, the state the names of columns."""


@dataclass(frozen=True)
class Entry:
    """A file that is done; ``moments``, their checksum, is None for a file without rows."""

    path: str
    fingerprint: dict[str, Any]
    request: str
    moments: str | None

    @classmethod
    def of(cls, plain: dict[str, Any] | None, name: str) -> Entry | None:
        """Return the entry that a file of this name holds; None where it holds no such entry."""
        if plain is None or plain.keys() != cls.__dataclass_fields__.keys():
            return None
        entry = cls(**plain)
        if not (
            isinstance(entry.path, str)
            and isinstance(entry.fingerprint, dict)
            and _is_checksum(entry.request)
            and (entry.moments is None or _is_checksum(entry.moments))
        ):
            return None
        return entry if name == entry.name else None

    @property
    def name(self) -> str:
        """Name of the entry's own file."""
        return f"{_place(self.path)}.json"

    @property
    def moments_name(self) -> str | None:
        """Name of the file of its moments."""
        return None if self.moments is None else f"{_place(self.path)}-{self.moments[:24]}.moments"


class StateFolder:
    """A state folder, locked while it is open.

    Parameters
    ----------
    path : path-like
        Created where it is not there; refused where it holds something else.
    content : bool
        Whether a file is told by its content instead of its time.
    """

    def __init__(self, path: Any, *, content: bool = False) -> None:
        if not os.fspath(path):
            raise StateError("The state folder has an empty name; name a folder, or leave it out.")
        self.path = Path(path)
        self.files = self.path / "files"
        self.content = content
        self._lock: Any = None
        self._entries: dict[str, Entry] = {}
        self._plan: dict[str, Any] | None = None
        self._request = ""
        self.encoding: TableEncoding | None = None
        self.n_done = 0

    def __enter__(self) -> Self:
        with self._named_errors():
            self._refuse_foreign()
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = locked(self.path / "lock", self.path)
        try:
            with self._named_errors():
                self.files.mkdir(exist_ok=True)
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

    def columns(self, request: Request, parts: list[Part]) -> Columns | None:
        """Return the columns of the runs before; refuse a request that means others."""
        if self._plan is None:
            return None
        columns = Columns.from_dict(self._plan["columns"])
        if self._plan["request"] == request.as_dict():
            return columns
        fields = fields_of(parts)
        assert fields is not None
        before = _bound(self._plan["request"], columns)
        now = _bound(request.as_dict(), choose(fields, request, parts[0].label))
        names = dict.fromkeys([*before, *now])  # covariates are not always there
        differences = [difference(n, before.get(n, []), now.get(n, [])) for n in names]
        if any(differences):
            raise StateError(
                f"{self.path} holds the state of another request "
                f"({'; '.join(filter(None, differences))}). Use another state folder, or delete "
                "this one to begin anew."
            )
        return columns

    def begin(self, columns: Columns, request: Request, encoding: TableEncoding | None) -> None:
        """Bind what follows to the request, which is written down the first time."""
        # Products of the candidates are no part of it: moments say themselves whether they have
        # them, and serve requests with and without.
        plain = None if encoding is None else encoding.to_dict()
        bound = {
            "layout": LAYOUT,
            "columns": columns.as_dict(),
            "missing": request.missing,
            "encoding": plain,
        }
        if request.na_values:
            bound["na_values"] = list(request.na_values)
        self._request = hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()
        if self._plan is not None:
            return
        self._plan = {
            "kind": KIND,
            "layout": LAYOUT,
            "columns": columns.as_dict(),
            "request": request.as_dict(),
            "encoding": plain,
        }
        with self._named_errors():
            write_json(self.path / "state.json", self._plan)

    def find(self, part: Part) -> Entry | None:
        """Return the entry of a file that has not changed since."""
        assert part.path is not None
        entry = self._entries.get(part.path)
        if entry is None or entry.request != self._request:
            return None
        return entry if entry.fingerprint == part.fingerprint(self.content) else None

    def load(self, entry: Entry) -> Moments | None:
        """Read the moments of an entry; raise MomentsFileError where they are not those."""
        name = entry.moments_name
        if name is None:
            return None
        try:
            content = read_own(self.files / name)
        except OSError as error:
            raise MomentsFileError(f"{name} cannot be read: {error.strerror}") from error
        if content is None or content[-DIGEST_SIZE:].hex() != entry.moments:
            raise MomentsFileError(f"{name} does not hold the moments of {entry.path}.")
        return moments_from_bytes(content, name)

    def put(self, part: Part, fingerprint: dict[str, Any], moments: Moments | None) -> None:
        """Keep the moments of a file that is done."""
        assert part.path is not None
        before = self._entries.get(part.path)
        with self._named_errors():
            checksum = None if moments is None else self._save(_place(part.path), moments)
            entry = Entry(part.path, fingerprint, self._request, checksum)
            write_json(self.files / entry.name, vars(entry))
            if before is not None and before.moments_name not in (None, entry.moments_name):
                remove(self.files / str(before.moments_name))
        self._entries[part.path] = entry
        self.n_done += 1

    def _save(self, place: str, moments: Moments) -> str:
        """Write moments under the name that their checksum gives them; return the checksum."""
        with Draft(self.files) as draft:
            checksum = write_moments_to(draft.file, moments).hex()
            draft.publish(self.files / f"{place}-{checksum[:24]}.moments")
        return checksum

    def _refuse_foreign(self) -> None:
        """Refuse a folder that is not ours, before anything in it is touched."""
        if not os.path.lexists(self.path):
            return
        names = os.listdir(self.path)
        if "files" in names and self.files.is_symlink():
            raise StateError(f"{self.files} is a link, which no state has; use another folder.")
        if "state.json" in names:
            self._read_plan()
            return
        # What a run leaves that was killed before it had begun, or one whose state.json was lost.
        foreign = [n for n in names if n not in ("lock", "files") and not TEMPORARY.fullmatch(n)]
        if "files" in names:
            foreign += [f"files/{n}" for n in os.listdir(self.files) if not _is_own_name(n)]
        if foreign:
            raise StateError(
                f"{self.path} is not empty and holds no state (it has {min(foreign)!r}); use a new "
                "or an empty folder."
            )

    def _read_plan(self) -> dict[str, Any]:
        """Read what was asked for before."""
        file = self.path / "state.json"
        plan = read_json(file, STATE_BYTES)
        if plan is not None and plan.keys() >= {"layout", "columns", "request"}:
            layout = plan["layout"]
            if type(layout) is int and 0 < layout < 1000 and layout != LAYOUT:
                raise StateError(
                    f"{file} was written by another version of projse (layout {layout}, not "
                    f"{LAYOUT}); use another state folder, or delete this one to begin anew."
                )
        if plan is None or not is_plan(plan):
            raise StateError(
                f"{file} is damaged or not of projse at all; use another state folder."
            )
        return plan

    def _load(self) -> None:
        if os.path.lexists(self.path / "state.json"):
            self._plan = self._read_plan()
            self.encoding = encoding_of(self._plan)
        kept: set[str | None] = set()
        names = os.listdir(self.files)
        for name in sorted(filter(ENTRY.fullmatch, names)):
            entry = Entry.of(read_json(self.files / name, ENTRY_BYTES), name)
            if entry is None:
                continue  # damaged: that file is read again, and its entry replaced
            if self._is_gone(entry):
                remove(self.files / name)
                continue
            self._entries[entry.path] = entry
            kept.add(entry.moments_name)
        for name in names:
            if (MOMENTS.fullmatch(name) and name not in kept) or TEMPORARY.fullmatch(name):
                remove(self.files / name)
        for name in filter(TEMPORARY.fullmatch, os.listdir(self.path)):
            remove(self.path / name)

    def _is_gone(self, entry: Entry) -> bool:
        """Whether a local file was removed; files that lie elsewhere are left alone."""
        return os.path.isabs(entry.path) and not os.path.exists(entry.path)

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
            if error.errno == errno.EISDIR:
                raise StateError(
                    f"{error.filename2 or place} is a folder, where the state keeps a file. Move "
                    "it elsewhere, or use another state folder."
                ) from error
            raise StateError(f"The state folder {self.path} cannot be used: {error}") from error


def _bound(request: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return what sums are bound to, for a comparison in words."""
    plain = {name: request[name] for name in ("missing", "basis")} | columns.as_dict()
    plain["na_values"] = request.get("na_values", [])
    del plain["types"]  # as a file of today has them, whatever the state was begun with
    return plain


def _is_own_name(name: str) -> bool:
    return any(form.fullmatch(name) for form in (ENTRY, MOMENTS, TEMPORARY))


def _is_checksum(value: Any) -> bool:
    return isinstance(value, str) and CHECKSUM.fullmatch(value) is not None


def _place(path: str) -> str:
    """Return the name that a path has in the folder."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:24]
