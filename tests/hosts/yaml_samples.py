"""Small YAML inputs that the tests of the YAML host share."""

POD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm
spec:
  template:
    spec:
      containers:
      - name: server
        image: vllm/vllm-openai:v0.11.0   # pinned
        command: ["python3", "-m", "vllm.entrypoints.openai.api_server"]
        args:
        - --model=org/model
        # memory for swapping
        - --swap-space
        - "4"
        - "--dtype=auto"
        env:
        - name: VLLM_USE_V1
          value: "1"
        - name: HF_TOKEN
          valueFrom:
            secretKeyRef: {name: hf, key: token}
        ports:
        - containerPort: 8000
"""

FLOW_POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: ["--model", "org/model", "--swap-space", "4", "--dtype=auto"]
      env: [{name: VLLM_USE_V1, value: "1"}, {name: A, value: b}]
"""

SCRIPT_POD = """\
kind: Pod
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      command: [sh, -c]
      args:
        - |
          export VLLM_USE_V1=1
          exec vllm serve org/model \\
            --swap-space 4 \\
            --dtype auto
      env:
        - name: OTHER
          value: "x"
"""

COMPOSE = """\
x-env: &env
  VLLM_USE_V1: "1"
  LEVEL: ${LEVEL:-info}
services:
  llm:
    image: ${VLLM_IMAGE:-vllm/vllm-openai:v0.11.0}
    command: >
      --model org/model
      --swap-space 4
      --port ${PORT:-8000}
    environment:
      <<: *env
  two:
    image: vllm/vllm-openai:${TAG:-v0.10.0}
    entrypoint: ["vllm", "serve"]
    command:
      - org/model
      - --swap-space=4
    environment:
      - VLLM_USE_V1=1
      - PASSED
  cache:
    image: redis:7
    command: ["redis-server", "--appendonly", "yes"]
"""

VALUES = """\
image:
  repository: vllm/vllm-openai
  tag: v0.11.0
vllmConfig:
  maxModelLen: 4096
  swapSpace: 4   # GiB
  enablePrefixCaching: false
  extraArgs: ["--dtype", "auto", "--swap-space", "4"]
env:
  VLLM_USE_V1: "1"
router:
  image: {repository: lmcache/lmstack-router, tag: latest}
  extraArgs: ["--routing-logic", "session"]
"""

CONFIG = """\
model: org/model
swap-space: 4
max-model-len: 4096
tensor-parallel-size: 2
compilation-config: {"level": 3, "cudagraph_capture_sizes": [1, 2, 4]}
speculative-config:
  method: ngram   # n-gram
  num_speculative_tokens: 3
  prompt_lookup_max: 4
"""

TEMPLATE = """\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "llm.name" . }}
  labels:
    {{- include "llm.labels" . | nindent 4 }}
spec:
  template:
    spec:
      containers:
        - name: server
          image: "vllm/vllm-openai:{{ .Values.image.tag }}"
          args:
            - --model={{ .Values.model }}
            {{- if .Values.swap }}
            - --swap-space={{ .Values.swap }}
            {{- end }}
            - --disable-log-stats
            {{- with .Values.extraArgs }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          env:
            - name: VLLM_USE_V1
              value: {{ .Values.v1 | quote }}
            - name: PLAIN
              value: "1"
{{- end }}
"""

SERVE = """\
apiVersion: ray.io/v1
kind: RayService
spec:
  serveConfigV2: |
    applications:
      - name: llm
        runtime_env:
          pip: ["vllm==0.11.0", "transformers>=4.50"]
        args:
          llm_configs:
            - model_loading_config:
                model_id: org/model
              runtime_env:
                env_vars:
                  VLLM_USE_V1: "1"
              engine_kwargs:
                swap_space: 4
                dtype: auto
"""

WORKFLOW = """\
name: test
on: push
env:
  VLLM_USE_V1: "1"
jobs:
  serve:
    runs-on: gpu
    container: vllm/vllm-openai:v0.11.0
    steps:
      - uses: actions/checkout@v4
      - run: pip install vllm==0.11.0
      - name: start
        run: |
          vllm serve org/model --swap-space 4 --port ${{ matrix.port }} &
          sleep 5
"""

ALL = {
    "pod": POD,
    "flow": FLOW_POD,
    "script": SCRIPT_POD,
    "compose": COMPOSE,
    "values": VALUES,
    "config": CONFIG,
    "template": TEMPLATE,
    "serve": SERVE,
    "workflow": WORKFLOW,
}
