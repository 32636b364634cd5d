"""Environment variables of the small formats: what goes, gets another name or value, and comes."""

from __future__ import annotations

from types import ModuleType

import pytest
from small_hosts import read, render

from vllm_migrate.hosts import dockerfile, envfile, groovy, ini, makefile, terraform, toml
from vllm_migrate.model import CannotRender, Change, InsertVariable, Reading, Remove, Rename, Replace, Variable

NAMES = {
    envfile: ".env",
    makefile: "Makefile",
    groovy: "Jenkinsfile",
    dockerfile: "Dockerfile",
    ini: "vllm.service",
    toml: "services.toml",
    terraform: "main.tf",
}
AROUND = {
    envfile: "%s",
    makefile: "%sall:\n\tvllm serve m\n",
    groovy: "pipeline {\n%s  stages { stage('x') { steps { sh 'vllm serve m' } } }\n}\n",
    dockerfile: 'FROM vllm/vllm-openai:v0.17.1\n%sCMD ["--x"]\n',
    ini: "[Service]\n%sExecStart=/bin/vllm serve m\n",
    toml: '[llm]\nimage = "vllm/vllm-openai:v0.17.1"\ncommand = ["--model", "m"]\n%s',
    terraform: 'resource "a" "b" {\n  c {\n    image = "vllm/vllm-openai:v0.17.1"\n    args = ["--x"]\n%s  }\n}\n',
}


def variables(reading: Reading) -> list[Variable]:
    return [v for s in reading.sites for v in s.variables] or reading.variables


def plan(reading: Reading, what: str) -> list[Change]:
    a = next(v for v in variables(reading) if v.name == "A")
    if what == "remove":
        return [Remove(a)]
    if what == "remove all":
        return [Remove(v) for v in variables(reading)]
    if what == "rename":
        return [Rename(a, "N")]
    if what == "both":
        return [Rename(a, "N"), Replace(a, "2")]
    if what.startswith("="):
        return [Replace(a, what[1:])]
    if what.startswith("+"):
        return [InsertVariable(a.container, "N", what[1:], after=a)]
    home = reading.sites[0].variable_home
    assert home is not None
    return [InsertVariable(home, "N", "v")]


def changed(host: ModuleType, text: str, what: str) -> str:
    reading = read(host, text, NAMES[host])
    return render(reading, text, plan(reading, what))


