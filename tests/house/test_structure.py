"""Short files and functions, and namespaces that follow the folders."""

import os
import re

from prose import files

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MOST_LINES, MOST_LINES_OF_FUNCTION = 400, 50

# path: reason. An entry whose file has become short enough fails.
LONG_FILES = {
    "tests/node/test_onload_import.py": "one attack after the other on one fixture",
    "tests/unit/engine/transaction_test.cc": "one class with its fixture",
    "tests/unit/engine_onload/controller_test.cc": "one class with its fixture",
    "tests/unit/engine_onload/operation_runner_test.cc": "one class with its fixture",
    "tests/unit/store/store_test.cc": "one class with its fixture",
    "tests/vm/test_onload.py": "one machine, which takes a minute to start",
    "tests/wire/test_access.py": "the matrices of all routes and all kinds of clients",
}
# path: {function: reason}
LONG_FUNCTIONS = {
    "daemon/app.cc": {"run": "builds the daemon from the lowest layer up, in one order"},
    "tests/unit/api_v1/onload_json_test.cc": {"an error in each member has its JSON pointer": "a table"},
    "tests/unit/api_v1/workload_json_test.cc": {"every error of a POST has a JSON pointer": "a table"},
    "tests/unit/daemon/config_test.cc": {"every key refuses a wrong type and reports its line": "a table"},
    "tests/unit/engine_onload/conditions_test.cc": {"each condition reports its fault": "a table"},
    "tests/unit/store/store_test.cc": {"the commit outcome is correct for every disk failure": "one scenario in a loop"},
}

MOST_INCLUDED = 15
# Headers that bring more with them. path: reason.
HOLD_MUCH = {
    "engine/transaction/transaction.h": "holds all parts of a transaction",
}

# folder: namespace of its files and of those below, unless a longer folder is listed. Beside it a file may declare types
# of other namespaces ahead.
NAMESPACES = {
    "api/auth": "nrd::auth",
    "api/http": "nrd::http",
    "api/metrics": "nrd::metrics",
    "api/rmd": "nrd::rmd",
    "api/routing": "nrd::routing",
    "api/tree": "nrd::tree",
    "api/v1": "nrd::v1",
    "base": "nrd",
    "base/json": "nrd::json",
    "base/log": "nrd::log",
    "cli": "nrd::cli",
    "daemon": "nrd::daemon",
    "hw/cpuset": "nrd::cpuset",
    "engine": "nrd",
    "engine/onload": "nrd::onload",
    "engine/plan": "nrd::plan",
    "hw/onload": "nrd::onload",
    "hw/onload/profiles": "nrd::profiles",
    "hw/pstate": "nrd::pstate",
    "hw/rdt": "nrd::rdt",
    "store": "nrd::store",
    "tests/fuzz": "nrd::fuzz",
    "tests/simnode": "nrd::simnode",
    "tests/wire": "nrd::wire",
}
# Unit tests without a namespace of their own.
COMPILED_ALONE = {"tests/unit/base_json/fields_test.cc", "tests/unit/base_json/members_test.cc"}
OF_TESTS = "nrd::testing"  # tests/unit and tests/node; they also open the namespace of the module under test


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def sources(*endings):
    paths = [path for path in files(ROOT) if path.endswith(endings)]
    assert len(paths) > 50
    return paths


def functions(lines, indent=""):
    """(first line's index, header, length) of each function that begins at this indentation of formatted C++.

    A header may take several lines, of which the last ends in {; the function ends with a } at the header's indentation.
    Members of a class are functions at the next indentation.
    """
    first = None
    header = []
    begin = re.compile(rf"{indent}[^\s#}}/]")
    for index, line in enumerate(lines):
        if first is None or not header:
            if not begin.match(line):
                continue
            first, header = index, []
        if header is not None and (not header or header[-1][-1:] not in "{;}"):
            header.append(line.split("//")[0].rstrip() or " ")
            if header[-1][-1] == "{" and not opens_block(header):
                first, header = None, []
            elif header[-1][-1] in ";}":
                first, header = None, []
            continue
        if line.startswith(indent + "}"):
            text = " ".join(part.strip() for part in header)
            if re.match(r"(?:template <.*> )?(?:class|struct|union)\b(?!.*\) (?:const )?\{)", text):
                yield from ((first + len(header) + at, inner, length)
                            for at, inner, length in functions(lines[first + len(header):index], indent + "  "))
            elif "(" in text and " = " not in text.split("(")[0]:
                yield first, text, index - first + 1
            first, header = None, []


