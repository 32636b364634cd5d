"""What the YAML host finds."""

from __future__ import annotations

import yaml_samples as samples
from small_hosts import env, pins, read, words

from vllm_migrate.hosts import json as json_host
from vllm_migrate.hosts import yaml
from vllm_migrate.model import Dynamic, Reading


def entries(reading: Reading, site: int = 0) -> dict[str, object]:
    return {e.key: e.value for e in reading.sites[site].entries}


def test_a_pod_gives_words_environment_and_image() -> None:
    reading = read(yaml, samples.POD, "pod.yaml")
    (site,) = reading.sites
    assert site.entry_point == "api_server"
    assert words(reading) == ["--model=org/model", "--swap-space", "4", "--dtype=auto"]
    assert env(reading) == {"VLLM_USE_V1": "1", "HF_TOKEN": None}
    assert all(v.only and v.scope == "process" for v in site.variables)
    assert [p.text for p in site.pins] == ["vllm/vllm-openai:v0.11.0"]
    assert site.pins[0].owner == site.owner != ""
    assert not site.open


def test_a_shell_script_of_a_container_is_a_guest_with_the_containers_environment() -> None:
    reading = read(yaml, samples.SCRIPT_POD, "pod.yaml")
    (site,) = reading.sites
    assert site.host == "shell"
    assert words(reading) == ["org/model", "--swap-space", "4", "--dtype", "auto"]
    assert env(reading) == {"VLLM_USE_V1": "1", "OTHER": "x"}
    other = next(v for v in site.variables if v.name == "OTHER")
    assert other.only
    assert [p.text for p in site.pins] == ["vllm/vllm-openai:v0.11.0"]


def test_another_program_in_the_script_sees_the_containers_environment_too() -> None:
    text = samples.SCRIPT_POD.replace("export VLLM_USE_V1=1", "python prepare.py")
    reading = read(yaml, text, "pod.yaml")
    other = next(v for v in reading.sites[0].variables if v.name == "OTHER")
    assert not other.only


def test_containers_of_other_images_are_no_launches() -> None:
    text = samples.POD.replace("vllm/vllm-openai:v0.11.0", "example/router:1").replace(
        '        command: ["python3", "-m", "vllm.entrypoints.openai.api_server"]\n', ""
    )
    reading = read(yaml, text, "pod.yaml")
    assert reading.sites == []
    assert reading.variables == []
    assert pins(reading) == ["example/router:1"]


def test_compose_strings_lists_defaults_and_shared_anchors() -> None:
    reading = read(yaml, samples.COMPOSE, "compose.yaml")
    first, second = reading.sites
    assert words(reading) == ["--model", "org/model", "--swap-space", "4", "--port", "${PORT:-8000}"]
    assert env(reading)["VLLM_USE_V1"] == "1"
    assert [p.text for p in first.pins] == ["vllm/vllm-openai:v0.11.0"]
    assert words(reading, 1) == ["org/model", "--swap-space=4"]
    assert env(reading, 1) == {"VLLM_USE_V1": "1", "PASSED": None}
    assert [(p.prefix, p.text) for p in second.pins] == [("vllm/vllm-openai:", "v0.10.0")]
    assert "redis:7" in pins(reading)


def test_an_anchor_that_another_service_merges_is_locked() -> None:
    text = samples.COMPOSE + "    environment:\n      <<: *env\n"
    reading = read(yaml, text, "compose.yaml")
    shared = next(v for v in reading.sites[0].variables if v.name == "VLLM_USE_V1")
    assert "cache" in shared.locked
    assert not shared.only
    alone = read(yaml, samples.COMPOSE, "compose.yaml").sites[0].variables[0]
    assert alone.locked == ""


def test_services_that_share_an_anchor_share_its_items() -> None:
    text = (
        "x-base: &base\n  image: vllm/vllm-openai:v0.11.0\n  command: --model a --swap-space 4\n"
        "services:\n  a:\n    <<: *base\n  b:\n    <<: *base\n"
    )
    first, second = read(yaml, text, "compose.yaml").sites
    assert [w.text for w in first.words] == ["--model", "a", "--swap-space", "4"]
    assert all(a is b for a, b in zip(first.words, second.words, strict=True))
    assert first.words[0].locked == ""


