"""What /v1/onload must never do for any client: read, run or load files that are not below the folders that root configured.

No module is loaded here, so none has to be real: a version needs files that say what they are. What root would run or load
comes from such a tree alone, so all that matters is what can get into one."""

import contextlib
import io
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile

import pytest

from harness import Node

SECRET = "a secret of this node, of 4711 letters"
KERNEL = os.uname().release  # a version for another kernel would be refused before the rest is checked
PROGRAMS = {"onload": ["cplane_server_path", "shrub_controller_path"], "sfc_resource": ["bpf_link_helper"]}
# Parameters of the real modules that grant rights, and one that no list can know.
RIGHTS = {"onload": ["inject_kernel_gid", "phys_mode_gid", "scalable_filter_gid", "cplane_server_uid", "cplane_server_gid",
                     "allow_insecure_setuid_sharing", "shrub_controller_client_mode", "of_a_release_to_come"],
          "sfc_char": ["phys_mode_gid", "mac_filters_gid"], "sfc": ["efx_allow_nvconfig_writes"]}
EXTRA = f"lib/modules/{KERNEL}/extra"


def ko(name):
    """An ELF file with a section .modinfo and nothing else."""
    info = f"name={name}\0vermagic={KERNEL} SMP \0".encode()
    info += "".join(f"parmtype={parameter}:charp\0" for parameter in PROGRAMS.get(name, []) + RIGHTS.get(name, [])).encode()
    names = b"\0.modinfo\0.shstrtab\0"
    at = 64 + len(info)
    section = struct.Struct("<IIQQQQIIQQ")
    sections = (section.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + section.pack(1, 1, 0, 0, 64, len(info), 0, 0, 1, 0)
                + section.pack(10, 3, 0, 0, at, len(names), 0, 0, 1, 0))
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, at + len(names), 0, 64, 0, 0, 64, 3, 2)
    return header + info + names + sections


class Imports:
    """Folders of root's own for versions and imports, and a secret beside them."""

    def __init__(self):
        self.home = tempfile.mkdtemp(dir="/run", prefix="nrd-import-")
        os.chmod(self.home, 0o755)
        self.secret = self.path("secret/secret")
        self.config = (f'[onload]\nversions = "{self.path("onload")}"\nimports = "{self.path("import")}"\n'
                       f'profiles = ["{self.path("profiles")}"]\n')

    def begin(self):
        for folder in ("import", "onload", "secret", "profiles", "outside"):
            shutil.rmtree(self.path(folder), ignore_errors=True)
            os.mkdir(self.path(folder), 0o755)
        self.write("secret/secret", SECRET)
        os.chmod(self.secret, 0o600)

    def versions(self):
        return os.listdir(self.path("onload/versions")) if os.path.exists(self.path("onload/versions")) else []

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def put_release(self, name="import/9", modules=("sfc_resource", "onload")):
        for module in modules:
            self.write(f"{name}/{EXTRA}/{module}.ko", ko(module))
        self.write(f"{name}/usr/lib64/libonload.so", "a library")

    def put_tar(self, *members):
        """import/9.tar: a release, and members as (TarInfo, content)."""
        with tarfile.open(self.path("import/9.tar"), "w", format=tarfile.PAX_FORMAT) as tar:
            for member, content in [(tarfile.TarInfo(f"{EXTRA}/onload.ko"), ko("onload")), *members]:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def running():
    imports = Imports()
    try:
        with Node(imports.config) as node:
            node.imports = imports
            yield node
    finally:
        shutil.rmtree(imports.home)


@pytest.fixture
def importer(running):
    """Nothing is installed and nothing lies there to be importer."""
    running.imports.begin()
    yield running
    # Whatever was asked: nothing but whole versions is left, and the secret is in none of them.
    left = running.imports.versions()
    assert not [name for name in left if name.startswith(".")], left
    for folder, _, files in os.walk(running.imports.path("onload")):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                assert SECRET.encode() not in file.read(), name
    running.request("DELETE", "/v1/onload/profiles/mine")


def take(node, source="9", name="9.0"):
    status, text, _ = node.request("POST", "/v1/onload/versions", {"name": name, "source": node.imports.path(f"import/{source}")},
                                   {"Content-Type": "application/json", "Accept": "application/json"})
    return status, json.loads(text)


