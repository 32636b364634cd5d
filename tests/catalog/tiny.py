"""A made-up release with the shape of the real ones, small enough to check by eye."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vllm_migrate.catalog import SECTIONS

FILES: dict[str, str] = {
    "vllm/__init__.py": "",
    "vllm/envs.py": """
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    VLLM_PORT: int | None = None
    VLLM_LEVEL: str = "low"
    VLLM_CACHE: str = ""

def one_of(name, default, choices) -> Callable[[], str | None]:
    def _get() -> str | None:
        value = os.getenv(name)
        return default if value is None else value
    return _get

def port() -> int | None:
    if "VLLM_PORT" not in os.environ:
        return None
    return int(os.environ["VLLM_PORT"])

environment_variables: dict[str, Callable[[], Any]] = {
    "VLLM_PORT": port,
    "VLLM_LEVEL": one_of("VLLM_LEVEL", "low", ["low", "high"]),
    "VLLM_CACHE": lambda: os.path.expanduser(os.path.join(os.getenv("XDG", "~/.cache"), "tiny")),
    "VLLM_FAST": lambda: bool(int(os.getenv("VLLM_FAST", "1"))),
    "VLLM_SECRET": lambda: secrets.token_hex(),
    "NO_COLOR": lambda: os.getenv("NO_COLOR", "0") != "0",
}

def __getattr__(name: str):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)
""",
    "vllm/config/__init__.py": """
from dataclasses import field
from typing import Any, Literal
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
import vllm.envs as envs

def config(cls):
    return dataclass(cls, config=ConfigDict(extra="forbid"))

DistributedExecutorBackend = Literal["ray", "mp"]
Colour = Literal["red", "green"]
LIMIT = 2 * 1024

@config
class SpeculativeConfig:
    method: Literal["ngram", "eagle"] | None = None
    tokens: int = Field(default=3, ge=1)
    target: "ModelConfig" = Field(default=None, init=False)

@config
class ModelConfig:
    model: str = "tiny/model"
    colour: Colour = "red"
    names: str | list[str] | None = None
    limit: int = LIMIT
    fast: bool = envs.VLLM_FAST
    sizes: list[int] = field(default_factory=lambda: [1, 2])
    speculative_config: SpeculativeConfig | None = None
    extra: dict[str, Any] = field(default_factory=dict)
""",
    "vllm/engine/arg_utils.py": """
import argparse
import json
import sys
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, Union, get_args, get_origin
from types import UnionType
from pydantic.fields import FieldInfo
from vllm.config import ModelConfig, SpeculativeConfig

def optional_type(return_type):
    def _optional_type(val):
        return None if val in ("", "None") else return_type(val)
    return _optional_type

def hints(t):
    return {x for a in get_args(t) for x in hints(a)} if get_origin(t) in (Union, UnionType) else {t}

def get_kwargs(cls):
    out = {}
    for f in fields(cls):
        default = f.default
        if isinstance(default, FieldInfo):
            default = default.default
        elif default is MISSING:
            default = f.default_factory()
        out[f.name] = kw = {"default": default, "help": ""}
        found = hints(f.type)
        literal = next((h for h in found if get_origin(h) is Literal), None)
        if bool in found:
            kw["action"] = argparse.BooleanOptionalAction
        elif literal is not None:
            kw["choices"] = sorted(get_args(literal))
        elif any(get_origin(h) is list for h in found):
            kw["type"], kw["nargs"] = str, "+"
        elif any(get_origin(h) is dict for h in found):
            kw["type"] = json.loads
        else:
            kw["type"] = int if int in found else str
        if type(None) in found and "type" in kw:
            kw["type"] = optional_type(kw["type"])
    return out

@dataclass
class EngineArgs:
    model: str = ModelConfig.model
    colour: str = ModelConfig.colour
    limit: int = ModelConfig.limit
    speculative_config: dict[str, Any] | None = None

    @staticmethod
    def add_cli_args(parser):
        model = get_kwargs(ModelConfig)
        group = parser.add_argument_group("ModelConfig")
        group.add_argument("--model", **model["model"])
        group.add_argument("--colour", "-c", **model["colour"])
        group.add_argument("--served-model-name", **model["names"])
        group.add_argument("--limit", **model["limit"])
        group.add_argument("--enable-fast", **model["fast"])
        group.add_argument("--speculative-config", type=json.loads, default=None)
        if "serve" in sys.argv:
            group.add_argument("--serve-thing", action="store_true")
        group.add_argument("--old-thing", type=float, default=4, help="[DEPRECATED] does nothing", dest="older")
        group.add_argument("--from-the-machine", default=probe_the_machine(), help=argparse.SUPPRESS)
        return parser

