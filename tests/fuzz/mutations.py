"""Changes of texts that their readers tend not to expect. Everything is drawn from the `Random` that is handed in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

NEWLINES = ("\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
"""Everything that some reader takes for the end of a line."""

ODD_BYTES = (
    b"\0", b"\t", b"\x1b[31m", b"\x7f", b"\x80", b"\xff", b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xed\xb0\x80",
    b"\xef\xbb\xbf", b"\xf0\x9f\xa6\x99", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xee\x80\x80", b"\xee\x80\x81",
    b"\xe2\x80\x8b", b"\xc2\xa0", b"\xef\xbf\xbd", b"\xcc\x81",
)  # fmt: skip
"""Controls, bytes that are no UTF-8 (lone surrogates among them), letters of two, three and four bytes, and those
that stand for run-time parts inside the package."""

TOKENS = (
    "'", '"', "`", "\\", "\\\\", "\\\n", "$", "$(", "$((", "${", "${X", "${X:-", "${X:-a b}", "$X", "$@", '"$@"', "$1",
    "${X[@]}", "${#X}", "${X/a/b}", "$'", '$"', ")", "}", "))", "(", "{", "[", "]", "[[", "]]", "((", "<(", "<<EOF\n",
    "<<-'E'\n", "<<<", "EOF\n", "|", "||", "&&", "&", ";", ";;", ">", ">>", "2>&1", "#", " #", "!", "!!", "~", "*", "?",
    "{{", "}}", "{{-", "-}}", "{{ .Values.x }}", '{{ "x" }}', "{{ if .x }}", "{{ end }}", "{{ range .x }}", "{{/*",
    "*/}}", "{%", "%}", "{% if x %}", "{% endif %}", "{#", "#}", "%{", "%{ if x }", "%{ endif }", "${{ x }}", "%s",
    "&a", "*a", "&a *a", "<<: *a", "!!binary", "!!python/object:x", "!x", "|", "|-", "|+2", ">-", ">9", "---\n",
    "...\n", "%YAML 1.1\n", "- ", "? ", ": ", ":", ",", ", ", "null", "~", "yes", "0x1F", "1_000", "1e999", ".nan",
    "-0", "9" * 40, "9" * 5000, "None", "True", "lambda: 0", "*args", "**kwargs", "f'{x}'", "f'{", "rb''", "'''",
    '"""', "b'\\xff'", "0o8", "if x:\n", "else:\n", "def f():\n", "return", "@x\n", "import vllm\n", "\\u0000",
    "\\ud800", "\\x", "\\U00110000", "//", "/*", "*/", "<!--", "-->", "```", "```bash\n", "~~~", "::\n\n   ", "> ",
    "==", ">=", "~=", "!=", "===", "@ https://x/vllm.whl", "-r ", "-r x", "--hash=sha256:0", "; x == 'y'", "[x]",
    "FROM ", "AS x", "ARG X\n", "ENV X=1\n", "RUN ", "CMD ", "ENTRYPOINT ", "ONBUILD ", "--mount=", "# syntax=x\n",
    "# escape=`\n", "ExecStart=", "[Service]\n", "Environment=", "%h", "%%", "define x\n", "endef\n", "$(shell x)",
    "\t", " ", "  ", "=", "+=", ":=", "--", "-", "---x", "--x=", "--", "-O", "-O3", "-tp", "-tp=2", "--x.y", "--x.y=1",
    "vllm serve m", "vllm", "python -m vllm.entrypoints.openai.api_server ", "exec ", "env X=1 ", "sudo ", "export ",
    "# vllm-migrate: ignore", "# vllm-migrate: ignore[VM101]", "# vllm-migrate: ignore-file\n", "DO NOT EDIT\n",
    "<<<<<<< a\n", "=======\n", ">>>>>>> b\n",
)  # fmt: skip

