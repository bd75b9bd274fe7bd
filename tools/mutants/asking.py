"""Ask the fast tests whether they notice a fault: those that run its line, quick ones first."""

from __future__ import annotations

import functools
import gc
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from changes import Change

NEAR = ["tests/kernels", "tests/search"]
FAR = ["tests/estimators", "tests/metrics"]
LOG = os.environ.get("PROJSE_MUTANTS_LOG", os.devnull)
NOTICED, BROKEN = 1, 70
OPTIONS = ["-n0", "-x", "-q", "-s", "-p", "no:cacheprovider", "--no-header"]


class Measured:
    """Writes down which tests run which lines, and for how long."""

    def __init__(self, lines: Path) -> None:
        from coverage import Coverage

        self.file, self.seconds = lines, dict[str, float]()
        self.lines = Coverage(str(lines), config_file=False, source_pkgs=["projse"])
        self.lines.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Go on under the name of the next test."""
        self.lines.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of setting up, running and cleaning up."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Save what was measured, unless a test failed."""
        self.lines.stop()
        if exitstatus == 0:
            self.lines.save()
            self.file.with_suffix(".json").write_text(json.dumps(self.seconds))


class Runners:
    """Tells which tests run the place of a fault, as measured by a run without any fault."""

    def __init__(self, lines: Path) -> None:
        from coverage import CoverageData

        data = CoverageData(str(lines))
        data.read()
        # All of it now: a fork that reads would empty the file.
        files = (Path(file) for file in data.measured_files())
        self._by_line = {
            Path(*file.parts[-3:]).as_posix(): data.contexts_by_lineno(str(file)) for file in files
        }
        self.seconds = json.loads(lines.with_suffix(".json").read_text())

    def asked(self, name: str, change: Change, items: list[pytest.Item]) -> list[pytest.Item]:
        """Return tests that run the statement or are not known yet; all, if importing runs it."""
        by_line = self._by_line[name]
        running = {test for line in change.statement for test in by_line.get(line, ())}
        asked = [
            item
            for item in items
            if running == {""} or item.nodeid in running or item.nodeid not in self.seconds
        ]
        mirror = f"test_{Path(name).name}"  # which mostly notices first
        return sorted(asked, key=lambda i: (i.path.name != mirror, _room(i), self._took(i)))

    def limit(self, items: list[pytest.Item]) -> None:
        """End this process, as one that failed, if it takes much longer than without a fault."""
        seconds = 60 + int(3 * sum(self._took(item) for item in items))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    def _took(self, item: pytest.Item) -> float:
        return float(self.seconds.get(item.nodeid, 0.0))


def _room(item: pytest.Item) -> bool:
    return not item.nodeid.startswith(tuple(NEAR))


class Faults:
    """Instead of the tests' own loop: each fault in a fork that asks tests until one fails.

    The fork has the package and the tests already, so that a fault costs no more than the tests
    that are asked. It is put into the functions that are there.
    """

    def __init__(
        self,
        faults: dict[str, tuple[str, Change]],
        runners: Runners,
        tell: Callable[[str, str], None],
        jobs: int,
    ) -> None:
        self.faults, self.runners, self.tell, self.jobs = faults, runners, tell, jobs

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every fault, some at a time."""
        waiting = dict[int, str]()
        for key, (name, change) in self.faults.items():
            if len(waiting) == self.jobs:
                self._wait(waiting)
            asked = self.runners.asked(name, change, session.items)
            child = os.fork()
            if child == 0:
                in_a_fork(partial(self._noticed, name, change, session, asked))
            waiting[child] = key
        while waiting:
            self._wait(waiting)
        return True

    def _wait(self, waiting: dict[int, str]) -> None:
        child, status = os.wait()
        self.tell(waiting.pop(child), "killed" if noticed(status) else "survived")

    def _noticed(
        self, name: str, change: Change, session: pytest.Session, asked: list[pytest.Item]
    ) -> bool:
        self.runners.limit(asked)
        if not put(name, change):
            raise RuntimeError(f"{name} is not imported by any test.")
        for item, after in zip_longest(asked, asked[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.testsfailed:
                return True
        return False


class Reloaded:
    """Keeps the tests that run a line, for a fault that is in the file: imported with it."""

    def __init__(self, name: str, change: Change, runners: Runners) -> None:
        self.name, self.change, self.runners = name, change, runners

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out tests that cannot notice."""
        items[:] = self.runners.asked(self.name, self.change, items)
        self.runners.limit(items)


def in_a_fork(work: Callable[[], bool]) -> None:
    """Do the work of a fork and end it, with `NOTICED` if what is returned is true."""
    code = BROKEN
    try:
        os.setpgid(0, 0)
        silence = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        code = NOTICED if work() else 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def fails(source: Path, plugin: Callable[[], object]) -> bool:
    """Run the tests in a fork of this process, with the package of ``source``."""
    child = os.fork()
    if child == 0:
        sys.path.insert(0, str(source))
        os.environ["PYTHONPATH"] = str(source)
        fine = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        in_a_fork(lambda: pytest.main([*OPTIONS, *NEAR, *FAR], plugins=[plugin()]) not in fine)
    _, status = os.waitpid(child, 0)
    return noticed(status)


def noticed(status: int) -> bool:
    """Tell from how a fork ended whether a test failed or it took too long."""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) not in (0, NOTICED):
        raise SystemExit(f"A run of the tests broke: {LOG} has what it printed.")
    return status != 0


def put(name: str, change: Change) -> bool:
    """Put a fault into the functions of a module, wherever they are held; true if it has any."""
    code = compile(change.tree, f"/{name}", "exec", dont_inherit=True)
    faulty = {_place(inner): inner for inner in _within(code)}
    found = 0
    for held in gc.get_objects():
        if isinstance(held, FunctionType) and held.__code__.co_filename.endswith("/" + name):
            held.__code__ = faulty[_place(held.__code__)]
            found += 1
        elif isinstance(held, functools._lru_cache_wrapper):
            held.cache_clear()
    return found > 0


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _within(constant)
