"""What a reader must be able to trust: layers, homes of libraries, and documents that name everything there is."""

import glob
import os
import re
import subprocess
import tomllib

import pytest
import yaml

from prose import files

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LAYERS = {"base": 1, "base/json": 1, "store": 2, "hw/rdt": 2, "hw/cpuset": 2, "hw/pstate": 2, "hw/onload": 2, "hw/onload/profiles": 2, "engine": 3, "api/tree": 4, "api/metrics": 4, "api/http": 4, "api/auth": 4, "api/rmd": 4, "api/rmd/views": 4, "api/routing": 4, "api/v1": 4, "daemon": 5, "cli": 5}
# Modules of one layer do not include each other, except for these. In api/: messages and RMD's texts lie lowest, then
# authentication, then the way to a handler, then the handlers, then RMD's views, then the table that names them.
ALLOWED_BESIDE = {
    "base/json": ("base/",), "api/auth": ("api/http/message.h", "api/rmd/acl.h"),
    "api/routing": ("api/http/message.h", "api/rmd/texts.h", "api/auth/"),
    "api/v1": ("api/http/message.h", "api/metrics/", "api/rmd/texts.h", "api/rmd/wire_shape.h", "api/routing/"),
    "api/rmd/views": ("api/http/message.h", "api/rmd/", "api/routing/", "api/v1/"),
    "api/routing/routes.cc": ("api/rmd/views/", "api/v1/"),
}
HOMES = {
    "pqos.h": "hw/rdt/pqos.cc", "hwloc.h": "hw/cpuset/topology.cc", "sqlite3.h": "store/sqlite.cc", "pistache/": "api/http/", "rapidjson/": "base/json/",
    "toml++/": ("daemon/config_document.cc", "api/tree/toml.cc"), "yaml-cpp/": "api/tree/yaml.cc",
    "curl/": "cli/", "CLI/": ("daemon/options.cc", "cli/"),
    "openssl/": ("api/http/", "api/auth/certificate_list.cc", "cli/certificate", "base/sha256.cc"),
    "zlib.h": "api/http/inflate.cc", "libelf.h": "hw/onload/module_file.cc", "libkmod.h": "hw/onload/modules.cc", "archive": ("hw/onload/tar.cc", "cli/support_bundle.cc"),
    "security/": "api/auth/pam.cc", "prometheus/": "api/metrics/",
    "systemd/": ("base/log.cc", "cli/unit_process.cc", "daemon/notify.cc", "hw/cpuset/units.cc"),
}


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def sources():
    for module in LAYERS:
        for folder, _, files in os.walk(os.path.join(ROOT, module)):
            for name in sorted(files):
                if name.endswith((".h", ".cc", ".in")):
                    path = os.path.relpath(os.path.join(folder, name), ROOT)
                    if module_of(path) == module:
                        yield path


def module_of(path):
    return max((module for module in LAYERS if path.startswith(module + "/")), key=len, default=None)


def includes():
    for path in sources():
        for quote, name in re.findall(r'^#include ([<"])([^>"]+)[>"]', read(path), re.M):
            yield path, quote == '"', name


def test_there_is_something_to_check():
    assert len(list(sources())) > 50 and len(list(includes())) > 200


def test_modules_include_from_lower_layers_only():
    wrong = []
    for path, ours, name in includes():
        if not ours:
            continue
        module, other = module_of(path), module_of(name)
        assert ".." not in name and other, f"{path}: {name}"
        beside = name.startswith(ALLOWED_BESIDE.get(module, ()) + ALLOWED_BESIDE.get(path, ()))
        if module != other and LAYERS[other] >= LAYERS[module] and not beside:
            wrong.append((path, name))
        if module.startswith("api/") and other.startswith("hw/") and not name.endswith("/types.h"):
            wrong.append((path, name))
    assert wrong == []


def test_each_foreign_library_has_one_home():
    wrong = [(path, name) for path, ours, name in includes() for library, home in HOMES.items()
             if not ours and name.startswith(library) and not path.startswith(home)]
    assert wrong == []