@dataclass
class AsyncEngineArgs(EngineArgs):
    log_requests: bool = False
""",
    "vllm/entrypoints/openai/cli_args.py": """
from vllm.engine.arg_utils import AsyncEngineArgs

def make_arg_parser(parser):
    parser.add_argument("--port", type=int, default=8000)
    return AsyncEngineArgs.add_cli_args(parser)
""",
    "vllm/entrypoints/openai/protocol.py": """
from __future__ import annotations
from typing import Annotated, Any, ClassVar, Literal, Optional, TypeAlias, TypedDict, Union
from pydantic import BaseModel, ConfigDict, Field
from ..messages import Message

class Base(BaseModel):
    model_config = ConfigDict(extra="allow")
    names: ClassVar[set[str] | None] = None

class StreamOptions(Base):
    include_usage: bool = True

class Tuning(Base):
    user: str | None = None

class ChatRequest(Tuning):
    messages: list[Message]
    stream_options: Optional[StreamOptions] = None
    top_k: int = Field(default=20, ge=0)
    shape: dict = Field(default=None, alias="schema")
    seeds: list[int] = Field(default_factory=list)

class TextRequest(Tuning):
    prompt: str

class MoreTextRequest(TextRequest):
    echo: bool = False

CompletionRequest: TypeAlias = Union[TextRequest, MoreTextRequest]

class Usage(Base):
    total: int = 0

class ChatResponse(Base):
    usage: "Usage"
    text: str
""",
    "vllm/entrypoints/messages/__init__.py": "from .types import *\n",
    "vllm/entrypoints/messages/types.py": """
from typing import TypedDict

class Message(TypedDict, total=False):
    content: str
""",
    "vllm/entrypoints/openai/api_server.py": """
from fastapi import APIRouter, Request
from .protocol import ChatRequest, CompletionRequest as Wanted
from vllm.entrypoints.openai.protocol import ChatResponse

router = APIRouter()

@router.get("/health")
async def health(raw_request: Request): ...

@router.post("/v1/chat/completions", dependencies=[1])
@with_cancellation
async def chat(request: Annotated[ChatRequest, Form()], raw_request: Request): ...

@router.post("/v1/completions")
async def complete(request: Wanted, raw_request: Request): ...

@router.api_route("/ping", methods=["GET", "POST"])
async def ping(raw_request: Request): ...

def attach(app):
    app.add_api_route("/abort", abort, methods=["POST"])
    app.routes.append(Mount("/metrics", make_asgi_app()))
    client.get("/not/a/route")
""",
    "vllm/entrypoints/api_server.py": """
@app.get("/health")
async def health() -> Response: ...

@app.post("/generate")
async def generate(request: Request) -> Response: ...
""",
    "vllm/sampling_params.py": """
class Kind(IntEnum):
    GREEDY = 0

class SamplingParams(PydanticMsgspecMixin, msgspec.Struct):
    n: int = 1
    stop: str | list[str] | None = None
    kind: Kind = Kind.GREEDY
    seen: set[int] = msgspec.field(default_factory=set)
    _real: int | None = None

class OldParams(SamplingParams):
    pass
""",
    "vllm/entrypoints/cli/serve.py": """
from vllm.entrypoints.openai.cli_args import make_arg_parser

class ServeSubcommand:
    name = "serve"

    def subparser_init(self, subparsers):
        parser = subparsers.add_parser(self.name, help="serve")
        parser.add_argument("model_tag", type=str, nargs="?")
        return make_arg_parser(parser)
""",
    "vllm/entrypoints/llm.py": """
from typing import Any

class LLM:
    def __init__(self, model: str, *, seed: int | None = None, colour: str = "red", **kwargs: Any) -> None:
        pass
""",
    "vllm/utils/argparse_utils.py": """
class FlexibleArgumentParser:
    def parse_args(self, args):
        def create_nested_dict(keys, value):
            return value
        for arg in args:
            if arg.startswith("-O"):
                yield "--limit"
""",
    "vllm/model_executor/models/registry.py": """
