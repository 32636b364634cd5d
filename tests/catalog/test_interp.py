"""The reader of source: it agrees with Python where it answers, and says unknown where it cannot know."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from vllm_migrate.catalog.interp import Interpreter
from vllm_migrate.catalog.interp_classes import dataclass_fields, default_of
from vllm_migrate.catalog.interp_values import MISSING, Unknown
from vllm_migrate.catalog.plain import COMPUTED, hint_text, hint_values, plain
from vllm_migrate.catalog.source import Tree


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reader(text: str, **modules: str) -> Any:
        for name, content in {"__init__": "", "m": text, **modules}.items():
            path = tmp_path / "t" / "vllm" / f"{name.replace('__dot__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        interp = Interpreter(Tree(tmp_path / "t"))
        return lambda name: interp.lookup("vllm.m", name)

    return reader


EXPRESSIONS = [
    "1 + 2 * 3 - 4 // 3 % 2",
    "2 ** 10 >> 2 | 1",
    "-5 if not [] else 6",
    "[x * y for x in (1, 2, 3) if x != 2 for y in range(2)]",
    "{k: v for k, v in zip('ab', [1, 2])}",
    "sorted({3, 1, 2}, key=lambda n: -n)",
    "'a,b'.split(',') + ['c'.upper()]",
    "f'{1 + 1}-{\"x\"!r}'",
    "1 < 2 < 3 and 'a' in 'abc'",
    "None or 0 or 'last'",
    "(lambda a, *b, c=3, **d: (a, b, c, d))(1, 2, c=4, e=5)",
    "[*range(3), *(4, 5)]",
    "{**{'a': 1}, 'b': 2}",
    "dict(a=1) | {'b': 2}",
    "next((x for x in [1, 5, 9] if x > 3), None)",
    "any(x > 2 for x in [1, 2]) or all([])",
    "'x'.join(map(str, [1, 2]))",
    "list(enumerate('ab', 1))[1:]",
    "int('12') + len('abc') + max(1, 2)",
    "isinstance(True, int) and not isinstance('a', (int, float))",
    "(y := 4) + y",
    "'%s-%d' % ('a', 3)",
    "tuple(reversed([1, 2]))",
    "min([3, 1], default=0)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_have_python_s_value(read: Any, expression: str) -> None:
    assert read(f"X = {expression}\n")("X") == eval(expression)


def test_statements(read: Any) -> None:
    at = read("""
total = 0
for n in range(10):
    if n == 2:
        continue
    if n == 6:
        break
    total += n
else:
    total = -1

names = []
names.append("a")
names += ["b"]
table = {"x": {"y": 1}}
table["x"]["z"] = 2
del table["x"]["y"]
(first, *rest) = [1, 2, 3]

def f(kind):
    try:
        return {"a": 1}[kind]
    except (KeyError, ValueError):
        return "none"
    finally:
        names.append(kind)

got = f("a"), f("b")
while len(names) < 6:
    names.append("w")
""")
    assert at("total") == 0 + 1 + 3 + 4 + 5
    assert at("got") == (1, "none")
    assert at("names") == ["a", "b", "a", "b", "w", "w"]
    assert at("table") == {"x": {"z": 2}}
    assert at("rest") == [2, 3]


def test_what_only_a_run_can_tell_is_unknown(read: Any) -> None:
    at = read("""
import torch, os
cuda = torch.cuda.is_available()
count = torch.cuda.device_count() + 1
either = cuda or 4
text = f"{cuda} {1}"
inside = [1, cuda]
if cuda:
    branch = 1
else:
    branch = 2
missing = undefined_name.attribute
broken = int(cuda)
sure = cuda and False

def answer():
    if cuda:
        return 1
    return 2

def recipe():
    return cuda.anything["x"](**more)