def test_a_compose_script_passes_on_the_command() -> None:
    text = (
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n    entrypoint:\n      - bash\n      - -c\n"
        '      - exec vllm serve --port $${PORT} "$$@"\n      - --\n'
        "    command:\n      - --model\n      - org/model\n"
    )
    reading = read(yaml, text, "compose.yaml")
    assert words(reading) == ["--port", "${PORT}", "--model", "org/model"]
    assert not reading.sites[0].open


def test_values_give_settings_and_raw_arguments_as_one_launch() -> None:
    reading = read(yaml, samples.VALUES, "values.yaml")
    (site,) = reading.sites
    assert site.entry_point == "values"
    assert entries(reading) == {"maxModelLen": 4096, "swapSpace": 4, "enablePrefixCaching": False}
    assert words(reading) == ["--dtype", "auto", "--swap-space", "4"]
    assert env(reading) == {"VLLM_USE_V1": "1"}
    assert [p.whole for p in site.pins] == ["vllm/vllm-openai:v0.11.0"]
    assert site.pins[0].text == "v0.11.0"


def test_each_model_of_a_list_has_its_own_pin() -> None:
    text = """\
servingEngineSpec:
  modelSpec:
  - name: a
    repository: vllm/vllm-openai
    tag: v0.10.0
    vllmConfig: {swapSpace: 4}
  - name: b
    repository: "vllm/vllm-openai"
    tag: "v0.11.0"
    vllmConfig:
      extraArgs: ["--swap-space=4"]
"""
    first, second = read(yaml, text, "values.yaml").sites
    assert [p.whole for p in first.pins] == ["vllm/vllm-openai:v0.10.0"]
    assert [p.whole for p in second.pins] == ["vllm/vllm-openai:v0.11.0"]
    assert [w.text for w in second.words] == ["--swap-space=4"]


def test_arguments_of_a_program_beside_vllm_are_none_of_ours() -> None:
    text = "vllm:\n  image: {repository: example/router, tag: v1}\n  extraArgs: [--log-level, info]\n"
    assert read(yaml, text, "values.yaml").sites == []
    hooks = "repos:\n- repo: https://example.org/vllm-hooks\n  hooks:\n  - id: check\n    args: [--fix]\n"
    assert read(yaml, hooks, ".pre-commit-config.yaml").sites == []


def test_several_options_in_one_string() -> None:
    text = 'engine: vllm\nextraArgs:\n  - "--swap-space 4"\n  - >-\n    --dtype auto\n    --port 80\n'
    reading = read(yaml, text, "values.yaml")
    assert words(reading) == ["--swap-space", "4", "--dtype", "auto", "--port", "80"]
    reading = read(yaml, 'vllmArgs: "--swap-space 4 --dtype=auto"\n', "values.yaml")
    assert words(reading) == ["--swap-space", "4", "--dtype=auto"]


def test_a_json_value_stays_one_word() -> None:
    text = """\
engine: vllm
extraArgs:
  - '--speculative-config={"method": "ngram", "num_speculative_tokens": 3}'
  - --compilation-config
  - '{"level": 3, "mode": "x --y"}'
"""
    reading = read(yaml, text, "values.yaml")
    assert len(reading.sites[0].words) == 3


def test_a_config_file_is_known_by_its_keys() -> None:
    reading = read(yaml, samples.CONFIG, "serve.yaml")
    (site,) = reading.sites
    assert site.entry_point == "config"
    assert entries(reading)["speculative-config"] == {
        "method": "ngram",
        "num_speculative_tokens": 3,
        "prompt_lookup_max": 4,
    }
    assert read(yaml, "model: a\nscheme: b\ndataset_id: c\n", "eval.yaml").sites == []


def test_a_file_that_a_launch_names_is_read_as_config() -> None:
    from vllm_migrate.hosts import Context
    from vllm_migrate.text import Region, Source

    source = Source.of("swap-space: 4\n", "c.yaml")
    (site,) = yaml.read_config(Region.whole(source), Context("c.yaml")).sites
    assert [(e.key, e.value) for e in site.entries] == [("swap-space", 4)]


def test_types_are_the_files_own() -> None:
    text = (
        "model: m\ntensor-parallel-size: 4\nquoted-number: '4'\na-float: 0.5\na-switch: true\nb-switch: no\n"
        "nothing-here: null\na-tag: !env X\nseveral-items: [1, two]\n"
    )
    values = entries(read(yaml, text, "c.yaml"))
    assert values == {
        "model": "m",
        "tensor-parallel-size": 4,
        "quoted-number": "4",
        "a-float": 0.5,
        "a-switch": True,
        "b-switch": False,
        "nothing-here": None,
        "a-tag": Dynamic("!env X"),
        "several-items": [1, "two"],
    }