def assert_refused(node, field="/source", source="9", name="9.0"):
    status, answer = take(node, source, name)
    # With a NUL it is no JSON that nrd takes, whatever field it is in.
    assert status == 400 and ("\0" in source + name or answer["field"] == field), answer
    assert SECRET not in json.dumps(answer)
    assert node.call("GET", "/v1/onload/versions") == []
    return answer


def install(node, **release):
    node.imports.put_release(**release)
    assert take(node)[0] == 201


def test_a_release_is_imported(importer):
    install(importer)
    importer.imports.put_tar()
    assert take(importer, "9.tar", "9.tar")[0] == 201
    assert take(importer, "9.tar", "9.tar")[1]["field"] == "/name"
    assert {version["name"] for version in importer.call("GET", "/v1/onload/versions")} == {"9.0", "9.tar"}


def test_a_version_whose_files_root_has_damaged_is_named(importer):
    install(importer)
    assert take(importer, name="9.1")[0] == 201
    module = importer.imports.path(f"onload/versions/9.1/{EXTRA}/onload.ko")
    os.rename(module, module + ".xz")
    status, text, _ = importer.request("GET", "/v1/onload/versions")
    assert status == 503 and "version 9.1: " in text, (status, text)
    assert importer.request("DELETE", "/v1/onload/versions/9.1")[0] == 200
    assert [version["name"] for version in importer.call("GET", "/v1/onload/versions")] == ["9.0"]


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "../9", "a/b", "/etc", "9 0", "9\n0", "9\t", 'a"b', "a'b", "a\\b", "a\0b", "9%2f0",
                                  "\u00e9", "-" * 65, "a;b", "$(id)", "*"])
def test_names_of_versions_are_plain(importer, name):
    importer.imports.put_release()
    assert_refused(importer, field="/name", name=name)
    status, text, _ = importer.request("PUT", "/v1/onload", {"state": "loaded", "version": name})
    assert status == 400 and ("\0" in name or "/version" in text)
    assert os.listdir(importer.imports.path("onload")) == []


@pytest.mark.parametrize("id", ["..", "%2e%2e", "..%2f..%2fsecret", "%2fetc", ".hidden", "a%20b", "a%22b"])
def test_only_versions_can_be_removed(importer, id):
    install(importer)
    status, text, _ = importer.request("DELETE", f"/v1/onload/versions/{id}")
    assert status in (400, 404), text
    assert os.path.exists(importer.imports.secret)
    assert [version["name"] for version in importer.call("GET", "/v1/onload/versions")] == ["9.0"]


@pytest.mark.parametrize("source", ["../secret", "9/../../secret", "9/./x", "9//x", "9/", ".", "..", "a\nb", "a\0b", "nowhere", "9/nowhere",
                                    "x" * 2000])
def test_sources_are_plain_paths_below_the_folder(importer, source):
    importer.imports.put_release()
    assert_refused(importer, source=source)


LINKS = {"a file": ("usr/lib64/evil.so", "../../../../secret/secret"), "a file by its whole path": ("usr/evil", "{secret}"),
         "a folder": ("etc", "../../secret"), "a folder of the tree": ("lib64", "usr/lib64"), "nothing": ("usr/gone", "nowhere"),
         "itself": ("usr/loop", "loop"), "the folder of modules": ("lib/modules/6.1.0-2-amd64", "../../../../secret"),
         "above": ("up", ".."), "the kernel": ("usr/mem", "/dev/mem")}


@pytest.mark.parametrize("what", LINKS)
def test_links_of_a_folder_lead_nowhere_else(importer, what):
    importer.imports.put_release()
    at, to = LINKS[what]
    os.symlink(to.format(secret=importer.imports.secret), importer.imports.path(f"import/9/{at}"))
    assert_refused(importer)


@pytest.mark.parametrize("what", LINKS)
def test_links_of_an_archive_lead_nowhere_else(importer, what):
    at, to = LINKS[what]
    link = tarfile.TarInfo(at)
    link.type, link.linkname = tarfile.SYMTYPE, to.format(secret=importer.imports.secret)
    importer.imports.put_tar((tarfile.TarInfo("usr/lib64/libonload.so"), b"a library"), (link, b""))
    assert_refused(importer, source="9.tar")


