"""Mines the command line: what `vllm serve` and the API server's own module register."""

from __future__ import annotations

import ast
import re
from typing import Any

from vllm_migrate.catalog.history import Attrs, Facts
from vllm_migrate.catalog.interp import Interpreter
from vllm_migrate.catalog.interp_classes import class_attribute
from vllm_migrate.catalog.interp_values import (
    External,
    Function,
    ImportRef,
    Native,
    Raised,
    Stop,
    Unknown,
    Unsupported,
)
from vllm_migrate.catalog.parser_record import Action, Parser, ParserClass, destination
from vllm_migrate.catalog.plain import converter_name, plain, put_default
from vllm_migrate.catalog.source import MineError, Tree
from vllm_migrate.versions_key import key

PARSER_CLASS = "FlexibleArgumentParser"
_NO_VALUE = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "help", "version"})


def prepare(interp: Interpreter) -> None:
    """Decide what depends on the machine: the platform is CUDA, no plugin is installed."""
    lazy = Native("LazyLoader", lambda _name, _globals, module: ImportRef(module, None), True)
    interp.natives["replaced classes"] = {PARSER_CLASS: ParserClass(interp), "LazyLoader": lazy}
    interp.natives["argparse.ArgumentParser"] = ParserClass(interp)
    platform = interp.lookup("vllm.platforms.cuda", "CudaPlatformBase")
    if isinstance(platform, type):
        interp.overrides["vllm.platforms", "current_platform"] = interp.instantiate(platform, [], {})
    torch = re.search(r"^torch\s*==\s*([\d.]+)", requirements_text(interp.tree), re.MULTILINE)
    newer = Native("is_torch_equal_or_newer", lambda wanted: _at_least(torch[1] if torch else None, wanted))
    for module in ("vllm.utils.torch_utils", "vllm.utils.torch_version", "vllm.utils"):
        interp.overrides[module, "is_torch_equal_or_newer"] = newer
    interp.overrides["vllm.plugins", "load_general_plugins"] = Native("plugins", lambda: None)


def requirements_text(tree: Tree) -> str:
    """Return the requirements of CUDA builds as one text."""
    names = ("requirements/common.txt", "requirements/cuda.txt", "requirements-common.txt", "requirements-cuda.txt")
    return "\n".join(tree.read(name) for name in names)


def _at_least(have: str | None, wanted: str) -> Any:
    return Unknown("torch version") if have is None else key(have) >= key(wanted)


def mine_options(interp: Interpreter, tree: Tree) -> Facts:
    """Return the `options` section. Raises MineError where no parser is found."""
    api = _api_parser(interp)
    serve = _serve_parser(interp, tree) or api
    if api is None or serve is None or not serve.actions:
        raise MineError(f"{tree.path}: options: no parser found in vllm/entrypoints")
    inverse = inverse_prefixes(tree)
    glued = glued_letters(tree)
    in_serve = _facts(serve, inverse)
    in_api = _facts(api, inverse)
    out: Facts = {}
    for name in sorted({*in_serve, *in_api}):
        attrs = in_serve.get(name) or in_api[name]
        if name not in in_api:
            attrs["only"] = "serve"
        elif name not in in_serve:
            attrs["only"] = "api_server"
        out[name] = attrs
    for attrs in out.values():
        if attrs.get("built") and attrs["type"] == "json" and _takes_level(tree, attrs["config"]):
            attrs["type"] = "json_or_level"
    for letter, option in glued.items():
        if option in out:
            out[option]["glued"] = [letter]
    return out


def _run(interp: Interpreter, function: Any, args: list[Any]) -> None:
    try:
        interp.call(function, args, {})
    except Stop as stop:
        if str(stop) == "too many steps":
            raise
    except (Raised, Unsupported) as error:
        interp.notes.append(f"{interp.text_of(function)}: {error}")


def _command_line(interp: Interpreter, *words: str) -> None:
    """Some releases register an option only where another command runs."""
    interp.natives["sys.argv"][:] = words


def _api_parser(interp: Interpreter) -> Parser | None:
    for path in interp.tree.names(r"vllm/entrypoints/.+/cli_args\.py"):
        module = path.removesuffix(".py").replace("/", ".")
        make = interp.lookup(module, "make_arg_parser")
        if isinstance(make, Function):
            parser = Parser(interp)
            _command_line(interp, "api_server")
            _run(interp, make, [parser])
            return parser
    return None