_HCL_BLOCK = """\
    env {
      name  = "A"
      value = "1"
    }
"""
_HCL_BLOCKS = _HCL_BLOCK + _HCL_BLOCK.replace("A", "B").replace("1", "2")
_HCL_MAP = '    env = {\n      A = "1"\n      B = "2"\n    }\n'
_HCL_LIST = '    env = [\n      { name = "A", value = "1" },\n      { name = "B", value = "2" },\n    ]\n'
_HCL_LINE = '    env = [{ name = "A", value = "1" }]\n'
CASES: list[tuple[ModuleType, str, str, str]] = [
    (envfile, "A=1\nB=2\n", "remove", "B=2\n"),
    (envfile, "A=1\nB=2\n", "remove all", ""),
    (envfile, "# c\nA=1\nB=2", "remove all", "# c\n"),
    (envfile, "A=1\nB=2\n", "rename", "N=1\nB=2\n"),
    (envfile, "A=1\nB=2\n", "=x y", 'A="x y"\nB=2\n'),
    (envfile, "export A='1' # why\n", "=x y", "export A='x y' # why\n"),
    (envfile, "A=1\r\nB=2\r\n", "+v", "A=1\r\nN=v\r\nB=2\r\n"),
    (envfile, 'A="1" # why\n', "both", 'N="2" # why\n'),
    (makefile, "export A = 1\nexport B=2\n", "remove", "export B=2\n"),
    (makefile, "export A = 1\nexport B=2\n", "remove all", ""),
    (makefile, "export A = 1 # why\n", "both", "export N = 2 # why\n"),
    (groovy, "  environment {\n    A = '1'\n    B = \"2\"\n  }\n", "remove", '  environment {\n    B = "2"\n  }\n'),
    (groovy, "  environment {\n    A = '1'\n    B = \"2\"\n  }\n", "remove all", ""),
    (groovy, "  environment {\n    A = '1'\n    B = f()\n  }\n", "remove all", "  environment {\n    B = f()\n  }\n"),
    (groovy, "  environment { A = '1' }\n", "remove", ""),
    (groovy, "  environment {\n    A = '1'\n  }\n", "both", "  environment {\n    N = '2'\n  }\n"),
    (groovy, "  environment {\n    A = '1'\n  }\n", "=it's $x", "  environment {\n    A = 'it\\'s $x'\n  }\n"),
    (groovy, '  environment {\n    A = "1"\n  }\n', "=it's $x", '  environment {\n    A = "it\'s \\$x"\n  }\n'),
    (dockerfile, "ENV A=1 B=2\n", "remove", "ENV B=2\n"),
    (dockerfile, 'ENV A="1" \\\n    B=2\n', "remove", "ENV B=2\n"),
    (dockerfile, 'ENV A="1" \\\n    B=2\n', "remove all", ""),
    (dockerfile, "ENV A=1 B=2\n", "rename", "ENV N=1 B=2\n"),
    (dockerfile, "ENV A=1 B=2\n", "=x y", 'ENV A="x y" B=2\n'),
    (dockerfile, "ENV A=1 B=2\n", "+v w", 'ENV A=1 N="v w" B=2\n'),
    (dockerfile, 'ENV A="1" \\\n    B=2\n', "last", 'ENV A="1" \\\n    B=2 \\\n    N=v\n'),
    (dockerfile, "ENV A 1\n", "=x y", "ENV A x y\n"),
    (dockerfile, "ENV A 1\n", "+v", "ENV A 1\nENV N=v\n"),
    (ini, "Environment=A=1 B=2\n", "remove", "Environment=B=2\n"),
    (ini, "Environment=A=1 B=2\n", "remove all", ""),
    (ini, "Environment=A=1 B=2\n", "=x y", 'Environment="A=x y" B=2\n'),
    (ini, "Environment=A=1\n", "=$x", "Environment=A=$x\n"),
    (ini, "Environment=A=1\n", "=5%x", "Environment=A=5%%x\n"),
    (ini, 'Environment="A=1"\nEnvironment=B=2\n', "both", 'Environment="N=2"\nEnvironment=B=2\n'),
    (ini, 'Environment="A=1"\nEnvironment=B=2\n', "+v", 'Environment="A=1" N=v\nEnvironment=B=2\n'),
    (ini, 'Environment="A=1"\nEnvironment=B=2\n', "last", 'Environment="A=1"\nEnvironment=B=2 N=v\n'),
    (toml, '[llm.env]\nA = "1"\nB = "2"\n', "remove", '[llm.env]\nB = "2"\n'),
    (toml, '[llm.env]\nA = "1"\nB = "2"\n', "remove all", ""),
    (toml, "[llm.env]\n\"A\" = '1'\n", "rename", "[llm.env]\nN = '1'\n"),
    (toml, '[llm.env]\nA = "1"\n', '=x "y"', '[llm.env]\nA = "x \\"y\\""\n'),
    (toml, "[llm.env]\nA = '1'\n", '=x "y"', "[llm.env]\nA = 'x \"y\"'\n"),
    (toml, '[llm.env]\n  A = "1"\n  B = "2"\n', "+v", '[llm.env]\n  A = "1"\n  N = "v"\n  B = "2"\n'),
    (toml, '[llm.env]\nA = "1" # why\nB = "2"\n', "remove", '[llm.env]\nB = "2"\n'),
    (toml, '[llm.env]\r\nA = "1"\r\n', "remove all", ""),
    (toml, '[llm.env]\n# why\nA = "1"\n', "remove all", "[llm.env]\n# why\n"),
    (toml, 'env.A = "1"\nenv.B = "2"\n', "remove", 'env.B = "2"\n'),
    (toml, 'env.A = "1"\nenv.B = "2"\n', "rename", 'env.N = "1"\nenv.B = "2"\n'),
    (toml, 'env.A  = "1"\n', "+v", 'env.A  = "1"\nenv.N = "v"\n'),
    (toml, 'env = { A = "1", B = "2" }\n', "both", 'env = { N = "2", B = "2" }\n'),
    (terraform, _HCL_BLOCKS, "remove", _HCL_BLOCKS.removeprefix(_HCL_BLOCK)),
    (terraform, _HCL_BLOCKS, "remove all", ""),
    (terraform, _HCL_BLOCKS, "both", _HCL_BLOCKS.replace('"A"', '"N"').replace('"1"', '"2"')),
    (terraform, _HCL_BLOCKS, "last", _HCL_BLOCKS + _HCL_BLOCK.replace("A", "N").replace("1", "v")),
    (terraform, _HCL_MAP, "remove", _HCL_MAP.replace('      A = "1"\n', "")),
    (terraform, _HCL_MAP, "remove all", ""),
    (terraform, _HCL_MAP, '=x "y" ${z}', _HCL_MAP.replace('"1"', '"x \\"y\\" $${z}"')),
    (terraform, _HCL_MAP, "+v", _HCL_MAP.replace('"1"\n', '"1"\n      N = "v"\n')),
    (terraform, _HCL_LIST, "remove", _HCL_LIST.replace('      { name = "A", value = "1" },\n', "")),
    (terraform, _HCL_LIST, "+v", _HCL_LIST.replace('"1" },\n', '"1" },\n      { name = "N", value = "v" },\n')),
    (terraform, _HCL_LINE, "rename", _HCL_LINE.replace('"A"', '"N"')),
    (terraform, _HCL_LINE, "last", _HCL_LINE.replace(" }]", ' }, { name = "N", value = "v" }]')),
    (terraform, _HCL_LINE, "remove", ""),
]