def test_a_template_is_read_around_its_actions() -> None:
    reading = read(yaml, samples.TEMPLATE, "templates/deployment.yaml")
    (site,) = reading.sites
    assert words(reading) == ["--model={{ .Values.model }}", "--swap-space={{ .Values.swap }}", "--disable-log-stats"]
    assert site.open
    assert [p.prefix + p.text + p.suffix for p in site.pins] == ["vllm/vllm-openai:\ue000"]
    assert reading.problems == []


def test_a_script_in_a_template_keeps_its_lines_together() -> None:
    text = """\
kind: Pod
spec:
  containers:
    - image: vllm/vllm-openai:v0.11.0
      command: [sh, -c]
      args:
        - |
          {{- if .Values.debug }}
          export VLLM_DEBUG=1
          {{- end }}
          vllm serve {{ .Values.model }} \\
          {{- if .Values.swap }}
            --swap-space {{ .Values.swap }} \\
          {{- end }}
            --dtype auto
"""
    reading = read(yaml, text, "templates/pod.yaml")
    assert words(reading) == [
        "{{ .Values.model }}",
        "--swap-space",
        "{{ .Values.swap }}",
        "--dtype",
        "auto",
    ]


def test_yaml_inside_yaml() -> None:
    reading = read(yaml, samples.SERVE, "ray.yaml")
    (site,) = reading.sites
    assert site.entry_point == "EngineArgs"
    assert entries(reading) == {"swap_space": 4, "dtype": "auto"}
    assert env(reading) == {"VLLM_USE_V1": "1"}
    assert pins(reading, "requirement") == ["vllm==0.11.0", "transformers>=4.50"]


def test_files_of_a_configmap() -> None:
    text = """\
apiVersion: v1
kind: ConfigMap
data:
  start.sh: |
    #!/bin/sh
    vllm serve a --swap-space 4
  config.yaml: |
    model: a
    swap-space: 4
    served-model-name: b
  run.py: |
    from vllm import LLM
    LLM(model="a", swap_space=4)
  VLLM_USE_V1: "1"
  notes.txt: vllm serve is the command
"""
    reading = read(yaml, text, "cm.yaml")
    assert [s.entry_point for s in reading.sites] == ["serve", "config", "LLM"]
    assert [v.name for v in reading.variables] == ["VLLM_USE_V1"]


def test_workflows() -> None:
    reading = read(yaml, samples.WORKFLOW, ".github/workflows/t.yml")
    (site,) = reading.sites
    assert words(reading) == ["org/model", "--swap-space", "4", "--port", "${{ matrix.port }}"]
    assert env(reading)["VLLM_USE_V1"] == "1"
    assert not next(v for v in site.variables if v.name == "VLLM_USE_V1").only
    assert pins(reading, "image") == ["vllm/vllm-openai:v0.11.0"]
    assert pins(reading, "requirement") == ["vllm==0.11.0"]


def test_task_files_run_their_commands_in_order() -> None:
    text = """\
type: service
image: vllm/vllm-openai:v0.11.0
env:
  - VLLM_USE_V1=1
commands:
  - pip install vllm==0.11.0
  - vllm serve org/model --swap-space 4
"""
    reading = read(yaml, text, "svc.dstack.yml")
    assert words(reading) == ["org/model", "--swap-space", "4"]
    assert env(reading) == {"VLLM_USE_V1": "1"}
    sky = (
        "envs:\n  CUDA_VISIBLE_DEVICES: '0'\nsetup: |\n  uv pip install vllm==0.11.0\n"
        "run: |\n  vllm serve a --swap-space 4\n"
    )
    reading = read(yaml, sky, "task.yaml")
    assert words(reading) == ["a", "--swap-space", "4"]
    assert env(reading) == {"CUDA_VISIBLE_DEVICES": "0"}
    assert pins(reading, "requirement") == ["vllm==0.11.0"]
    truss = (
        "base_image:\n  image: vllm/vllm-openai:v0.11.0\ndocker_server:\n  start_command: vllm serve a --swap-space 4\n"
    )
    reading = read(yaml, truss, "config.yaml")
    assert words(reading) == ["a", "--swap-space", "4"]
    assert pins(reading) == ["vllm/vllm-openai:v0.11.0"]