NESTS = (
    ('(', ')'), ('[', ']'), ('{', '}'), ('$(', ')'), ('${X:-', '}'), ('{{', '}}'), ('{"a":', '}'),
    ('[[', ']]'), ('- ', ''), ('a:\n ', ''), ('? ', ''), ('`', '`'), ('if x; then ', '; fi'),
    ('{{ if x }}', '{{ end }}'), ('{% if x %}', '{% endif %}'), ('%{ if x }', '%{ endif }'), ('> ', ''),
    ('not ', ''), ('-', ''), ('f(', ')'), ('x if y else ', 'z'), ('lambda: ', '0'), ('a.', 'b'), ('\\', ''),
    ('<<A\n', 'A\n'), ('eval ', ''), ('bash -c "', '"'), ('! ', ''), ('x {\n', '}\n'), ('x(', ')'),
    ('"${', '}"'), ('/* ', ' */'), ('{# ', ' #}'), ('<', '>'), ("bash -c '", "'"), ("f'{", "}'"),
    ('[x](', ')'), ("'", "'"), ('"', '"'), ('1+', '1'), ('x=[', ']'), ('if x:\n ', 'pass\n'),
)  # fmt: skip
"""What opens and what closes; some grow without closing."""

_WORD = re.compile(rb"[^\s\"'=:,\[\]{}()]+")
_OPTION = re.compile(rb"--[a-z][\w-]*(?:[= ]\S+)?")


def _cut(rng: Random, raw: bytes) -> tuple[int, int]:
    """Return a range of the bytes, most of them short."""
    start = rng.randrange(len(raw) + 1)
    return start, min(len(raw), start + int(2 ** rng.uniform(0, 9)))


def _lines(rng: Random, raw: bytes) -> tuple[list[bytes], int, int]:
    """Return the lines with their ends, and a range of them."""
    lines = raw.splitlines(keepends=True)
    start = rng.randrange(len(lines) + 1)
    return lines, start, min(len(lines), start + 1 + int(rng.expovariate(0.3)))


def _put(rng: Random, raw: bytes, new: bytes) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + new + raw[at:]


def truncate(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] if rng.random() < 0.7 else raw[at:]


