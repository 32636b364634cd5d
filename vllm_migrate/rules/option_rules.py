"""The kinds of findings about options, and what each is about; `options` and its neighbours judge them."""

from __future__ import annotations

from vllm_migrate.rules.registry import Rule

OPTION_RULES = (
    Rule(
        "VM101",
        "removed-option",
        "error",
        "An option the target release no longer has, with nothing in its place.",
        """What it does
Finds options of a command line, keywords of `LLM(...)` and `EngineArgs(...)` and keys of a `--config` file that the
target's parser refuses and that nothing replaces.
Why it matters
The parser refuses what it does not know, so the process ends before it has loaded anything and a container restarts
for ever.
Example
`vllm serve MODEL --swap-space 4`, target 0.18.0 or later
Use instead
`vllm serve MODEL`
Fix safety
Safe where the option did nothing in the old release either, or where its value was what the target does anyway.
Unsafe where taking it out changes what the launch does.
""",
    ),
    Rule(
        "VM102",
        "replaced-option",
        "error",
        "An option that another option replaced.",
        """What it does
Finds options the target refuses and that live on under another name, with their value converted where it changed form.
Why it matters
The process does not start.
Example
`vllm serve MODEL --max-context-len-to-capture 8192`
Use instead
The option `explain` names, in the spelling of its neighbours: a flag, a list item, a keyword or a key.
Fix safety
Safe where the new option means the same with the converted value. Unsafe where the two differ, and where the pinned
release does not have the new one yet: then the fix goes together with the move of the pin.
""",
    ),
    Rule(
        "VM103",
        "moved-option",
        "error",
        "An option that moved into a config object.",
        """What it does
Finds options that became a key of an object such as `--structured-outputs-config` or `--eplb-config`, and puts their
value there, into the object the launch already gives where there is one.
Why it matters
The process does not start. Some releases took the old option for a while and ignored it.
Example
`--guided-decoding-backend xgrammar`, target 0.12.0 or later
Use instead
`--structured-outputs-config.backend xgrammar`
Fix safety
Safe where both releases mean the same by it; unsafe where a suffix or a value has no counterpart.
""",
    ),
    Rule(
        "VM104",
        "removed-value",
        "error",
        "A value the option no longer takes.",
        """What it does
Compares values with those the target lists for the option, or that its checks let through.
Why it matters
The process ends at start: the parser or the engine's configuration refuses the value.
Example
`--spec-method medusa`, target 0.33.0
Fix safety
Safe where the value only got another name. Unsafe where something else has to take its place.
""",
    ),
    Rule(
        "VM105",
        "deprecated-option",
        "info",
        "An option whose removal is announced.",
        """What it does
Finds options the target still takes and says it will drop.
Why it matters
Nothing breaks yet; a later release will refuse the option.
Fix safety
Safe where the target has what replaces it and both mean the same.
""",
    ),
    Rule(
        "VM106",
        "unknown-option",
        "error",
        "An option the target release does not know.",
        """What it does
Finds options that the target refuses and of which no migration speaks: misspelt ones, words left over, prefixes that
fit several options, options of another program.
Why it matters
The process does not start.
Example
`vllm serve MODEL --tensor-paralel-size 2`
Fix safety
There is no fix: near names are offered. Options of a launcher of your own are named once under `wrappers`.
""",
    ),
    Rule(
        "VM107",
        "wrong-type",
        "error",
        "A value of another type than the option takes, or a missing one.",
        """What it does
Reads values as the target's parser does: numbers, sizes with a suffix, lists, JSON, switches that take no value.
Why it matters
The process does not start.
Example
`--max-model-len 32k6`
Fix safety
Safe where the text can be put into the form that is taken and means the same, such as a Python literal where JSON is
wanted.
""",
    ),
    Rule(
        "VM108",
        "removed-entry-point",
        "error",
        "A module, program or name to start vLLM with that is gone.",
        """What it does
Finds `python -m` modules, imports, classes, methods and keywords of vLLM's Python API that the target does not have.
Why it matters
The program ends with an import error, or with a type error at the call.
Fix safety
Safe where the name moved and means the same at its new place. Else the finding says what to write.
""",
    ),
    Rule(
        "VM109",
        "changed-default",
        "info",
        "Defaults that changed between the two releases.",
        """What it does
Lists, once a launch, the defaults it relies on that differ between its release and the target: those it sets itself
are left out.
Why it matters
The launch starts and behaves differently: more memory taken, other batch sizes, requests refused that were taken.
Fix safety
There is no fix: most launches want the new default. Set an option explicitly to keep the old behaviour.
""",
    ),
    Rule(
        "VM110",
        "removed-key",
        "error",
        "A key of a config object that the target release refuses.",
        """What it does
Judges what stands inside objects such as `--compilation-config` and `--speculative-config`, wherever they are
written: JSON in a flag, dotted options, a mapping in YAML, a dictionary in Python.
Why it matters
From 0.13.0 most objects refuse keys they do not know, and the process ends; older releases ignored some in silence.
Example
`--compilation-config '{"level": 3}'`, target 0.18.0 or later
Use instead
`--compilation-config '{"mode": 3}'`
Fix safety
Safe where the key was renamed with the same values, or did nothing. Unsafe else.
""",
    ),
    Rule(
        "VM111",
        "changed-meaning",
        "warning",
        "An option that means something else than before.",
        """What it does
Finds options, values and models that both releases take and that do something else in the target.
Why it matters
Nothing fails, so nobody notices.
Fix safety
Safe where the old meaning can be written down exactly; else a person decides.
""",
    ),
    Rule(
        "VM302",
        "old-speculative-option",
        "error",
        "A speculative option from before --speculative-config.",
        """What it does
Gathers `--speculative-model`, `--num-speculative-tokens` and their kin into one `--speculative-config`.
Why it matters
0.8.3 dropped the single options: the process does not start.
Example
`--speculative-model [ngram] --num-speculative-tokens 4 --ngram-prompt-lookup-max 4`
Use instead
`--speculative-config '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}'`
Fix safety
Safe for n-gram. Unsafe for a draft model: what kind of draft it is stands in the checkpoint, and not every kind is
left.
""",
    ),
    Rule(
        "VM402",
        "removed-executor",
        "error",
        "An executor, or the option for it, that is gone.",
        """What it does
Finds options that chose how workers are run and that the target refuses.
Why it matters
The process does not start.
Example
`--worker-use-ray`, target 0.7.0 or later
Use instead
`--distributed-executor-backend ray`
Fix safety
Safe where the same executor is chosen by another option, or by itself.
""",
    ),
    Rule(
        "VM705",
        "split-out-plugin",
        "error",
        "A feature that now lives in a package of its own.",
        """What it does
Finds options, values and models that the target takes only with a plugin installed: a quantization method, a model, a
platform.
Why it matters
Without the package the name is unknown and the process ends.
Fix safety
Safe where a requirement in the same file brings vLLM and the package can stand beside it. Else the finding names it.
""",
    ),
    Rule(
        "VM802",
        "removed-quantization",
        "error",
        "A quantization name the target release does not have.",
        """What it does
Compares values of `--quantization` with the methods the target registers.
Why it matters
The engine refuses the name at start.
Fix safety
Safe where the method got another name for the same weights. Unsafe, or without a fix, where the checkpoint has to be
made again.
""",
    ),
)