def test_no_file_has_a_name_that_could_be_anything():
    vague = ("util", "common", "helper", "manager", "misc")
    assert [path for path in sources() if any(word in os.path.basename(path) for word in vague)] == []


def test_nrdctl_prints_in_one_place():
    """cli/printer.cc keeps control characters of others from the terminal."""
    printing = re.compile(r"\b(?:printf|fprintf|vprintf|fwrite|fputs|fputc|putchar|puts|perror)\s*\(|std::(?:cout|cerr|clog)")
    sources = [path for path in glob.glob(os.path.join(ROOT, "cli/**/*.cc"), recursive=True) if not path.endswith("/printer.cc")]
    assert len(sources) > 20
    found = [f"{path}: {line.strip()}" for path in sources for line in read(path).splitlines() if printing.search(line.split("//")[0])]
    assert found == []


def test_names_of_arguments_are_plain():
    """CLI11 2.4 of Debian 13 throws for a name such as NAME=VALUE, whatever the command."""
    names = [name for path in sources() for name in re.findall(r'add_option\("([^"-][^"]*)"', read(path))]
    assert len(names) > 10
    assert [name for name in names if not re.fullmatch("[A-Z]+", name)] == []


def test_no_member_is_initialised_by_a_return_in_its_middle():
    """TRY in a braced list leaks the members before it when it returns (GCC 12)."""
    amid = re.compile(r"[{,]\s*\.\w+ = TRY\(")
    assert [(path, found[0]) for path in sources() for found in [amid.search(read(path))] if found] == []


def test_no_case_name_has_a_semicolon():
    for folder, _, files in os.walk(os.path.join(ROOT, "tests", "unit")):
        for name in files:
            if name.endswith(".cc"):
                text = read(os.path.join(folder, name))
                assert [case for case in re.findall(r'TEST_CASE\("([^"]*)"', text) if ";" in case] == []


def config_keys():
    keys, section = [], None
    for line in read("etc/nrd.toml").splitlines():
        if found := re.match(r"\[(\w+)\]", line):
            section = found[1]
        elif found := re.match(r"#?(\w+) = ", line):
            keys.append(f"{section}.{found[1]}")
    return keys


def test_every_configuration_key_is_shipped_and_documented():
    keys = config_keys()
    in_code = re.findall(r'"([a-z_]+\.\w+)"', read("daemon/config_keys.cc") + read("daemon/onload/config_keys.cc"))
    assert sorted(keys) == sorted(in_code)
    manual = read("docs/man/nrd.toml.5")
    for key in keys:
        assert f"| `{key}` |" in read("docs/configuration.md"), key
        assert f".B {key}\n" in manual, key


def test_the_package_is_built_with_the_packages_of_each_list():
    control = read("debian/control").split("Build-Depends:")[1].split("\n\n")[0]
    build = {re.split(r"[ (]", entry.strip())[0] for entry in control.split(",")} - {"debhelper-compat"}
    not_for_a_build = {"g++", "dpkg-dev", "ccache", "fuse3", "curl", "procps", "jq", "util-linux"}
    for release in ("debian-12", "debian-13"):
        assert set(read(f"cmake/packages/{release}.txt").split()) - not_for_a_build == build, release