def opens_block(header):
    """False for namespaces, whose content has their indentation."""
    return not re.match(r"\s*(?:inline )?(?:namespace|extern \")", header[0])


def name_of(header):
    """Of a function, or the whole name of a test case."""
    case = re.match(r'\w*TEST_CASE\w*\("([^"]*)', header)
    return case[1] if case else re.findall(r"([\w:~]+(?:operator\S+)?)\(", header)[0]


def test_files_are_short():
    lengths = {path: read(path).count("\n") for path in sources(".cc", ".h", ".py")}
    assert [(path, lines) for path, lines in lengths.items() if lines > MOST_LINES and path not in LONG_FILES] == []
    assert [path for path in LONG_FILES if lengths.get(path, 0) <= MOST_LINES] == [], "delete these exceptions, they are no longer needed"


def test_functions_are_short():
    found, count = {}, 0
    for path in sources(".cc", ".h"):
        for _, header, length in functions(read(path).split("\n")):
            count += 1
            if length > MOST_LINES_OF_FUNCTION:
                found[path, name_of(header)] = length
    expected = {(path, name) for path, names in LONG_FUNCTIONS.items() for name in names}
    assert count > 3000, count
    assert {key: length for key, length in found.items() if key not in expected} == {}
    assert expected - set(found) == set(), "delete these exceptions, they are no longer needed"


def included_by(header, includes):
    """All headers of the project that `header` brings with it."""
    found, waiting = set(), [header]
    while waiting:
        waiting += [path for path in includes[waiting.pop()] if path not in found and not found.add(path)]
    return found


def test_headers_bring_little_with_them():
    """base/, which every module builds on, does not count."""
    headers = {path for path in sources(".h") if not path.startswith(("bench/", "tests/"))}
    includes = {path: headers & set(re.findall(r'^#include "(.*)"', read(path), re.M)) for path in headers}
    counts = {path: sum(not other.startswith("base/") for other in included_by(path, includes)) for path in headers}
    assert max(counts.values()) > MOST_INCLUDED
    assert {path: count for path, count in counts.items() if count > MOST_INCLUDED and path not in HOLD_MUCH} == {}
    assert [path for path in HOLD_MUCH if counts.get(path, 0) <= MOST_INCLUDED] == [], "delete these exceptions, they are no longer needed"


def namespaces(text):
    """Those of nrd that a file opens for more than declarations of types and descriptions for base/json/fields.h."""
    text = re.sub(r"^template <>\ninline constexpr (?:auto|const char\*) json::k(?:Names|Fields|Example)<.*?;\n", "", text, flags=re.M | re.S)
    for name, block in re.findall(r"^namespace (nrd[\w:]*) \{\n(.*?)^\}", text, re.M | re.S):
        if re.sub(r"(?://.*|(?:class|struct|enum class) \w+(?: : \w+)?;|namespace \w+ \{|\}.*)", "", block).strip():
            yield name


def namespace_of(path):
    folder = max((folder for folder in NAMESPACES if path.startswith((folder + "/", folder + "."))), key=len, default=None)
    return NAMESPACES.get(folder)


def is_compiled_with_others(path):
    return path.startswith("tests/unit/") and path.endswith("_test.cc") and path not in COMPILED_ALONE


def test_namespaces_follow_the_folders():
    wrong = []
    for path in sources(".cc", ".h"):
        own = namespace_of(path)
        allowed = {own} if own else {OF_TESTS, *NAMESPACES.values()} if path.startswith("tests/") else set()
        if is_compiled_with_others(path):
            stem = os.path.basename(path).removesuffix(".cc")
            allowed = {f"{name}::{stem}" for name in NAMESPACES.values()}
        wrong += [(path, name) for name in namespaces(read(path)) if name not in allowed]
    assert wrong == [], "add a new folder to NAMESPACES"


def test_each_unit_test_has_a_namespace_of_its_own():
    """Several are compiled as one, where equal names of helpers would collide."""
    tests = filter(is_compiled_with_others, sources("_test.cc"))
    assert [path for path in tests if not list(namespaces(read(path)))] == []