def test_the_source_and_its_parents_must_not_be_links(importer):
    importer.imports.put_release("outside/9")
    importer.imports.put_tar()
    os.rename(importer.imports.path("import/9.tar"), importer.imports.path("outside/9.tar"))
    os.symlink("../outside/9", importer.imports.path("import/9"))
    os.symlink("../outside", importer.imports.path("import/folder"))
    os.symlink("../outside/9.tar", importer.imports.path("import/9.tar"))
    os.symlink("../secret/secret", importer.imports.path("import/secret.tar"))
    for source in ("9", "folder/9", "folder/9.tar", "9.tar", "secret.tar"):
        assert_refused(importer, source=source)


@pytest.mark.parametrize("name", ["../evil", "/evil", "usr/../../evil", "usr/./evil", "usr//evil", "..", "a\nb", "x" * 300, "d/" * 33 + "x"])
def test_members_of_an_archive_have_plain_names(importer, name):
    importer.imports.put_tar((tarfile.TarInfo(name), b"evil"))
    assert_refused(importer, source="9.tar")
    assert not os.path.exists("/evil") and not os.path.exists(importer.imports.path("evil"))


def test_an_archive_writes_through_no_link_of_its_own(importer):
    link = tarfile.TarInfo("usr")
    link.type, link.linkname = tarfile.SYMTYPE, importer.imports.path("secret")
    importer.imports.put_tar((link, b""), (tarfile.TarInfo("usr/new"), b"evil"))
    assert_refused(importer, source="9.tar")
    assert os.listdir(importer.imports.path("secret")) == ["secret"]


@pytest.mark.parametrize("to", ["../../secret/secret", "/etc/passwd", "usr/later", "lib"])
def test_a_hard_link_of_an_archive_is_to_a_file_of_it(importer, to):
    link = tarfile.TarInfo("usr/linked")
    link.type, link.linkname = tarfile.LNKTYPE, to
    importer.imports.put_tar((link, b""), (tarfile.TarInfo("usr/later"), b"later"))
    assert_refused(importer, source="9.tar")


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_an_archive_has_no_devices(importer, kind):
    device = tarfile.TarInfo("dev")
    device.type, device.devmajor, device.devminor = kind, 1, 3
    importer.imports.put_tar((device, b""))
    assert_refused(importer, source="9.tar")


@pytest.mark.parametrize("kind", ["fifo", "device", "socket"])
def test_a_folder_has_no_devices_and_none_is_waited_for(importer, kind):
    importer.imports.put_release()
    at = importer.imports.path("import/9/usr/special")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        if kind == "fifo":
            os.mkfifo(at, 0o600)
        elif kind == "device":
            os.mknod(at, 0o600 | 0o020000, os.makedev(1, 5))
        else:
            listener.bind(at)
        os.chmod(at, 0o600)
        assert_refused(importer)
        os.rename(at, importer.imports.path("import/special"))
        assert_refused(importer, source="special")


@pytest.mark.parametrize("spoilt", ["import", "import/9", "import/9/usr", f"import/9/{EXTRA}/onload.ko", "import/9/usr/lib64/libonload.so"])
@pytest.mark.parametrize("how", ["others", "group", "sticky", "owner"])
def test_trees_writable_by_others_are_refused(importer, spoilt, how):
    importer.imports.put_release()
    at = importer.imports.path(spoilt)
    if how == "owner":
        os.chown(at, 65534, 65534)
    else:
        os.chmod(at, os.stat(at).st_mode | {"others": 0o002, "group": 0o020, "sticky": 0o1002}[how])
    answer = assert_refused(importer)
    # The answer names the faulty path, so that the client can correct it.
    assert at in answer["detail"] or spoilt.removeprefix("import/9/") in answer["detail"], answer


def test_setuid_bits_and_owners_do_not_come_along(importer):
    importer.imports.put_release()
    os.chmod(importer.imports.path("import/9/usr/lib64/libonload.so"), 0o6755)
    assert take(importer)[0] == 201
    found = os.stat(importer.imports.path("onload/versions/9.0/usr/lib64/libonload.so"))
    assert (found.st_mode & 0o7777, found.st_uid) == (0o755, 0)