def splice(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    other = rng.choice(pool)
    start, end = _cut(rng, raw)
    low, high = _cut(rng, other)
    if rng.random() < 0.3:
        return raw[:start] + other[low:]
    return raw[:start] + other[low:high] + raw[end:]


def splice_lines(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    lines, start, end = _lines(rng, raw)
    others, low, high = _lines(rng, rng.choice(pool))
    return b"".join([*lines[:start], *others[low:high], *lines[start if rng.random() < 0.5 else end :]])


def drop(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    start, end = _cut(rng, raw)
    return raw[:start] + raw[end:]


def drop_lines(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    lines, start, end = _lines(rng, raw)
    return b"".join([*lines[:start], *lines[end:]])


def repeat_lines(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    lines, start, end = _lines(rng, raw)
    times = 1 if rng.random() < 0.9 else rng.randrange(2, 60)
    return b"".join([*lines[:end], *(lines[start:end] * times), *lines[end:]])


def shuffle_lines(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    lines, start, end = _lines(rng, raw)
    some = lines[start : end + 2]
    rng.shuffle(some)
    return b"".join([*lines[:start], *some, *lines[end + 2 :]])


def indent(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    lines, start, end = _lines(rng, raw)
    lead = rng.choice((b" ", b"  ", b"\t", b"    ", b"# ", b"> ", b"- ", b"\xc2\xa0"))
    if rng.random() < 0.4:
        return b"".join([*lines[:start], *(line[1:] for line in lines[start:end]), *lines[end:]])
    return b"".join([*lines[:start], *(lead + line for line in lines[start:end]), *lines[end:]])


def token(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    return _put(rng, raw, rng.choice(TOKENS).encode())


def value(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    """Replace a word by something odd, or by a word of another file."""
    words = list(_WORD.finditer(raw))
    if not words:
        return token(rng, raw, pool)
    word = rng.choice(words)
    new = rng.choice(TOKENS).encode()
    if rng.random() < 0.3:
        others = _WORD.findall(rng.choice(pool))
        new = rng.choice(others) if others else new
    elif rng.random() < 0.3:
        new = word[0] + new if rng.random() < 0.5 else new + word[0]
    return raw[: word.start()] + new + raw[word.end() :]


def option(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    """Put an option of another file beside one that is there."""
    others = _OPTION.findall(rng.choice(pool))
    mine = list(_OPTION.finditer(raw))
    if not others:
        return token(rng, raw, pool)
    new = rng.choice(others)
    if not mine:
        return _put(rng, raw, b" " + new + b" ")
    found = rng.choice(mine)
    if rng.random() < 0.3:
        return raw[: found.start()] + new + raw[found.end() :]
    return raw[: found.end()] + b" " + new + raw[found.end() :]


def odd_byte(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    new = rng.choice(ODD_BYTES) if rng.random() < 0.8 else bytes((rng.randrange(256),))
    return _put(rng, raw, new)


def newline(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    """Put another kind of line end, or give it to some or all of the lines."""
    new = rng.choice(NEWLINES).encode()
    if rng.random() < 0.4:
        return _put(rng, raw, new)
    share = rng.choice((0.1, 0.5, 1.0))
    lines = raw.split(b"\n")
    return b"".join(line + (new if rng.random() < share else b"\n") for line in lines[:-1]) + lines[-1]


def encode(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    """Write the text in another encoding, or say so of one."""
    how = rng.randrange(7)
    if how < 2:
        return b"\xef\xbb\xbf" + raw
    if how == 2:
        return raw.rstrip(b"\r\n")
    text = raw.decode("utf-8", "replace")
    if how == 3:
        return text.encode("utf-16")
    if how == 4:
        return text.encode("utf-16-be")
    if how == 5:
        return text.replace("e", "é", rng.randrange(1, 4)).encode("latin-1", "replace")
    return text.replace("e", "é", rng.randrange(1, 40)).encode()


def nest(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    opens, closes = rng.choice(NESTS)
    depth = int(2 ** rng.uniform(1, 6 if rng.random() < 0.9 else 12))
    inner = ""
    if rng.random() < 0.5:
        return _put(rng, raw, (opens * depth + inner + (closes * depth if rng.random() < 0.7 else "")).encode())
    start, end = _cut(rng, raw)
    return raw[:start] + opens.encode() * depth + raw[start:end] + closes.encode() * depth + raw[end:]


def long_line(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    """Put one very long run of a token: some thousand letters, rarely a million."""
    size = int(2 ** rng.uniform(8, 13 if rng.random() < 0.995 else 20))
    unit = rng.choice((*TOKENS, "a", "a ", "é", "--a 1 ", "a,", '"a",')).replace("\n", "")
    return _put(rng, raw, (unit * (size // max(1, len(unit)) + 1))[:size].encode())


MUTATIONS: tuple[tuple[Callable[[Random, bytes, Sequence[bytes]], bytes], int], ...] = (
    (truncate, 2), (splice, 4), (splice_lines, 4), (drop, 3), (drop_lines, 3), (repeat_lines, 2), (shuffle_lines, 2),
    (indent, 3), (token, 8), (value, 10), (option, 5), (odd_byte, 4), (newline, 3), (encode, 1), (nest, 1),
    (long_line, 1),
)  # fmt: skip
_CHOICES = tuple(change for change, _ in MUTATIONS)
_WEIGHTS = tuple(weight for _, weight in MUTATIONS)


def mutate(rng: Random, raw: bytes, pool: Sequence[bytes]) -> bytes:
    """Return bytes changed in a few ways. pool: other files of the format, to take parts from."""
    for change in rng.choices(_CHOICES, _WEIGHTS, k=rng.choice((1, 1, 1, 2, 2, 3, 5))):
        raw = change(rng, raw, pool)
    return raw
