"""Makes a tree of files from a seed: what a large repository looks like to a program that looks for vLLM.

Most files say nothing of vLLM; `speaking` of them launch it, in every format, each with something to rewrite.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path

_WORDS = (  # noqa: SIM905
    "service request handler value index batch stream model token cache tensor worker queue client server config "
    "result error retry timeout buffer page node pool shard metric label event trace span route policy quota user "
    "session account order payment invoice report chart table column row key field record schema version release"
).split()


def _python(rng: random.Random, size: int) -> str:
    out = ["from __future__ import annotations\n\nimport os\nimport sys\n\n"]
    length = 0
    while length < size:
        a, b, c = rng.sample(_WORDS, 3)
        out.append(
            f'\ndef {a}_{b}({c}: int, {a}: str = \'{b}\') -> int:\n    """Return the {a} of the {b}."""\n'
            f"    {b} = [{c} + i for i in range({rng.randrange(100)})]\n"
            f"    if {a} in os.environ:\n        sys.stderr.write(f'{{{a}}} {b}\\n')\n    return sum({b})\n"
        )
        length += len(out[-1])
    return "".join(out)


def _yaml(rng: random.Random, size: int) -> str:
    out, length = [], 0
    while length < size:
        a, b, c = rng.sample(_WORDS, 3)
        out.append(
            f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {a}-{b}\nspec:\n  template:\n    spec:\n"
            f"      containers:\n        - name: {a}\n"
            f"          image: example.com/{b}:{rng.randrange(9)}.{rng.randrange(9)}\n"
            f"          args:\n            - --{c}={a}\n            - --{b}\n          env:\n"
            f'            - name: {c.upper()}\n              value: "{rng.randrange(999)}"\n'
        )
        length += len(out[-1])
    return "".join(out)


def _shell(rng: random.Random, size: int) -> str:
    out, length = ["#!/usr/bin/env bash\nset -euo pipefail\n"], 0
    while length < size:
        a, b, c = rng.sample(_WORDS, 3)
        out.append(
            f'{a.upper()}="${{{b.upper()}:-{c}}}"\nif [ -n "${a.upper()}" ]; then\n'
            f'  {b} --{c} "{a}" | tee {c}.log\nfi\n'
        )
        length += len(out[-1])
    return "".join(out)


def _dockerfile(rng: random.Random, size: int) -> str:
    a, b, c = rng.sample(_WORDS, 3)
    steps = [
        f"RUN {rng.choice(_WORDS)} --{rng.choice(_WORDS)}={rng.choice(_WORDS)} && {b} {c}\n" for _ in range(size // 40)
    ]
    return f"FROM example.com/{a}:{rng.randrange(9)}\n" + "".join(steps)


def _markdown(rng: random.Random, size: int) -> str:
    out, length = [], 0
    while length < size:
        out.append(
            f"## {rng.choice(_WORDS)}\n\n{' '.join(rng.choices(_WORDS, k=60))}.\n\n"
            f"```sh\n{rng.choice(_WORDS)} --help\n```\n\n"
        )
        length += len(out[-1])
    return "".join(out)


def _json(rng: random.Random, size: int) -> str:
    rows = [dict(zip(rng.sample(_WORDS, 5), rng.choices(range(1000), k=5), strict=True)) for _ in range(size // 90)]
    return json.dumps({"rows": rows}, indent=1)


_POD = """
---
kind: Pod
spec:
  containers:
    - name: llm
      image: vllm/vllm-openai:v0.10.0
      args:
        - --model=org/model-{n}
        - --swap-space=4
        - --max-model-len={n}
"""
_CHART = """
{{{{- if .Values.enabled }}}}
apiVersion: v1
kind: Pod
metadata:
  name: {{{{ .Release.Name }}}}
spec:
  containers:
    - name: llm
      image: vllm/vllm-openai:v0.10.0
      args:
        - --model={{{{ .Values.model }}}}
        - --swap-space=4
        - --max-model-len={n}
{{{{- end }}}}
"""
_SPEAKING: tuple[tuple[str, Callable[[random.Random, int], str], str], ...] = (
    ("{}.py", _python, "\n\ndef start() -> object:\n    from vllm import LLM\n\n    return LLM('m', swap_space={n})\n"),
    ("{}.yaml", _yaml, _POD),
    ("templates/{}.yaml", lambda rng, size: "", _CHART),
    ("{}/Dockerfile", _dockerfile, '\nCMD ["vllm", "serve", "m", "--swap-space", "{n}"]\n'),
    ("{}.sh", _shell, "\nvllm serve org/model-{n} --swap-space 4 --port {n}\n"),
    ("{}.md", _markdown, "\n```sh\nvllm serve org/model --swap-space {n}\n```\n"),
    ("{}.json", lambda rng, size: "", '{{"cmd": ["vllm", "serve", "m", "--swap-space", "{n}"]}}\n'),
)
_SILENT: tuple[tuple[str, Callable[[random.Random, int], str], int], ...] = (
    (".py", _python, 30), (".yaml", _yaml, 25), (".sh", _shell, 8), (".md", _markdown, 12), (".json", _json, 25),
)  # fmt: skip


def make(folder: Path, files: int, speaking: int, seed: int, average: int = 12_000) -> None:
    """Write a tree. average: bytes of a file. Every file that speaks of vLLM has one thing to rewrite."""
    rng = random.Random(seed)
    speaks = set(rng.sample(range(files), speaking))
    weights = [weight for _, _, weight in _SILENT]
    for number in range(files):
        # About eight files a folder.
        top = folder / f"team{number % 97:02}" / rng.choice(_WORDS)
        size = int(rng.expovariate(1 / average)) + 200
        if number in speaks:
            name, body, tail = _SPEAKING[number % len(_SPEAKING)]
            path, text = top / name.format(f"f{number}"), body(rng, size) + tail.format(n=1 + number % 60_000)
        else:
            suffix, body, _ = rng.choices(_SILENT, weights)[0]
            path, text = top / f"f{number}{suffix}", body(rng, size)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--speaking", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    make(given.folder, given.files, given.speaking, given.seed)


if __name__ == "__main__":
    main()