@pytest.mark.parametrize(("host", "before", "what", "after"), CASES)
def test_variables_change(host: ModuleType, before: str, what: str, after: str) -> None:
    around = AROUND[host]
    result = changed(host, around % before, what)
    assert result == around % after
    found = {v.name: v.value for v in variables(read(host, result, NAMES[host]))}
    if what.startswith("="):
        assert found["A"] == what[1:]
    if what in ("both", "last") or what.startswith("+"):
        assert found["N"] == ("2" if what == "both" else "v" if what == "last" else what[1:])


@pytest.mark.parametrize(
    ("host", "before", "what", "why"),
    [
        (makefile, "export A = 1\n", "=x y", "the value cannot be written at this place"),
        (makefile, "export A = 1\n", "=a#b", "the value cannot be written at this place"),
        (makefile, "export A = 1\n", "+v", "this cannot be added to exported variables"),
        (groovy, "  environment {\n    A = '1'\n  }\n", "+v", "this cannot be added to a pipeline's environment"),
        (toml, 'env = { A = "1", B = "2" }\n', "remove", "only a line of its own can be taken away"),
        (toml, 'env = { A = "1", B = "2" }\n', "+v", "no line for a variable"),
        (envfile, "A=1\n", "=a\nb", "the value cannot be written on one line"),
        (envfile, "A=1\n", "+a\nb", "the value cannot be written on one line"),
        (dockerfile, "ENV A=1\n", "=a\nb", "the value cannot be written in this format"),
        (ini, "Environment=A=1\n", "=a\nb", "the value cannot be written in this format"),
    ],
)
def test_what_a_format_cannot_say_is_refused(host: ModuleType, before: str, what: str, why: str) -> None:
    with pytest.raises(CannotRender, match=why):
        changed(host, AROUND[host] % before, what)
