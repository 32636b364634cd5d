"""What a kustomization says about other files."""

from __future__ import annotations

import pytest
from small_hosts import read

from vllm_migrate.hosts import yaml
from vllm_migrate.hosts.kustomize import NAMES, counted, hold, is_operation, links
from vllm_migrate.hosts.yaml_tree import Node, parse
from vllm_migrate.model import Reading

BASE = """\
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: {}
          command: [vllm, serve]
          args: [--model=m, --swap-space=4, --port=1]
          env:
            - {{name: A, value: "1"}}
            - {{name: B, value: "2"}}
"""


def root(text: str) -> Node:
    return parse(text).roots[0]


def readings(**files: str) -> dict[str, Reading]:
    named = {path.replace("__", "/") + ".yaml": text for path, text in files.items()}
    found = {path: read(yaml, text, path, named) for path, text in named.items()}
    hold(found)
    return found


PATCH = "- op: {}\n  path: /spec/template/spec/containers/0/{}\n  value: x\n"


@pytest.mark.parametrize(
    ("path", "words", "variables"),
    [
        ("args/1", [True, True, False], [False, False]),
        ("args/0", [True, False, False], [False, False]),
        ("args/-", [False, False, False], [False, False]),
        ("env/0/value", [False, False, False], [True, False]),
        ("env/1", [False, False, False], [True, True]),
        ("resources/0", [False, False, False], [False, False]),
        ("args/10x", [False, False, False], [False, False]),
    ],
)
def test_items_up_to_the_number_that_a_patch_names_stay(path: str, words: list[bool], variables: list[bool]) -> None:
    base = BASE.format("vllm/vllm-openai:v0.9.0").replace("          command: [vllm, serve]\n", "")
    found = readings(
        a__base=base,
        a__kustomization="resources: [base.yaml]\npatchesJson6902: [{path: patch.yaml}]\n",
        a__patch=PATCH.format("replace", path),
        other__base=base,
    )
    site = found["a/base.yaml"].sites[0]
    assert [bool(w.locked) for w in site.words] == words
    assert [bool(v.locked) for v in site.variables] == variables
    assert all("a/patch.yaml" in w.locked for w in site.words if w.locked)
    assert not any(w.locked for w in found["other/base.yaml"].sites[0].words)


def test_a_patch_reaches_the_bases_of_its_bases_only() -> None:
    base = BASE.format("vllm/vllm-openai:v0.9.0")
    found = readings(
        base__deployment=base,
        base__kustomization="resources:\n  - deployment.yaml\n",
        mid__kustomization="bases: [../base]\nresources: [../mid, https://example.com/x//y]\n",
        top__kustomization="resources: [../mid]\npatches: [{path: patch.yaml}]\n",
        top__patch=PATCH.format("remove", "args/2"),
        apart__deployment=base,
        apart__kustomization="resources: [deployment.yaml]\n",
    )
    assert all(w.locked for w in found["base/deployment.yaml"].sites[0].words)
    assert not any(w.locked for w in found["apart/deployment.yaml"].sites[0].words)


def test_a_patch_that_no_kustomization_names_locks_nothing() -> None:
    found = readings(base=BASE.format("vllm/vllm-openai:v0.9.0"), patch=PATCH.format("remove", "args/2"))
    assert not any(w.locked for w in found["base.yaml"].sites[0].words)


def test_patches_inside_a_kustomization_count_too() -> None:
    inside = "  - target: {kind: Deployment}\n    patch: |-\n" + "".join(
        f"      {line}\n" for line in PATCH.format("remove", "args/2").splitlines()
    )
    found = readings(
        base=BASE.format("vllm/vllm-openai:v0.9.0"), kustomization="resources: [base.yaml]\npatches:\n" + inside
    )
    assert all("kustomization.yaml" in w.locked for w in found["base.yaml"].sites[0].words)


@pytest.mark.parametrize(
    ("image", "name", "tied"),
    [
        ("vllm/vllm-openai:v0.9.0", "vllm/vllm-openai", True),
        ("vllm/vllm-openai", "vllm/vllm-openai", True),
        ("reg.io:5000/vllm/vllm-openai:v0.9.0", "reg.io:5000/vllm/vllm-openai", True),
        ("reg.io:5000/vllm/vllm-openai", "reg.io:5000/vllm/vllm-openai", True),
        ("vllm/vllm-openai:v0.9.0@sha256:ab", "vllm/vllm-openai", True),
        ("vllm-openai:v0.9.0", "vllm-openai", True),
        ("other/vllm-openai:v0.9.0", "vllm/vllm-openai", False),
        ("vllm/vllm-openai:v0.9.0", "vllm-openai", False),
    ],
)
def test_images_know_the_tag_that_is_set_for_them(image: str, name: str, tied: bool) -> None:
    base = BASE.format(image)
    sets = f"images:\n  - name: {name}\n    newTag: v0.8.0\n"
    found = readings(
        base__deployment=base,
        base__kustomization="resources: [deployment.yaml]\n",
        top__kustomization="resources: [../base]\n" + sets,
        apart__deployment=base,
    )
    (pin,) = found["base/deployment.yaml"].sites[0].pins
    assert [(owner, p.text) for owner, p in pin.set_by] == ([("top/kustomization.yaml", "v0.8.0")] if tied else [])
    assert found["apart/deployment.yaml"].sites[0].pins[0].set_by == []
    hold(found)
    assert len(pin.set_by) == tied, "told anew, not twice"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resources: [a.yaml, ../b, 'https://x/y', git@h:o/r]\n", ["a.yaml", "../b", "git@h:o/r"]),
        ("bases: [a]\ncomponents: [b]\npatchesStrategicMerge: [c.yaml]\n", ["a", "b", "c.yaml"]),
        ("patchesStrategicMerge:\n  - |-\n    kind: X\n    a: b\n", []),
        ("patches:\n  - path: a.yaml\n  - patch: |-\n      x: y\n", ["a.yaml"]),
        ("patchesJson6902:\n  - target: {kind: X}\n    path: a.yaml\n", ["a.yaml"]),
        ("resources: a.yaml\nother: [b.yaml]\n", []),
    ],
)
def test_the_files_of_a_kustomization(text: str, said: list[str]) -> None:
    assert links(root(text)) == said


@pytest.mark.parametrize(
    ("text", "operation", "count"),
    [
        ("{op: add, path: /spec/containers/0/args/3}", True, ("args", 3)),
        ("{op: remove, path: /a/env/12/value}", True, ("env", 12)),
        ("{op: remove, path: /a/command/0}", True, ("command", 0)),
        ("{op: remove, path: /a/args/-}", True, None),
        ("{op: remove, path: /a/myargs/0}", True, None),
        ("{op: add, path: a/args/0}", False, ()),
        ("{path: /a/args/0}", False, ()),
        ("[op, path]", False, ()),
    ],
)
def test_operations(text: str, operation: bool, count: tuple[str, int] | tuple[()] | None) -> None:
    node = root(text)
    assert is_operation(node) is operation
    if operation:
        assert counted(node) == count


def test_names_of_kustomizations() -> None:
    for name in NAMES:
        found = {p: read(yaml, t, p) for p, t in {name: "resources: [a.yaml]\n", "a.yaml": "kind: X\n"}.items()}
        assert found[name].links == ["a.yaml"]