@pytest.mark.parametrize("subject, reason", [
    ("api: name the JSON pointer in every 400", None),
    ("Merge the documents of reloads", None),
    ("name the JSON pointer", "module: imperative"),
    ("api: " + "x" * 56, "61 characters"),
    ("api: names the JSON pointer", "imperative"),
    ("docs: say what a suspend does", "a clause"),
])
def test_a_commit_subject_is_an_imperative(subject, reason, tmp_path):
    (tmp_path / "message").write_text(subject + "\n\nAn error without it sends readers to the documents.\n")
    done = subprocess.run([f"{ROOT}/tests/house/commit-msg", tmp_path / "message"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") if reason is None else done.returncode == 1 and reason in done.stderr


def test_every_python_test_is_run():
    """A file that the CMakeLists.txt beside it does not name, or name as a suite, would never run."""
    for path in files(ROOT):
        folder, name = os.path.split(path)
        if re.fullmatch(r"test_\w+\.py", name) and folder in ("tests/crash", "tests/node", "tests/vm", "tests/wire"):
            listed = re.split(r"[\s()]+", read(f"{folder}/CMakeLists.txt"))
            assert name in listed or name[len("test_"):-len(".py")] in listed, path


def test_every_message_id_is_explained():
    used = set()
    for path in sources():
        used |= set(re.findall(r'\blog(?:::\w+|_audit)\([^;{]*?"([A-Z][A-Z_]+)"', read(path)))
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", read("docs/journal-messages.md"), re.M))
    assert used == documented and len(used) > 15


def test_every_error_code_is_described():
    code = re.compile(r'(?:return \{|code = |refuse\((?:call, )?\d+, )"([A-Z]\w+)"')
    used = {name for path in glob.glob(os.path.join(ROOT, "api/**/*.cc"), recursive=True) for name in code.findall(read(path))}
    used |= set(re.findall(r'is_known \? "(\w+)" : "(\w+)"', read("api/routing/authorization.cc"))[0])
    described = yaml.safe_load(read("docs/openapi.yaml"))["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
    tables = re.findall(r"^\| \d[^|]* \| ([^|]*) \|", read("docs/api.md").split("\n## Errors")[1].split("\n## ")[0], re.M)
    assert used == set(described) == set(re.findall(r"\w+", " ".join(tables)))


def routes():
    found = []
    for table in ("api/routing/routes.cc", "api/v1/onload/routes.cc"):
        found += re.findall(r'"(GET|POST|PATCH|DELETE|PUT)",\s*"(/[^"]*)"', read(table))
        assert len(found) >= 7, f"{table} is not read"
    return found


def test_every_route_is_documented():
    openapi = yaml.safe_load(read("docs/openapi.yaml"))["paths"]
    text = read("docs/api.md")
    for method, path in routes():
        assert method.lower() in openapi[path], (method, path)
        assert re.search(rf"^\| [^\n]*{method}[ |]+`{re.escape(path)}`", text, re.M), (method, path)
    in_code = {(method.lower(), path) for method, path in routes()}
    assert {(m, p) for p, methods in openapi.items() for m in methods if m in ("get", "post", "patch", "delete", "put")} == in_code


def test_examples_of_problems_have_the_title_of_their_status():
    titles = dict(re.findall(r'case (\d+): return "(.+)";', read("api/routing/problem.cc")))
    examples = [found for path in files(ROOT) if re.fullmatch(r"docs/.*\.md", path)
                for found in re.findall(r'"title": ?"([^"]+)", ?"status": ?(\d+)', re.sub(r"\n *", "", read(path)))]
    assert len(examples) >= 2
    for title, status in examples:
        assert title == titles[status], (title, status)


def test_the_synopsis_of_the_daemon_has_every_flag():
    synopsis = read("docs/man/nrd.8").split(".SH DESCRIPTION")[0].replace("\\-", "-")
    flags = re.findall(r'app\.(?:add_option|add_flag|set_version_flag)\("(?:-\w,)?(--[\w-]+)', read("daemon/options.cc"))
    assert len(flags) > 10
    for flag in flags:
        assert re.search(rf"{flag}\b", synopsis), flag


def test_every_member_of_a_request_is_documented():
    schemas = yaml.safe_load(read("docs/openapi.yaml"))["components"]["schemas"]
    described = read("engine/model/workload_fields.h") + read("engine/onload/spec_fields.h")
    manual = read("docs/man/nrdctl.1").replace("\\-", "-")
    for part, schema in [("CacheRequest", "CacheRequest"), ("L2Request", "L2"), ("MbaRequest", "Bandwidth"),
                         ("FrequencyRequest", "FrequencyRequest"), ("onload::Spec", "OnloadSpec")]:
        fields = re.search(rf"kFields<{part}> =.*?;\n\n", described, re.S)[0]
        assert set(re.findall(r'Field\("(\w+)"', fields)) == set(schemas[schema]["properties"]), part
        for option in re.findall(r'"(--[\w-]+)"', fields):
            assert re.search(rf"{option}\b", manual), option


# Verdicts that begin the column "nrd" of docs/rmd-compatibility.md.
VERDICTS = {"row": ("same", "better", "omitted"), "defect": ("fixed",)}


def test_the_comparison_with_rmd_is_whole_and_every_case_is_there():
    cases = {kind: set() for kind in VERDICTS}  # (number, name); above a case that only a row needs is a comment with its number
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/node/test_rmd_*.py"))):
        for kind, number, name in re.findall(r"^# (Row|Defect) (\d+)\ndef (test_\w+)", read(path), re.M):
            cases[kind.lower()].add((int(number), name))
    documented, numbers = {kind: set() for kind in VERDICTS}, {kind: [] for kind in VERDICTS}
    for kind, section in zip(VERDICTS, read("docs/rmd-compatibility.md").split("\n## Defects")):
        for number, text, named in re.findall(r"^\| (\d+) \| .* \| (.*) \| (.*) \|$", section, re.M):
            numbers[kind].append(int(number))
            assert text.startswith(VERDICTS[kind]), (number, text)
            names = re.findall(r"`(\w+)`", named)
            assert names, number
            documented[kind] |= {(int(number), name) for name in names}
    assert numbers == {"row": list(range(1, 56)), "defect": list(range(1, 44))}
    for kind in VERDICTS:
        assert cases[kind] <= documented[kind]
        assert {name for _, name in documented[kind]} <= existing_tests()[0]


# docs/security.md: each claim names the test that shows it.

def existing_tests():
    """Python's test functions, and the names under which ctest knows suites and programs."""
    functions, suites = set(), set()
    for path in glob.glob(os.path.join(ROOT, "tests/**/*.py"), recursive=True):
        functions |= set(re.findall(r"^def (test_\w+)\(", read(path), re.M))
    for path in glob.glob(os.path.join(ROOT, "tests/**/CMakeLists.txt"), recursive=True):
        suites |= set(re.findall(r"(?:nrd_pytest\(|add_test\(NAME )([\w/]+)", read(path)))
    return functions, suites


def test_each_test_that_the_security_document_names_exists():
    functions, suites = existing_tests()
    named = re.findall(r"`((?:test_|tests/|wire/|node/|bench/)[^`\s]*)`", read("docs/security.md"))
    assert len(set(named)) > 60 and len(functions) > 500 and "wire/access" in suites
    missing = [name for name in named if name not in functions | suites and
               not (name.startswith(("tests/", "bench/")) and os.path.exists(os.path.join(ROOT, name)))]
    assert missing == []


def rows_of_tables(text):
    """Each table as a list of rows, each a list of cells; the first row has the headings."""
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [[[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()] for table in tables]


def test_each_row_of_the_security_document_names_a_test_or_says_that_there_is_none():
    shown = [table for table in rows_of_tables(read("docs/security.md")) if table[0][-1] == "shown by"]
    assert len(shown) >= 7
    assert [row for table in shown for row in table[2:] if not re.search(r"`(?:test_|tests/|wire/|node/)|^no test", row[-1])] == []


def test_each_row_of_the_kubernetes_document_names_an_existing_test_or_is_open():
    shown = [table for table in rows_of_tables(read("docs/kubernetes.md")) if table[0][-1] == "shown by"]
    assert [len({row[0].split()[0] for row in table[2:]}) for table in shown] == [20, 25]
    functions, _ = existing_tests()
    for path in glob.glob(os.path.join(ROOT, "clients/kubernetes/**/*test*"), recursive=True):
        if path.endswith((".py", "_test.go")):
            functions |= set(re.findall(r"^(?:def|func) ([tT]est\w+)\(", read(path), re.M))
    rows = [(row[0], re.findall(r"`([tT]est\w+)`", " ".join(row)), row[-1]) for table in shown for row in table[2:]]
    assert [row for row in rows if not row[2].startswith(("open: ", "`"))] == []
    assert [name for _, names, _ in rows for name in names if name not in functions] == []


def test_the_security_document_lists_every_file_of_cgroups_that_is_written():
    row = next(line for line in read("docs/security.md").splitlines() if line.startswith("| ProtectControlGroups=no"))
    written = set()
    for path in sources():
        if not path.startswith("hw/cpuset/") or not path.endswith(".cc"):
            continue
        text = read(path)
        names = dict(re.findall(r'constexpr const char\* (\w+) = "([^"]*)";', text))
        # The last two are the functions themselves.
        for name in re.findall(r"\bwrite_to(?:_file)?\([^,;{]*, ([^,;{]+),", text):
            if name not in ("const char* name", "const char* file", "file"):
                written.add(name.strip('"') if name.startswith('"') else names[name])
        writes = re.search(r"O_WRONLY|O_RDWR|ofstream|write_value", text)
        assert not writes or path in ("hw/cpuset/cgroup.cc", "hw/cpuset/latency.cc", "hw/cpuset/noise.cc"), path
    assert written == {name for name in re.findall(r"`([\w.]+)`", row) if re.match(r"cpu(set)?\.", name)}, written


def test_the_unit_allows_a_descriptor_for_each_connection_and_each_owner():
    """Without one left nrd refuses all changes, also of administrators."""
    def number(path, before):
        return int(re.search(before + r"(\d+)", read(path))[1])
    connections = sum(number("api/http/limits.h", rf"{limit} = ") for limit in ("kConnectionLimit", "kUnixConnectionLimit", "kRootReserve"))
    owners = number("engine/plan/spec.cc", "kMostWorkloads = ")
    assert number("systemd/nrd.service", "LimitNOFILE=") >= connections + owners + 1024


def test_links_and_source_paths_of_documents_exist():
    documents = [os.path.relpath(path, ROOT) for pattern in ("*.md", "docs/**/*.md") for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
    assert len(documents) > 20
    wrong = []
    for document in documents:
        text = read(document)
        for link, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            target = os.path.normpath(os.path.join(os.path.dirname(document), link)) if link else document
            if link.startswith("http"):
                continue
            if not os.path.exists(os.path.join(ROOT, target)):
                wrong.append((document, link))
            elif anchor and anchor not in anchors(target):
                wrong.append((document, f"{link}#{anchor}"))
        paths = re.findall(r"`((?:api|base|bench|cli|cmake|daemon|engine|hw|store|tests)/[\w./-]+\.(?:cc|h|py|sql|cmake))`", text)
        wrong += [(document, path) for path in paths if not os.path.exists(os.path.join(ROOT, path))]
    assert wrong == []


def test_examples_of_configuration_are_toml():
    documents = [path for path in files(ROOT) if re.fullmatch(r"(docs/.*|README)\.md", path)]
    found = [(path, block) for path in documents for block in re.findall(r"^```toml\n(.*?)^```$", read(path), re.M | re.S)]
    assert len(found) > 5
    for document, block in found:
        try:
            tomllib.loads(block)
        except tomllib.TOMLDecodeError as error:
            raise AssertionError(f"{document}: {error}\n{block}") from error


def anchors(document):
    """Anchors of the headings, as Markdown renderers make them."""
    headings = re.findall(r"^#+ (.*)$", read(document), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def collapsed(text):
    """A longer line nearby moves the comments of all."""
    return " ".join(text.split())


def test_excerpts_of_the_hacking_page_are_in_the_files():
    diff = re.search(r"^```diff\n(.*?)^```$", read("docs/hacking.md"), re.M | re.S)[1]
    for path, *excerpts in (re.split(r"\n@@.*\n", part.rstrip()) for part in re.split("^--- ", diff, flags=re.M)[1:]):
        for excerpt in excerpts:
            after = "\n".join(line[1:] for line in excerpt.splitlines() if not line.startswith("-"))
            assert collapsed(after) in collapsed(read(path)), excerpt