def _serve_parser(interp: Interpreter, tree: Tree) -> Parser | None:
    """Return the parser of `vllm serve`: that of its subcommand class, else of the old `main`."""
    root = Parser(interp)
    _command_line(interp, "vllm", "serve")
    module = "vllm.entrypoints.cli.serve"
    if interp.module_path(module) is not None:
        command = interp.lookup(module, "ServeSubcommand")
        if isinstance(command, type):
            init = class_attribute(interp, command, "subparser_init")
            if isinstance(init, Function):
                _run(interp, init, [interp.instantiate(command, [], {}), root])
    elif tree.has("vllm/scripts.py"):
        main = interp.lookup("vllm.scripts", "main")
        if isinstance(main, Function):
            maker = interp.natives["replaced classes"][PARSER_CLASS]
            before = len(maker.made)
            _run(interp, main, [])
            for parser in maker.made[before:]:
                root.subparsers.update(parser.subparsers)
    return root.subparsers.get("serve")


def _facts(parser: Parser, inverse: dict[str, str]) -> Facts:
    out: Facts = {"--help": {"spellings": ["-h", "--help"], "nargs": 0, "action": "help", "dest": "help"}}
    for action in parser.actions:
        name = next((f for f in action.flags if f.startswith("--")), action.flags[0])
        out[name] = action_facts(action, inverse)
    return out


def action_facts(action: Action, inverse: dict[str, str]) -> Attrs:
    """Return the attributes of one registered argument."""
    words = action.keywords
    attrs: Attrs = {}
    name = next((f for f in action.flags if f.startswith("--")), action.flags[0])
    if list(action.flags) != [name]:
        attrs["spellings"] = list(action.flags)
    dest = destination(action.flags, words)
    if dest != name.lstrip("-").replace("-", "_"):
        attrs["dest"] = dest
    kind = _action(words.get("action"))
    if kind in ("BooleanOptionalAction", "EnableDisableAction"):
        kind = "enable_disable" if inverse else "boolean_optional"
        negative = ["--no-" + f[2:] for f in action.flags if f.startswith("--")]
        for prefix, other in inverse.items():
            negative += [other + f[len(prefix) :] for f in action.flags if f.startswith(prefix)]
        attrs["negative"] = negative
        attrs["nargs"] = 0
    elif kind in _NO_VALUE:
        attrs["nargs"] = 0
    if kind not in (None, "store"):
        attrs["action"] = kind
    nargs = plain(words.get("nargs"))
    if nargs is not None and isinstance(nargs, (str, int)):
        attrs["nargs"] = nargs
    if attrs.get("nargs") != 0:
        _put_type(attrs, words)
    _put_choices(attrs, words)
    _put_default(attrs, words, kind)
    if words.get("deprecated") is True or (isinstance(words.get("help"), str) and _says_deprecated(words["help"])):
        attrs["deprecated"] = True
    if words.get("help") == "==SUPPRESS==":
        attrs["hidden"] = True
    if words.get("required") is True:
        attrs["required"] = True
    if action.group:
        attrs["group"] = action.group
    return attrs


def _says_deprecated(text: str) -> bool:
    low = " ".join(text.lower().split())
    return low.startswith(("[deprecated", "deprecated", "(deprecated")) or " is deprecated and " in low[:80]


def _action(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, type):
        return {"StoreBoolean": "store_bool"}.get(value.__name__, value.__name__)
    if isinstance(value, External):
        return value.text.rpartition(".")[2]
    return "custom"


def _put_type(attrs: Attrs, words: dict[str, Any]) -> None:
    name, optional, config = converter_name(words.get("type"))
    attrs["type"] = name
    if optional:
        attrs["optional"] = True
    if config is not None:
        attrs["config"] = config.__name__
        attrs["built"] = True


def _put_choices(attrs: Attrs, words: dict[str, Any]) -> None:
    choices = words.get("choices")
    if choices is None:
        return
    if isinstance(choices, dict):
        choices = list(choices)
    listed = plain(list(choices)) if isinstance(choices, (list, tuple, set, frozenset, range)) else None
    if isinstance(listed, list):
        attrs["choices"] = sorted(listed) if isinstance(choices, (set, frozenset)) else listed
    else:
        attrs["choices_computed"] = True


def _put_default(attrs: Attrs, words: dict[str, Any], kind: str | None) -> None:
    if "default" in words:
        if words["default"] == "==SUPPRESS==":
            return
        put_default(attrs, words["default"])
    elif kind == "store_true":
        attrs["default"] = False
    elif kind == "store_false":
        attrs["default"] = True


def inverse_prefixes(tree: Tree) -> dict[str, str]:
    """Return prefix -> inverse prefix where the release's parser pairs `--enable-x` with `--disable-x`."""
    for path in ("vllm/utils/argparse_utils.py", "vllm/utils/__init__.py", "vllm/utils.py"):
        text = tree.read(path)
        if "_inverse_prefixes" not in text:
            continue
        for node in ast.walk(tree.parse(path)):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_inverse_prefixes":
                value = ast.literal_eval(node.value)
                return {str(k): str(v) for k, v in value.items()}
    return {}