_TEXT_GENERATION_MODELS = {"TinyForCausalLM": ("tiny", "TinyForCausalLM")}
_MULTIMODAL_MODELS = {"TinyVL": ("tiny_vl", "TinyVL")}
_VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_MULTIMODAL_MODELS}
_PREVIOUSLY_SUPPORTED_MODELS = {"HugeForCausalLM": "0.9.2"}
""",
    "vllm/model_executor/layers/quantization/__init__.py": """
from typing import Literal, get_args
QuantizationMethods = Literal["fp8", "awq"]
QUANTIZATION_METHODS: list[str] = list(get_args(QuantizationMethods))
DEPRECATED_QUANTIZATION_METHODS = ["awq"]
""",
    "vllm/model_executor/model_loader/__init__.py": """
from typing import Literal
LoadFormats = Literal["auto", "safetensors"]
""",
    "vllm/tool_parsers/__init__.py": """
from .base import ToolParserManager
from .hermes import HermesToolParser
""",
    "vllm/tool_parsers/base.py": """
class ToolParserManager:
    tool_parsers: dict = {}

    @classmethod
    def register_module(cls, name):
        def decorator(module):
            cls.tool_parsers[name] = module
            return module
        return decorator
""",
    "vllm/tool_parsers/hermes.py": """
from .base import ToolParserManager

@ToolParserManager.register_module("hermes")
class HermesToolParser:
    pass
""",
    "vllm/v1/attention/backends/registry.py": """
from enum import Enum

class AttentionBackendEnum(Enum):
    FLASH_ATTN = "a.b.C"
    TRITON_ATTN = "a.b.D"
""",
    "vllm/v1/metrics/loggers.py": """
from prometheus_client import Counter, Gauge

NAME = "vllm:cache_usage"

class Logger:
    def __init__(self, show_hidden):
        self.a = Counter(name="vllm:preemptions", documentation="see vllm:other")
        self.b = Gauge(NAME, "usage")
        if self.show_hidden_metrics:
            self.c = Gauge("vllm:old_usage", "usage")
""",
    "vllm/other.py": """
import os
flag = os.environ.get("VLLM_DIRECT")
""",
    "pyproject.toml": '[project]\nrequires-python = ">=3.10, <3.14"\n',
    "requirements/common.txt": 'regex  # fast\ntransformers >= 4.56, < 5\nsix>=1.16; python_version < "3.12"\n',
    "requirements/cuda.txt": "-r common.txt\ntorch==2.9.0\nfastapi[standard] >= 0.115\n",
    "requirements/rocm.txt": "-r common.txt\npeft\n",
    "CMakeLists.txt": """
set(CMAKE_CXX_STANDARD 20)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS "11.3")
  message(FATAL_ERROR "too old")
endif()
if(FOO VERSION_LESS "3")
  message(FATAL_ERROR "unrelated")
endif()
if(LANG STREQUAL "CUDA"
    AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS "13")
  message(FATAL_ERROR "too old for CUDA")
endif()
""",
    "docker/Dockerfile": """ARG CUDA_VERSION=12.9.1
ARG FINAL_BASE_IMAGE=nvidia/cuda:${CUDA_VERSION}-base-ubuntu22.04
ARG PIP_INDEX_URL UV_INDEX_URL
FROM ${FINAL_BASE_IMAGE} AS vllm-base
ARG max_jobs=2
FROM vllm-base AS vllm-openai
ENTRYPOINT ["vllm", "serve"]
FROM vllm-openai AS special
ENTRYPOINT ["/other.sh"]
""",
    "docker/Dockerfile.rocm_base": "ARG BASE_IMAGE=rocm/dev-ubuntu-22.04:7.1-complete\n",
}


def write_tree(folder: Path, changes: dict[str, str | None] | None = None) -> Path:
    """Write the release to a folder; changes replace files, None leaves one out."""
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder


def write_history(folder: Path, releases: list[str], sections: dict[str, Any]) -> Path:
    (folder / "releases").mkdir(parents=True, exist_ok=True)
    for v in releases:
        facts = {"version": v, "python": ">=3.10", "dotted": v != "0.8.5"}
        (folder / "releases" / f"{v}.json").write_text(json.dumps({"format": 1, "release": facts}))
    (folder / "releases.json").write_text(json.dumps({"format": 1, "releases": releases}))
    for name in SECTIONS:
        data = {"format": 1, "section": name, "entries": sections.get(name, {})}
        (folder / f"{name}.json").write_text(json.dumps(data))
    return folder