def test_custom_resources() -> None:
    kserve = """\
kind: InferenceService
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      args: ["--swap-space=4"]
"""
    assert words(read(yaml, kserve, "isvc.yaml")) == ["--swap-space=4"]
    assert read(yaml, kserve.replace("vLLM", "sklearn"), "isvc.yaml").sites == []
    kubeai = "kind: Model\nspec:\n  engine: VLLM\n  args:\n    - --swap-space=4\n  env:\n    VLLM_USE_V1: '1'\n"
    reading = read(yaml, kubeai, "model.yaml")
    assert (words(reading), env(reading)) == (["--swap-space=4"], {"VLLM_USE_V1": "1"})
    assert read(yaml, kubeai.replace("VLLM\n", "OLlama\n"), "model.yaml").sites == []
    crd = (
        "kind: CustomResourceDefinition\nspec:\n  description: vllm serve a --swap-space 4\n  args: [--swap-space=4]\n"
    )
    assert read(yaml, crd, "crd.yaml").sites == []


def test_pins_of_other_places() -> None:
    text = "kind: Kustomization\nimages:\n- name: vllm/vllm-openai\n  newTag: v0.11.0\n"
    assert pins(read(yaml, text, "kustomization.yaml")) == ["vllm/vllm-openai:v0.11.0"]
    conda = "name: x\ndependencies:\n  - python=3.11\n  - pip\n  - pip:\n      - vllm==0.11.0\n      - git+https://example.org/vllm.git@v0.11.0\n"
    reading = read(yaml, conda, "environment.yml")
    assert pins(reading, "requirement") == ["python=3.11", "pip", "vllm==0.11.0"]
    assert [p.text for p in reading.pins if p.kind == "git"] == ["v0.11.0"]
    build = "services:\n  a:\n    build:\n      context: .\n      args:\n        VLLM_VERSION: 0.11.0\n"
    assert pins(read(yaml, build, "compose.yaml"), "build-arg") == ["VLLM_VERSION=0.11.0"]
    digest = "image:\n  repository: vllm/vllm-openai\n  tag: v0.11.0\n  digest: sha256:" + "a" * 64 + "\n"
    assert read(yaml, digest, "values.yaml").pins[0].locked


def test_metrics_of_queries() -> None:
    text = 'triggers:\n- metadata:\n    query: sum(vllm:num_requests_waiting{a="b"}) / vllm:gpu_cache_usage_perc\n'
    reading = read(yaml, text, "keda.yaml")
    assert [m.name for m in reading.mentions] == ["vllm:num_requests_waiting", "vllm:gpu_cache_usage_perc"]
    board = '{"panels": [{"targets": [{"expr": "rate(vllm:time_per_output_token_seconds[1m])"}]}]}'
    reading = read(json_host, board, "board.json")
    assert [m.name for m in reading.mentions] == ["vllm:time_per_output_token_seconds"]


def test_generated_files_are_locked() -> None:
    text = "# Code generated by render. DO NOT EDIT.\n" + samples.POD
    reading = read(yaml, text, "pod.yaml")
    assert [p.kind for p in reading.problems] == ["generated"]
    assert all(w.locked for w in reading.sites[0].words)
    assert all(p.locked for p in reading.pins)


def test_bad_input_is_a_problem_and_the_rest_is_read() -> None:
    text = "a: [1\n---\n" + samples.POD
    reading = read(yaml, text, "pod.yaml")
    assert [p.kind for p in reading.problems] == ["syntax"]
    assert len(reading.sites) == 1
    for bad in (
        "a:\n\t- b\n",
        "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n",
        "a: &x [*x]\n",
        "\x00",
        "{" * 300,
        "a: *b\n",
    ):
        assert isinstance(read(yaml, bad, "x.yaml"), Reading)
        assert isinstance(read(json_host, bad, "x.json"), Reading)
    twice = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args: [--a=1]\n    args: [--b=1]\n"
    reading = read(yaml, twice, "x.yaml")
    assert [(p.kind, p.offset) for p in reading.problems] == [("doubt", twice.rindex("args"))]
    assert [[w.text for w in s.words] for s in reading.sites] == [["--a=1"], ["--b=1"]]
    branches = twice.replace("    args: [--b", "    {{- else }}\n    args: [--b").replace(
        "    args: [--a", "    {{- if x }}\n    args: [--a"
    )
    assert not read(yaml, branches + "    {{- end }}\n", "x.yaml").problems
    inside = read(
        yaml, twice.replace("[--b=1]", "[--b=1]\n    x: &x [*x]").replace("args: [--b", "argz: [--b"), "x.yaml"
    )
    assert [p.message for p in inside.problems] == ["the alias *x stands inside what it names"]


