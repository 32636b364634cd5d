"""Mutation testing: how many small changes of a module do the tests notice?

    python benchmarks/mutation.py cover --state FOLDER [TESTS…]
        which test runs which line: of all tests once, then of new ones
    python benchmarks/mutation.py run --state FOLDER [--sample N] MODULE…
        mutants of modules, against those tests
    python benchmarks/mutation.py again --state FOLDER MODULE…
        the survivors once more, after new tests or with more time
    python benchmarks/mutation.py table --state FOLDER [MODULE…]
    python benchmarks/mutation.py survivors --state FOLDER [MODULE…]
        what came of it

No file is changed. A process collects the tests once; a mutant is a fork of it in which the functions and constants of
one module are replaced, and runs the tests that reach the changed line until one fails: first those that killed others
of this module, then the quick ones, until `--budget` seconds of tests are used. Needs `coverage` and a POSIX system.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import itertools
import json
import os
import pickle
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import time
import types
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mutants import Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parent.parent
KILLED, TIMEOUT, SURVIVED, UNCOVERED, BROKEN = "killed", "timeout", "survived", "no test", "does not import"
_MEMORY = 3 << 30


@dataclass
class Covered:
    """seconds: how long each test takes; lines: which tests run a line, by file and line."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def forget(self, tests: set[str]) -> None:
        for by_line in self.lines.values():
            for line in by_line:
                by_line[line] -= tests

    def reaching(self, path: str, mutant: Mutant) -> set[str]:
        by_line = self.lines.get(path, {})
        if mutant.top:
            return set().union(*by_line.values()) if by_line else set()
        return by_line.get(mutant.line) or by_line.get(mutant.first) or set()


class Collector:
    """Plugin: runs every test under coverage and notes what it reached."""

    def __init__(self, known: Covered) -> None:
        self.known = known
        self.failed: set[str] = set()

    def pytest_runtestloop(self, session: Any) -> bool:
        import coverage

        seen = coverage.Coverage(data_file=None, source=[str(ROOT / "vllm_migrate")], config_file=False)
        seen.start()
        self.known.forget({item.nodeid for item in session.items})
        for i, item in enumerate(session.items):
            seen.switch_context(item.nodeid)
            began = time.process_time()
            following = session.items[i + 1] if i + 1 < len(session.items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.known.seconds[item.nodeid] = time.process_time() - began
        seen.stop()
        data = seen.get_data()
        for name in data.measured_files():
            by_line = self.known.lines.setdefault(Path(name).relative_to(ROOT).as_posix(), {})
            for line, tests in data.contexts_by_lineno(name).items():
                by_line.setdefault(line, set()).update(t for t in tests if t and t not in self.failed)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def _bare(value: object) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _functions(value: object) -> list[types.FunctionType]:
    """The plain functions behind an attribute: a method, a property, what a decorator wraps."""
    out: list[types.FunctionType] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, types.FunctionType):
            out.append(one)
        waiting += [
            inner
            for name in ("__func__", "fget", "func", "__wrapped__")
            if (inner := getattr(one, name, None)) is not None and not isinstance(one, types.MethodType)
        ]
    return list(dict.fromkeys(out))


def _frees(value: object) -> list[tuple[str, ...]]:
    return [f.__code__.co_freevars for f in _functions(value)]


def transplant(real: types.ModuleType, tree: ast.Module, bound: set[str]) -> None:
    """Give a loaded module the code and constants of a tree. bound: names to take whatever they look like."""
    scratch = types.ModuleType(real.__name__)
    scratch.__dict__.update({k: real.__dict__[k] for k in ("__file__", "__package__", "__spec__", "__name__")})
    if hasattr(real, "__path__"):
        scratch.__path__ = real.__path__
    sys.modules[real.__name__] = scratch
    try:
        exec(compile(tree, real.__file__ or "", "exec"), scratch.__dict__)
    finally:
        sys.modules[real.__name__] = real

    def code(old: object, new: object) -> None:
        for a, b in zip(_functions(old), _functions(new), strict=False):
            if a.__code__.co_freevars == b.__code__.co_freevars:
                a.__code__ = b.__code__
                if _bare(a.__defaults__) != _bare(b.__defaults__):
                    a.__defaults__ = b.__defaults__
                if _bare(a.__kwdefaults__) != _bare(b.__kwdefaults__):
                    a.__kwdefaults__ = b.__kwdefaults__
        if hasattr(old, "cache_clear"):
            old.cache_clear()

    for name, new in list(scratch.__dict__.items()):
        old = real.__dict__.get(name)
        if name.startswith("__") or isinstance(new, types.ModuleType):
            continue
        if isinstance(new, type) and isinstance(old, type):
            if new.__module__ != real.__name__:
                continue
            for key, value in list(vars(new).items()):
                was = vars(old).get(key)
                if _functions(value) and _frees(was) == _frees(value):
                    code(was, value)
                elif key not in ("__dict__", "__weakref__", "__doc__", "__slots__") and _bare(was) != _bare(value):
                    try:
                        setattr(old, key, value)
                    except (AttributeError, TypeError):
                        continue
        elif _functions(new) and name not in bound:
            code(old, new)
        elif name in bound or _bare(old) != _bare(new):
            for module in list(sys.modules.values()):
                if module is not None and getattr(module, "__name__", "").startswith("vllm_migrate"):
                    for key, value in list(vars(module).items()):
                        known = value is old and not isinstance(value, (bool, int, type(None)))
                        if known or (module is real and key == name):
                            setattr(module, key, new)


