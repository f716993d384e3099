"""Profiles over the API, on a node without Onload: they are files and text, and need none."""

import os

import pytest

from harness import refusal

pytest_plugins = "profile_folders"

TEXT = "onload_set EF_POLL_USEC 100000\nonload_set EF_HALF $(( $EF_POLL_USEC / 2 ))\n"


@pytest.fixture
def node(profiled):
    return profiled


@pytest.fixture
def folder(profiled):
    """The configured one."""
    return profiled.profiles


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def render(node, **request):
    return node.call("POST", "/v1/onload/render", request)


def test_a_stored_profile_survives_a_kill_and_renders(node):
    assert node.call("PUT", "/v1/onload/profiles/mine", {"text": TEXT})["kind"] == "static"
    node.kill9_and_start()
    assert node.call("GET", "/v1/onload/profiles/mine")["text"] == TEXT
    assert render(node, profiles=["mine"])["env"] == {"EF_POLL_USEC": "100000", "EF_HALF": "50000"}
    assert render(node, profiles=["mine"], env={"EF_POLL_USEC": "10"})["env"] == {"EF_POLL_USEC": "10", "EF_HALF": "5"}
    assert render(node, profiles=["mine"], env={"EF_POLL_USEC": "10"}, force=True)["env"]["EF_HALF"] == "50000"
    assert render(node, profiles=["mine"], format="env")["text"] == 'EF_HALF="50000"\nEF_POLL_USEC="100000"\n'
    found = os.stat(os.path.join(node.state, "profiles", "mine.opf"))
    assert (found.st_uid, found.st_mode & 0o777) == (0, 0o644)
    node.call("DELETE", "/v1/onload/profiles/mine")
    assert node.call("GET", "/v1/onload/profiles") == []


def test_roots_profiles_take_precedence_and_are_kept(node, folder):
    node.call("PUT", "/v1/onload/profiles/latency", {"text": "onload_set EF_A api\n"})
    write(folder, "latency.opf", "onload_set EF_A root\n")
    assert render(node, profiles=["latency"])["env"] == {"EF_A": "root"}
    refused = refusal(node.call, "PUT", "/v1/onload/profiles/latency", {"text": TEXT})
    assert refused.status == 409 and folder in refused.text
    node.call("DELETE", "/v1/onload/profiles/latency")
    assert refusal(node.call, "DELETE", "/v1/onload/profiles/latency").status == 404
    assert node.call("GET", "/v1/onload/profiles")[0]["folder"] == folder


def test_a_profile_that_needs_a_shell_is_named_with_its_line_and_never_run(node, folder):
    made = os.path.join(folder, "made")
    write(folder, "shell.opf", f"# a program\ntouch {made}\n")
    write(folder, "importer.opf", "onload_set EF_A 1\nonload_import shell\n")
    for name in ("shell", "importer"):
        refused = refusal(render, node, profiles=[name])
        assert refused.status == 422 and f"{folder}/shell.opf:2" in refused.text and "nrdctl run" in refused.text
    kinds = {p["id"]: (p["kind"], p["place"]) for p in node.call("GET", "/v1/onload/profiles")}
    assert kinds == {name: ("dynamic", f"{folder}/shell.opf:2") for name in ("shell", "importer")}
    assert not os.path.exists(made)


@pytest.mark.parametrize("spoil, says", [
    (lambda folder: os.chmod(folder, 0o777), "writable by users other"),
    (lambda folder: os.chown(folder, 65534, 65534), "not owned by root"),
    (lambda folder: os.chmod(os.path.join(folder, "p.opf"), 0o666), "writable by users other"),
    (lambda folder: (os.remove(os.path.join(folder, "p.opf")), os.symlink("/etc/passwd", os.path.join(folder, "p.opf"))), "symbolic link"),
])
def test_profiles_writable_by_others_are_not_read(node, folder, spoil, says):
    write(folder, "p.opf", TEXT)
    assert render(node, profiles=["p"])["env"]
    spoil(folder)
    refused = refusal(render, node, profiles=["p"])
    assert refused.status == 400 and folder in refused.text and says in refused.text
    assert "root:x" not in node.request("GET", "/v1/onload/profiles/p")[1]


@pytest.mark.parametrize("id", ["..%2Fp", "%2e%2e", ".p", "p.opf", "a%20b", "%00", "a" * 100])
def test_ids_that_are_no_names_lead_nowhere(node, folder, id):
    for method, body in (("GET", None), ("PUT", {"text": TEXT}), ("DELETE", None)):
        assert node.request(method, f"/v1/onload/profiles/{id}", body)[0] in (400, 404), method
    assert not os.path.exists(os.path.join(node.state, "profiles")) and os.listdir(folder) == []


def test_wrong_profiles_are_refused_with_file_and_line(node):
    for text, place in ((TEXT + 'onload_set EF_A "x\n', "p.opf:3"), ("onload_set LD_PRELOAD x\n", "p.opf:1"),
                        ("onload_set EF_A 1", "p.opf")):
        refused = refusal(node.call, "PUT", "/v1/onload/profiles/p", {"text": text})
        assert refused.status == 400 and place in refused.text, refused
    assert node.request("PUT", "/v1/onload/profiles/p", {"text": "# " + "x" * 70000 + "\n"})[0] == 413
    assert node.call("GET", "/v1/onload/profiles") == []