answered = answer()
cooked = recipe()
home = os.environ.get("HOME", "none")
""")
    for name in ("cuda", "count", "either", "text", "missing", "broken", "branch", "answered", "cooked"):
        assert isinstance(at(name), Unknown), name
    assert plain(at("inside")) is COMPUTED
    assert at("sure") is False
    assert at("home") == "none"


def test_imports_are_followed_where_the_tree_has_the_module(read: Any) -> None:
    at = read(
        "from .a import VALUE as mine\nfrom vllm import a\nimport vllm.a as b\nfrom vllm.a import *\n"
        "X = a.VALUE + b.VALUE + mine + OTHER\nfrom vllm.gone import nothing\n",
        a="from vllm.m import X as circle\nVALUE = 1\nOTHER = 10\n",
    )
    assert at("X") == 13
    assert isinstance(at("nothing"), Unknown)


def test_classes(read: Any) -> None:
    at = read("""
import enum

class Base:
    level = 1
    def __init__(self, size=3):
        self.size = size
    def area(self):
        return self.size ** 2
    @classmethod
    def named(cls):
        return cls.__name__
    @staticmethod
    def twice(x):
        return 2 * x
    @property
    def half(self):
        return self.size / 2

class Child(Base):
    level = Base.level + 1
    def area(self):
        return super().area() + 1

child = Child(4)
results = (child.area(), Child.named(), Base.twice(4), child.half, Child.level, getattr(Child, "gone", "no"))

class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"

colours = [c.value for c in Colour]
red = Colour("red").name
both = hasattr(Child, "area"), hasattr(Child, "nothing")
""")
    assert at("results") == (17, "Child", 8, 2.0, 2, "no")
    assert at("colours") == ["red", "blue"]
    assert at("red") == "RED"
    assert at("both") == (True, False)


def test_dataclass_fields_and_defaults(read: Any, tmp_path: Path) -> None:
    at = read("""
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Literal, Optional
from pydantic import Field

Mode = Literal["fast", "slow"]

@dataclass
class Inner:
    x: int = 1

@dataclass
class Outer:
    needed: int
    mode: Mode = "fast"
    sizes: list[int] = field(default_factory=lambda: [1, 2])
    limit: Optional[int] = Field(default=7, gt=0)
    inner: Inner = field(default_factory=Inner)
    made: str = field(default="", init=False)
    shared: ClassVar[int] = 3
    given: InitVar[int] = 0

@dataclass
class More(Outer):
    mode: Mode = "slow"
    extra: dict[str, Any] | None = None

copied = Outer.mode
""")
    interp = Interpreter(Tree(tmp_path / "t"))
    fields = dataclass_fields(interp, interp.lookup("vllm.m", "More"))
    found = {f.name: (hint_text(f.type), plain(default_of(interp, f)), f.init) for f in fields}
    assert list(found) == ["needed", "mode", "sizes", "limit", "inner", "made", "extra"]
    assert found["mode"] == ("str", "slow", True)
    assert found["sizes"] == ("list[int]", [1, 2], True)
    assert found["limit"] == ("int | None", 7, True)
    assert found["inner"] == ("Inner", COMPUTED, True)
    assert found["made"] == ("str", "", False)
    assert found["extra"] == ("dict[str, Any] | None", None, True)
    assert default_of(interp, fields[0]) is MISSING
    assert at("copied") == "fast"


def test_the_values_a_type_allows() -> None:
    assert hint_values(Literal["a", "b"] | str | None) == ["a", "b"]
    assert hint_values(list[Literal["a"]] | None) == []
    assert hint_values(dict[str, int]) == []


def test_an_endless_recursion_ends(read: Any) -> None:
    at = read("def f(n):\n    return f(n + 1)\nx = f(0)\ny = 1\n")
    assert isinstance(at("x"), Unknown)
    assert at("y") == 1


@pytest.mark.parametrize(
    "attack",
    [
        "().__class__.__mro__[1].__subclasses__()",
        "'{0.__class__}'.format(1)",
        "open('/etc/hostname').read()",
        "__import__('subprocess').run(['true'])",
        "eval('1 + 1')",
        "exec('x = 1')",
        "getattr(str, '__subclasses__')()",
        "(lambda: 0).__globals__",
        "globals()['__builtins__']",
    ],
)
def test_there_is_no_way_out(read: Any, attack: str) -> None:
    value = read(f"X = {attack}\n")("X")
    assert isinstance(value, Unknown) or value is None