def _bound(tree: ast.Module, mutant: Mutant) -> set[str]:
    """Names that the statement of a mutant binds, where it runs on import."""
    if not mutant.top:
        return set()
    for statement in tree.body:
        if statement.lineno <= mutant.line <= (statement.end_lineno or 0):
            targets: list[ast.expr] = []
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return set()


class Runner:
    """Plugin: in place of running the tests, runs them against mutants."""

    def __init__(self, covered: Covered, work: list[tuple[str, Mutant]], state: Path, budget: float) -> None:
        self.covered, self.work, self.state, self.budget = covered, work, state, budget
        self.kills: dict[str, Counter[str]] = {}
        self.failed = ""
        self.child = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        if self.child and report.failed:
            os.write(self.pipe, report.nodeid.encode())
            os._exit(1)

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.base = Path(session.config._tmp_path_factory.getbasetemp())
        _preload()
        gc.collect()
        gc.freeze()
        out = self.state / "results"
        out.mkdir(parents=True, exist_ok=True)
        for path, mutant in self.work:
            status, test, seconds = self.one(path, mutant)
            if status == KILLED:
                self.kills.setdefault(path, Counter())[test] += 1
            with open(out / (mutant.module + ".jsonl"), "a", encoding="utf-8") as file:
                told = {**asdict(mutant), "status": status, "test": test, "seconds": round(seconds, 2)}
                file.write(json.dumps(told, ensure_ascii=False) + "\n")
        return True

    def tests_for(self, path: str, mutant: Mutant) -> list[str]:
        kills = self.kills.get(path, Counter())
        own = "test_" + mutant.module.rpartition(".")[2]

        def rank(test: str) -> tuple[int, int, float]:
            file = test.partition("::")[0]
            unit = 0 if own in file else 1 if "/hosts/" in file else 2 if "::test_case[" in test else 3
            return -kills[test], unit, self.covered.seconds.get(test, 1)

        chosen, left = [], self.budget
        for test in sorted((t for t in self.covered.reaching(path, mutant) if t in self.items), key=rank):
            seconds = self.covered.seconds.get(test, 1)
            if seconds <= left or not chosen:
                chosen.append(test)
                left -= seconds
        return chosen

    def one(self, path: str, mutant: Mutant) -> tuple[str, str, float]:
        tests = self.tests_for(path, mutant)
        if not tests:
            return UNCOVERED, "", 0.0
        began = time.monotonic()
        read, self.pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            self.run(path, mutant, tests)
        os.close(self.pipe)
        deadline = began + 20 * self.budget + 60
        status = None
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.005)
        else:
            status = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if status is None:
            os.waitpid(pid, 0)
        test = os.read(read, 1000).decode()
        os.close(read)
        for left in self.base.iterdir():
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() and not left.is_symlink() else left.unlink()
        seconds = time.monotonic() - began
        if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM):
            return TIMEOUT, test, seconds
        if os.WIFEXITED(status):
            code = os.WEXITSTATUS(status)
            return (SURVIVED if code == 0 else BROKEN if code == 3 else KILLED), test, seconds
        return KILLED, test or f"signal {os.WTERMSIG(status)}", seconds

    def run(self, path: str, mutant: Mutant, tests: list[str]) -> None:
        code = 4
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            self.child = True
            source = (ROOT / path).read_text(encoding="utf-8")
            signal.setitimer(signal.ITIMER_VIRTUAL, 10)
            try:
                tree = mutated(source, mutant)
                transplant(sys.modules[mutant.module], tree, _bound(tree, mutant))
            except BaseException:
                os._exit(3)
            for test in tests:
                signal.setitimer(signal.ITIMER_VIRTUAL, 2 + 10 * self.covered.seconds.get(test, 1))
                item = self.items[test]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            code = 0
        finally:
            os._exit(code)


