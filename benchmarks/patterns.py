"""Times each regular expression of the package on texts that go round its loops: twice the text, twice the time.

`tests/patterns` tells the growth from the patterns alone; this measures it, in CPU seconds. A pattern is told of where
its time grows by more than `--ratio` when the text doubles.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "patterns"))

from ambiguity import pumps
from test_patterns import ALL, made

_ENDS = ("", "\0", "\n\0", "\n")


def seconds(pattern: re.Pattern[str], how: str, text: str) -> float:
    begin = time.thread_time()
    found = getattr(pattern, how)(text)
    if how == "finditer":
        for _ in found:
            pass
    return time.thread_time() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=20_000, help="characters of the shorter text")
    parser.add_argument("--ratio", type=float, default=3.0)
    given = parser.parse_args()
    every = {(u.pattern, u.flags, u.how): u for use in ALL for u in ([use] if use.pattern is not None else made(use))}
    slow = tried = 0
    longest = 0.0
    for use in every.values():
        if not isinstance(use.pattern, str):
            continue
        pattern = re.compile(use.pattern, use.flags)
        ways = {"finditer" if h in ("sub", "findall", "split", "subn") else h for h in use.how} or {"search"}
        for lead, pump in pumps(use.pattern, use.flags):
            for end in _ENDS:
                for how in ways:
                    short = lead + pump * (given.length // len(pump)) + end
                    long = lead + pump * (2 * given.length // len(pump)) + end
                    first = seconds(pattern, how, short)
                    if first > 10:
                        print(f"{use.where}: {first:.1f} s for {len(short)} characters: {use.pattern!r}")
                        slow += 1
                        break
                    second = seconds(pattern, how, long)
                    tried += 1
                    longest = max(longest, second)
                    # What takes a blink is measured too badly to be compared.
                    if second > 0.02 and second / first > given.ratio:
                        again = min(seconds(pattern, how, long) for _ in range(3))
                        before = min(seconds(pattern, how, short) for _ in range(3))
                        if again / before > given.ratio:
                            print(f"{use.where}: {before:.4f} s, {again:.4f} s: {use.pattern!r}")
                            print(f"    on {lead!r}, {pump!r} again and again, {end!r}")
                            slow += 1
    print(f"{len(every)} patterns, {tried} texts of {2 * given.length} characters: {slow} grow faster than their text;")
    print(f"the longest took {longest:.3f} s")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