def test_actions_of_a_template_that_do_not_balance_are_named_and_the_rest_is_read() -> None:
    pod = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args:\n{}    - --port=1\n{}"
    for first, last, message, place in (
        ("    {{- if .a }}\n", "", "this `if` is never closed", "{{- if"),
        ("", "    {{- end }}\n", "this `end` closes nothing", "{{- end"),
        ("    {{- else }}\n", "", "this `else` stands outside of any `if`", "{{- else"),
        ("    - --model={{ .a\n", "", "a template action is opened here and not closed", "{{ .a"),
        ("    - --model={{ .a | x\n    - {{ .b }}\n", "", "a template action is opened here and not closed", "{{ .a"),
    ):
        text = pod.format(first, last)
        reading = read(yaml, text, "c/templates/a.yaml")
        assert [(p.kind, p.message, p.offset) for p in reading.problems] == [("doubt", message, text.index(place))]
        (site,) = reading.sites
        assert site.words[-1].text == "--port=1"
        assert all(w.locked for w in site.words)
    assert not read(yaml, pod.format('    - {{ "{{" }}\n', ""), "c/templates/a.yaml").problems


def test_positions_count_letters_after_odd_line_breaks() -> None:
    text = "# \u2028 \x85 caf\u00e9 \U0001f600\n" + samples.POD
    reading = read(yaml, text, "pod.yaml")
    word = reading.sites[0].words[0]
    assert text[word.place.start : word.place.end] == "--model=org/model"


def test_task_definitions_in_json() -> None:
    text = """\
{"containerDefinitions": [{"name": "vllm", "image": "vllm/vllm-openai:v0.11.0",
  "command": ["--model", "a", "--swap-space", "4"],
  "environment": [{"name": "VLLM_USE_V1", "value": "1"}]}]}
"""
    reading = read(json_host, text, "task.json")
    assert words(reading) == ["--model", "a", "--swap-space", "4"]
    assert env(reading) == {"VLLM_USE_V1": "1"}
    assert pins(reading) == ["vllm/vllm-openai:v0.11.0"]


def test_patches() -> None:
    text = """\
kind: Kustomization
patches:
- target: {name: vllm}
  patch: |-
    - op: replace
      path: /spec/template/spec/containers/0/args
      value: ["--model=a", "--swap-space=4"]
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --dtype=auto
    - op: replace
      path: /spec/replicas
      value: 2
"""
    reading = read(yaml, text, "kustomization.yaml")
    assert [[w.text for w in s.words] for s in reading.sites] == [["--model=a", "--swap-space=4"], ["--dtype=auto"]]


def test_an_image_named_in_the_environment_file() -> None:
    text = "services:\n  a:\n    image: ${IMAGE}\n    command: [--swap-space, '4']\n"
    assert [s.entry_point for s in read(yaml, text, "compose.yaml", {".env": "IMAGE=redis:7\n"}).sites] == []
    reading = read(yaml, text, "compose.yaml", {".env": "IMAGE=vllm/vllm-openai:v0.11.0\n"})
    assert [s.entry_point for s in reading.sites] == ["serve"]
    assert ".env" in reading.links


def test_the_version_of_a_chart_counts_where_its_templates_fall_back_to_it() -> None:
    chart = "apiVersion: v2\nname: llm\nappVersion: v0.11.0\n"
    files = {
        "values.yaml": 'image:\n  repository: vllm/vllm-openai\n  tag: ""\n',
        "templates/deployment.yaml": 'image: "{{ .r }}:{{ .Values.image.tag | default .Chart.AppVersion }}"\n',
    }
    assert [(p.name, p.text) for p in read(yaml, chart, "Chart.yaml", files).pins] == [("appVersion", "v0.11.0")]
    files["values.yaml"] = files["values.yaml"].replace('""', "v0.10.0")
    assert read(yaml, chart, "Chart.yaml", files).pins == []


def test_modules_and_tasks_that_run_containers() -> None:
    text = """\
- hosts: gpu
  tasks:
    - community.docker.docker_container:
        name: llm
        image: vllm/vllm-openai:v0.11.0
        command: --model a --swap-space 4
        env:
          VLLM_USE_V1: "1"
    - shell: |
        vllm serve b --swap-space 4
"""
    reading = read(yaml, text, "play.yml")
    assert [[w.text for w in s.words] for s in reading.sites] == [
        ["--model", "a", "--swap-space", "4"],
        ["b", "--swap-space", "4"],
    ]
    assert env(reading) == {"VLLM_USE_V1": "1"}