def _parser_source(tree: Tree) -> str:
    for path in ("vllm/utils/argparse_utils.py", "vllm/utils/__init__.py", "vllm/utils.py"):
        for node in tree.parse(path).body:
            if isinstance(node, ast.ClassDef) and node.name == PARSER_CLASS:
                return ast.unparse(node)
    return ""


def glued_letters(tree: Tree) -> dict[str, str]:
    """Return letter -> option for what the parser takes in one word (`-O3`)."""
    text = _parser_source(tree)
    if ".startswith('-O')" not in text:
        return {}
    if "'--optimization-level'" in text:
        return {"-O": "--optimization-level"}
    return {"-O": "--compilation-config"}


def takes_dotted_keys(tree: Tree) -> bool:
    """Tell whether the parser takes `--x.key value` for a JSON option."""
    return "create_nested_dict" in _parser_source(tree)


def config_file_values(tree: Tree) -> list[str]:
    """Return which values of a `--config` file the parser does not pass on as their text.

    switch: true becomes the bare option and false nothing; no: false becomes `--no-x` where there is one;
    list: each item is a word; object: becomes JSON.
    """
    text = _method(tree, "load_config_file") or _method(tree, "_load_config_file")
    marks = {"switch": "isinstance(value, bool)", "no": "--no-", "list": "isinstance(value, list)"}
    marks["object"] = "isinstance(value, dict)"
    return [name for name, mark in marks.items() if mark in text]
def parser_traits(tree: Tree) -> dict[str, Any]:
    """Return how the release's parser treats words before argparse sees them.

    underscores: "head" where only the part before the first dot is read with dashes. model: what `--model`
    is to `vllm serve` ("refused", "moved" to the positional, else an option). named_needs_model: it refuses
    a served name without a positional model. level: what `-O3` is rewritten to; level_dotted: what `-O.x`
    is. dotted: "plain" (values stay text), "json", "human" (`80g` is a number). pairs: JSON options take
    `a=1,b=2`. help_search: `--help=word` searches. lora: how `--lora-modules` reads a word; lora_keys: what
    its objects may hold.
    """
    text = _method(tree, "parse_args")
    out: dict[str, Any] = {}
    if "pattern.sub" in text:
        out["underscores"] = "head"
    if "rest_start_idx" in text:
        out["model"] = "moved"
    elif "should provide the model as a" in text:
        out["model"] = "refused"
    if "--served[-_]model[-_]name" in text:
        out["named_needs_model"] = True
    level = re.search(r"(-O\.\w+)=|\['(--[\w-]+)', optimization_level\]", text)
    if level:
        out["level"] = level[1] or level[2]
    dotted = re.search(r"arg\.replace\('-O', '(-\w+)'", text)
    if dotted:
        out["level_dotted"] = dotted[1]
    if "create_nested_dict" in text:
        human = "human_readable_int" in text
        out["dotted"] = "human" if human else ("json" if "json.loads" in text else "plain")
    if "--help=" in text:
        out["help_search"] = True
    if "nullable_kvs(val)" in tree.read("vllm/engine/arg_utils.py").partition("def nullable_kvs")[0]:
        out["pairs"] = True
    lora, keys = _lora_ways(tree)
    if lora:
        out["lora"], out["lora_keys"] = lora, keys
    return out


def _takes_level(tree: Tree, config: str) -> bool:
    """Tell whether a config class reads a bare number 0 to 3 as its level."""
    for path in tree.names(r"vllm/config(/\w+)?\.py"):
        if f"class {config}" not in tree.read(path):
            continue
        for node in tree.parse(path).body:
            if isinstance(node, ast.ClassDef) and node.name == config:
                own = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "from_cli"]
                return any("['0', '1', '2', '3']" in ast.unparse(f) for f in own)
    return False


def _lora_ways(tree: Tree) -> tuple[list[str], list[str]]:
    """Return how `--lora-modules` reads a word ("json", "once": split at the first `=`), and its further keys."""
    ways: list[str] = []
    keys: list[str] = []
    for path in tree.names(r"vllm/entrypoints/(.+/)?(cli_args|serving_engine|serving_models|protocol)\.py"):
        for node in tree.parse(path).body:
            if not isinstance(node, ast.ClassDef):
                continue
            if node.name == "LoRAParserAction":
                text = ast.unparse(node)
                ways = [w for w, sign in (("json", "json.loads"), ("once", "split('=', 1)")) if sign in text]
            elif node.name == "LoRAModulePath":
                fields = [ast.unparse(n.target) for n in node.body if isinstance(n, ast.AnnAssign)]
                keys = [f for f in fields if f not in ("name", "path")]
    return ways, keys if ways else []


def _method(tree: Tree, name: str) -> str:
    """Return the text of a method of the parser's class, without its documentation; "" where it has none."""
    source = _parser_source(tree)
    for node in ast.walk(ast.parse(source)) if source else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            return ast.unparse(node)
    return ""