def _preload() -> None:
    """Import everything and load the data, so that a fork need not."""
    import vllm_migrate

    for module in pkgutil.walk_packages(vllm_migrate.__path__, "vllm_migrate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    from vllm_migrate.config import Config
    from vllm_migrate.engine import run_text

    run_text("run.sh", b"vllm serve m --swap-space 4\n", ROOT, Config())


def _pytest(plugin: object, tests: list[str], state: Path, only: str = "") -> None:
    import hypothesis
    import pytest

    # What fails need not be made small.
    register = hypothesis.settings.register_profile
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)

    def quick(name: str, *args: Any, **kwargs: Any) -> None:
        register(name, *args, **{**kwargs, "phases": phases, "database": None})

    # It refuses plain assignment.
    type.__setattr__(hypothesis.settings, "register_profile", staticmethod(quick))
    base = state / f"tmp{os.getpid()}"
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "--assert=plain", "--tb=no", f"--basetemp={base}", *tests]
    arguments += ["-k", only] if only else []
    os.chdir(ROOT)
    pytest.main(arguments, plugins=[plugin])
    shutil.rmtree(base, ignore_errors=True)


def _path(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def _module(name: str) -> str:
    plain = name.removesuffix(".py").replace("/", ".").removeprefix("vllm_migrate.")
    return f"vllm_migrate.{plain}"


def results(state: Path, module: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last result of each mutant."""
    out: dict[tuple[Any, ...], dict[str, Any]] = {}
    file = state / "results" / f"{module}.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        told = json.loads(line)
        out[told["where"], told["line"], told["operator"], told["text"], told["node"], told["which"]] = told
    return out


def table(state: Path, modules: list[str]) -> str:
    lines = ["| module | mutants | killed | timeout | survived | no test | rate |", "| --- |" + " ---: |" * 6]
    total: Counter[str] = Counter()
    for module in modules:
        told = list(results(state, module).values())
        count = Counter(t["status"] for t in told)
        total += count
        lines.append(_row(module.removeprefix("vllm_migrate."), count))
    return "\n".join([*lines, _row("**all**", total)])


def _row(name: str, count: Counter[str]) -> str:
    every = sum(count.values())
    dead = count[KILLED] + count[TIMEOUT] + count[BROKEN]
    rate = f"{100 * dead / every:.1f} %" if every else ""
    killed = count[KILLED] + count[BROKEN]
    return f"| {name} | {every} | {killed} | {count[TIMEOUT]} | {count[SURVIVED]} | {count[UNCOVERED]} | {rate} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cover", "run", "again", "table", "survivors"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0, help="mutants of each module; 0: all")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of tests a mutant gets")
    parser.add_argument("--only", default="", help="which tests: pytest's -k")
    parser.add_argument("--covered", type=Path, help="file of `cover`; several processes may each write one")
    given = parser.parse_intermixed_args()
    state = given.state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    file = given.covered or state / "covered.pickle"
    covered = pickle.loads(file.read_bytes()) if file.is_file() else Covered()
    known = sorted(p.stem for p in (state / "results").glob("*.jsonl")) if (state / "results").is_dir() else []
    modules = [_module(name) for name in given.names] if given.what != "cover" else []
    if given.what == "cover":
        _pytest(Collector(covered), given.names or ["tests"], state, given.only)
        file.write_bytes(pickle.dumps(covered))
        print(f"{len(covered.seconds)} tests, {sum(covered.seconds.values()):.0f} s")
    elif given.what == "table":
        print(table(state, modules or known))
    elif given.what == "survivors":
        for module in modules or known:
            for told in results(state, module).values():
                if told["status"] in (SURVIVED, UNCOVERED):
                    what = f"{told['operator']}: {told['text']} [{told['status']}]"
                    print(f"{module}:{told['line']} {told['where']}: {what}")
    else:
        work: list[list[tuple[str, Mutant]]] = []
        for module in modules:
            made = mutants(module, (ROOT / _path(module)).read_text(encoding="utf-8"))
            done = results(state, module)
            if given.what == "again":
                left = {k for k, v in done.items() if v["status"] in (SURVIVED, UNCOVERED)}
                made = [m for m in made if _key(m) in left]
            else:
                # In mixed order: a larger sample holds the smaller one, and a run cut short a part of each module.
                made = random.Random(given.seed).sample(made, len(made))[: given.sample or None]
                made = [m for m in made if _key(m) not in done]
            work.append([(_path(module), m) for m in made])
        tests = sorted({t.partition("::")[0] for t in covered.seconds})
        turns = [one for turn in itertools.zip_longest(*work) for one in turn if one is not None]
        _pytest(Runner(covered, turns, state, given.budget), tests, state)
        print(table(state, modules))


def _key(mutant: Mutant) -> tuple[Any, ...]:
    return mutant.where, mutant.line, mutant.operator, mutant.text, mutant.node, mutant.which


if __name__ == "__main__":
    main()