def test_template_lines_left_of_a_script() -> None:
    text = """\
spec:
  containers:
    - image: vllm/vllm-openai:v0.11.0
      command: [sh, -c]
      args:
        - |
{% if a.very.long.condition.that.is.deeper.than.the.script %}
          export A=1
{% endif %}
          vllm serve a --swap-space 4
{% if b %}
      env:
        - {name: B, value: "1"}
{% endif %}
"""
    reading = read(yaml, text, "pod.yaml.j2")
    assert reading.problems == []
    assert words(reading) == ["a", "--swap-space", "4"]
    assert env(reading) == {"A": "1", "B": "1"}


def test_schemas_between_manifests_are_passed_over_and_the_places_of_others_stay() -> None:
    schema = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "spec:\n  image: vllm/vllm-openai:v0.10.0\n"
    )
    text = f"{schema}---\n{samples.POD}---\n{schema}---\n{samples.POD}"
    reading = read(yaml, text, "all.yaml")
    assert reading.problems == []
    assert [p.text for p in reading.pins] == ["vllm/vllm-openai:v0.11.0"] * 2
    shown = [text[w.place.start : w.place.end] for s in reading.sites for w in s.words]
    assert shown == ["--model=org/model", "--swap-space", "4", "--dtype=auto"] * 2


DOCUMENTED = """\
name: m
base_args: [--vllm, "1"]
guide: |
  Start it:

  ```bash
  docker run vllm/vllm-openai:v0.9.0 --model m \\
    --swap-space 4
  ```

  Then ask:

  ```bash
  curl localhost:8000/v1/models
  ```
"""


def test_code_blocks_of_documents_in_yaml_are_examples() -> None:
    reading = read(yaml, DOCUMENTED, "recipe.yaml")
    shown = [s for s in reading.sites if s.shown]
    assert [w.text for w in shown[0].words] == ["--model", "m", "--swap-space", "4"]
    assert len(shown) == 1
    # What an example pins says nothing of what stands beside it.
    assert [p.text for p in shown[0].pins] == ["vllm/vllm-openai:v0.9.0"]
    assert reading.pins == []


FILLED = """\
model_name: {service_name}
base_image:
  image: vllm/vllm-openai:v{version}
docker_server:
  start_command: >-
    vllm serve /models/{folder}
    --max-model-len {length}
    --swap-space 4
"""


def test_names_in_braces_of_a_template_are_filled_in_later() -> None:
    reading = read(yaml, FILLED, "templates/config.yaml.tpl")
    (site,) = reading.sites
    assert [w.spelled() for w in site.words] == [
        "/models/{folder}", "--max-model-len", "{length}", "--swap-space", "4",
    ]  # fmt: skip
    assert not site.words[2].literal
    assert reading.problems == []


INLINE = """\
containers:
  - name: vllm
    image: vllm/vllm-openai:latest
    command: [sh, -c]
    args:
      - |
        vllm serve m \\
          {{- if .tensor }} --tensor-parallel-size {{ .tensor }}{{- end }} \\
          {{ if .quiet }}--quiet{{ end }} \\
          --dtype {{ if .half }}half{{ else }}auto{{ end }}
"""


def test_conditions_around_options_within_a_line_are_no_part_of_words() -> None:
    (site,) = read(yaml, INLINE, "templates/pod.yaml").sites
    assert [w.spelled() for w in site.words] == [
        "m", "--tensor-parallel-size", "{{ .tensor }}", "--quiet", "--dtype",
        "{{ if .half }}half{{ else }}auto{{ end }}",
    ]  # fmt: skip


def test_what_a_tag_computes_is_a_run_time_part() -> None:
    found = read(
        yaml,
        "containerDefinitions:\n- image: vllm/vllm-openai:v1\n  command: [--x, !Ref Y, !Sub '${A}', !!str 4]\n"
        "  environment:\n  - {name: A, value: !ImportValue 'B'}\n  - {name: C, value: !!str 1}\n",
        "x.yaml",
    )
    assert words(found) == ["--x", "!Ref Y", "!Sub '${A}'", "4"]
    assert [w.literal for w in found.sites[0].words] == [True, False, False, True]
    assert [(v.name, v.spelled()) for v in found.sites[0].variables] == [("A", "!ImportValue 'B'"), ("C", "1")]