def test_the_size_of_an_import_is_bounded(importer):
    importer.imports.put_release()
    os.mkdir(importer.imports.path("import/9/many"), 0o755)
    for i in range(20_001):
        os.close(os.open(importer.imports.path(f"import/9/many/{i}"), os.O_CREAT | os.O_WRONLY, 0o644))
    assert_refused(importer)
    shutil.rmtree(importer.imports.path("import/9/many"))
    os.makedirs(importer.imports.path("import/9/" + "d/" * 33), 0o755)
    assert_refused(importer)
    with open(importer.imports.path("import/huge.tar"), "wb") as file:
        file.truncate(1 << 40)
    assert_refused(importer, source="huge.tar")


EXCHANGE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
a, b = map(os.fsencode, sys.argv[1:])
print("begins", flush=True)
while libc.syscall(316, -100, a, -100, b, 2) == 0:
    pass
"""


@contextlib.contextmanager
def exchanging(a, b):
    """Two names change places without pause: renameat2(2) with RENAME_EXCHANGE, by a process of its own."""
    process = subprocess.Popen([sys.executable, "-I", "-c", EXCHANGE, a, b], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"begins\n"
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("what, decoy", [("usr/lib64/libonload.so", "link"), ("usr/lib64", "link"), ("usr/lib64/libonload.so", "fifo"),
                                         (f"{EXTRA}/onload.ko", "link"), ("", "link")])
def test_an_entry_exchanged_during_the_import_is_imported_whole_or_not_at_all(importer, what, decoy):
    """The fixture looks for the secret in all that came out of it."""
    importer.imports.put_release()
    importer.imports.write("secret/libonload.so", SECRET)
    at = importer.imports.path(f"import/9/{what}").rstrip("/")
    if decoy == "fifo":
        os.mkfifo(importer.imports.path("outside/decoy"), 0o600)
    else:
        os.symlink(importer.imports.path("secret" if os.path.isdir(at) else "secret/secret"), importer.imports.path("outside/decoy"))
    with exchanging(at, importer.imports.path("outside/decoy")):
        statuses = [take(importer, name=f"v{i}")[0] for i in range(10)]
    assert set(statuses) <= {201, 400}, statuses
    for version in importer.call("GET", "/v1/onload/versions"):
        folder = importer.imports.path(f"onload/versions/{version['name']}")
        with open(f"{folder}/usr/lib64/libonload.so") as file:
            assert file.read() == "a library"


@pytest.mark.parametrize("id", ["..", "%2e%2e%2fsecret", "a%2fb", ".hidden", "a%20b", "a%0ab", "a%22b", "%24(id)", "x" * 90, "mine.opf"])
def test_ids_of_profiles_are_plain(importer, id):
    for method, body in (("GET", None), ("PUT", {"text": "onload_set EF_A 1\n"}), ("DELETE", None)):
        status, text, _ = importer.request(method, f"/v1/onload/profiles/{id}", body)
        assert status in (400, 404), (method, status, text)
    assert not os.path.exists(os.path.join(importer.state, "profiles")) or os.listdir(os.path.join(importer.state, "profiles")) == []


@pytest.mark.parametrize("name", ["../secret/secret", "{secret}", "secret.opf/..", "a\nb", "a b", 'a"b', "a\0b", "", ".", "..", "link", "$(id)", "`id`"])
def test_profiles_are_read_from_their_folders_alone(importer, name):
    name = name.format(secret=importer.imports.secret)
    os.symlink(importer.imports.secret, importer.imports.path("profiles/link.opf"))
    status, text, _ = importer.request("POST", "/v1/onload/render", {"profiles": [name]})
    assert status == 400 and SECRET not in text, text
    put, text, _ = importer.request("PUT", "/v1/onload/profiles/mine", {"text": f"onload_import {name}\n"})
    assert put in (200, 400, 422) and SECRET not in text, text
    if put == 200:
        status, text, _ = importer.request("POST", "/v1/onload/render", {"profiles": ["mine"]})
        assert status in (400, 422) and SECRET not in text, text
    assert SECRET not in json.dumps(importer.call("GET", "/v1/onload/profiles"))


@pytest.mark.parametrize("module, name, value", [
    ("onload", "a b", "1"), ("onload", "a\n", "1"), ("onload", "a=1 b", "1"), ("onload", "../x", "1"), ("onload", "", "1"),
    ("../kernel", "x", "1"), ("on load", "x", "1"), ("onload\n", "x", "1"), ("onload", "x", "1\n"), ("onload", "x", "\0"),
    ("onload", "x", "\u00a0"), ("onload", "x", "1" * 1024)])
def test_parameters_are_words_of_the_kernel_or_refused(importer, module, name, value):
    install(importer)
    spec = {"state": "loaded", "version": "9.0", "parameters": {module: {name: value}}}
    status, text, _ = importer.request("PUT", "/v1/onload", spec)
    assert status == 400 and (value == "\0" or "/parameters" in text), text
    quoted = module.replace("/", "%2f").replace(" ", "%20").replace("\n", "%0a")
    assert importer.request("PATCH", f"/v1/onload/modules/{quoted}/parameters", {name: value})[0] in (400, 404, 409)
    assert importer.call("GET", "/v1/onload")["generation"] == 0


@pytest.mark.parametrize("word", ["a b", "a\n", "\0", "", "\u00e9", "x" * 129, "--uid=0", "--", "-t", "/bin/sh"])
def test_arguments_of_the_control_plane_are_separate_words(importer, word):
    install(importer)
    status, text, _ = importer.request("PUT", "/v1/onload", {"state": "loaded", "version": "9.0", "control_plane": [word]})
    assert status == 400 and (word == "\0" or "/control_plane/0" in text), text


@pytest.mark.parametrize("module, name", [(module, name) for module, names in PROGRAMS.items() for name in names])
@pytest.mark.parametrize("program", ["/bin/sh", "bin/sh", "", "{tree}", "{tree}/../../../../bin/sh", "{tree}//bin/sh", "{tree}/sbin/x -c id",
                                     "{tree}x/sbin/x", "{home}/onload/current/sbin/x", "{home}/import/9/sbin/x"])
def test_no_client_names_a_program_that_the_kernel_runs(importer, module, name, program):
    install(importer)
    value = program.format(tree=importer.imports.path("onload/versions/9.0"), home=importer.imports.home)
    spec = {"state": "loaded", "version": "9.0", "parameters": {module: {name: value}}}
    status, text, _ = importer.request("PUT", "/v1/onload", spec)
    assert status == 400 and f"/parameters/{module}/{name}" in text, text
    planned = importer.call("POST", "/v1/onload/preflight", spec)
    assert [check["name"] for check in planned["checks"] if not check["ok"]] == ["parameters"], planned
    assert importer.call("GET", "/v1/onload")["generation"] == 0


@pytest.mark.parametrize("module, name, value", [
    ("sfc_char", "phys_mode_gid", "-1"), ("sfc_char", "mac_filters_gid", "-1"), ("onload", "inject_kernel_gid", "-1"),
    ("onload", "phys_mode_gid", "65534"), ("onload", "scalable_filter_gid", "-1"), ("onload", "cplane_server_uid", "0"),
    ("onload", "cplane_server_gid", "0"), ("onload", "allow_insecure_setuid_sharing", "1"),
    ("onload", "shrub_controller_client_mode", "511"), ("sfc", "efx_allow_nvconfig_writes", "1"),
    ("onload", "of_a_release_to_come", "1")])
def test_no_client_grants_rights_by_a_parameter(importer, module, name, value):
    """DMA for all users, packets into the kernel's stack, and as whom programs run: only nrd.toml allows it.

    The release has these parameters, so that nothing else is wrong with the request."""
    install(importer, modules=("sfc", "sfc_resource", "sfc_char", "onload"))
    spec = {"state": "loaded", "version": "9.0", "sfc": "managed", "parameters": {module: {name: value}}}
    planned = importer.call("POST", "/v1/onload/preflight", spec)
    assert [check["name"] for check in planned["checks"] if not check["ok"]] == ["parameters"], planned
    status, text, _ = importer.request("PUT", "/v1/onload", spec)
    assert status == 400 and f"/parameters/{module}/{name}" in text and "onload.parameters" in text, text
    assert importer.call("GET", "/v1/onload")["generation"] == 0
