"""Extracts what people read from a source file: comments, docstrings, string literals of C++, documents, names of tests.

texts(path, text) yields (line number, text) with code left out: text in backticks, URLs, keys of protocols. Names of
functions and classes of Python come with spaces in place of underscores.
"""

import bisect
import os
import re

CPP = re.compile(r"""
    //[^\n]* | /\*.*?\*/
  | R"(?P<end>\w*)\((?:.*?)\)(?P=end)"
  | "(?:[^"\\\n]|\\.)*"
  | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'
""", re.S | re.X)
PYTHON = re.compile(r"""
    (?P<comment>\#[^\n]*)
  | (?P<triple>\"\"\".*?\"\"\"|'''.*?''')
  | "(?:[^"\\\n]|\\.)*"
  | '(?:[^'\\\n]|\\.)*'
""", re.S | re.X)
KEY = re.compile(r'"[\w./:-]*"')  # a literal without a blank is a name of a protocol, no text
DEFINITION = re.compile(r"^[ ]*(?:def|class) (\w+)", re.M)
SQL = re.compile(r"--[^\n]*")
HASH = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.M)
MANUAL_CODE = re.compile(r"^\.(?:B|BR|TP|SH|nf|EX) .*|\\f[BI].*?\\f[RP]", re.M)
CODE = re.compile(r"`[^`]*`|\w+://\S+")

MANUALS = (".1", ".5", ".7", ".8")
CPP_FILES = (".cc", ".h", ".c", ".in", ".go")
HASH_FILES = (".cmake", "CMakeLists.txt", ".toml", ".conf", ".service", ".socket", ".mount", ".sysusers", ".tmpfiles", ".sh",
              "postinst", "postrm", "prerm")


def kind_of(path, text):
    """How the file at `path` is read; None for data."""
    if path.endswith(".py") or text.startswith("#!") and "python" in text.partition("\n")[0]:
        return "python"
    if path.endswith(CPP_FILES):
        return "c++"
    if path.endswith(HASH_FILES) or text.startswith("#!"):
        return "hash"
    if path.endswith(".sql"):
        return "sql"
    if path.endswith(MANUALS) and path.startswith("docs/man/"):
        return "manual"
    return "document" if path.endswith((".md", ".yaml")) else None


def pieces(kind, text):
    if kind == "c++":
        for match in CPP.finditer(text):
            if match[0][0] != "'" and not KEY.fullmatch(match[0]):
                yield match.start(), match[0]
    elif kind == "python":
        for match in PYTHON.finditer(text):
            is_docstring = match["triple"] and not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            if match["comment"] or is_docstring:
                yield match.start(), match[0]
        for match in DEFINITION.finditer(text):
            yield match.start(1), re.sub(r"(?<=[a-z])(?=[A-Z])", " ", match[1]).replace("_", " ")
    elif kind == "manual":
        yield 0, MANUAL_CODE.sub(blank, text)
    elif kind == "document":
        yield 0, text
    else:
        for match in (SQL if kind == "sql" else HASH).finditer(text):
            yield match.start(), match[0]


def blank(match):
    """Keeps the line ends of what is left out."""
    return " " + re.sub(r"[^\n]", "", match[0])


def texts(path, text):
    kind = kind_of(path, text)
    if kind is None:
        return
    starts = [match.end() for match in re.finditer("\n", text)]
    for offset, piece in pieces(kind, text):
        line = bisect.bisect_right(starts, offset) + 1
        for number, part in enumerate(CODE.sub(blank, piece).split("\n")):
            yield line + number, part


def files(root):
    """Source files and documents below `root`, without builds."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "build", "__pycache__", ".pytest_cache", "corpus"))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)
