"""What profiles become, as those read it for whom it is: a shell, systemd, a reader of YAML. And what a shell makes of
the same profiles: the evaluator that starts none must come to the same variables."""

import os
import random
import re
import shutil
import subprocess
import tempfile

import pytest
import yaml

PROFILE = os.environ.get("NRD_PROFILE", "build/dev/tests/profiles/nrd-profile")
NASTY = {
    "EF_QUOTES": "a \"b\" 'c' `d`", "EF_BACKSLASH": "\\ \\n \\\\ \\\"", "EF_DOLLAR": "$HOME ${X} $(id) $$", "EF_PERCENT": "%n %% %",
    "EF_YAML": "- a: b #c {d} [e] &f *g !h |i >j", "EF_BLANKS": "  both ends  ", "EF_UTF8": "caf\u00e9 \u20ac \U0001f600",
    "EF_EQUALS": "any=rss:active=x", "EF_NUMBER": "0123", "EF_BOOLEAN": "no", "EF_NULL": "null", "EF_TILDE": "~", "NO": "key",
    "EF_SEMICOLON": "; rm -rf /", "EF_END": "ends with \\",
}
# What the wrapper script does for a profile, corrected where docs/onload-profiles.md says so.
SHELL = r"""
onload_set() {
  [ $# != 1 ] || set -- "${1%%=*}" "${1#*=}"
  [ -n "$2" ] || return 0
  if eval "[ -z \"\$$1\" ]"; then export "$1=$2"; fi
}
onload_import() {
  if [ -f "./$1.opf" ]; then . "./$1.opf"; else . "./$1.opf-fragment"; fi
}
for profile in $PROFILES; do onload_import "$profile"; done
exec env -0
"""


@pytest.fixture
def folder():
    path = tempfile.mkdtemp(prefix="nrd-profiles-")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def single_quoted(value):
    return "'" + value.replace("'", "'\\''") + "'"


def write_nasty(folder):
    write(folder, "nasty.opf", "".join(f"onload_set {name} {single_quoted(value)}\n" for name, value in NASTY.items()))


def run(*arguments, status=0):
    done = subprocess.run([PROFILE, *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode == status, done.stderr
    return done.stdout


def in_shell(folder, profiles, caller):
    done = subprocess.run(["/bin/sh", "-c", SHELL], cwd=folder, capture_output=True, text=True, timeout=30,
                          env={"PATH": "/usr/bin:/bin", "PROFILES": " ".join(profiles), **caller})
    found = dict(item.split("=", 1) for item in done.stdout.split("\0") if item) if done.returncode == 0 else {}
    return {name: value for name, value in found.items() if name.startswith("EF_") and name not in caller}


def variables(folder, *arguments):
    """The environment as it is said in YAML; None if the profile is refused or needs a shell."""
    done = subprocess.run([PROFILE, "config-maps", folder, *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode in (0, 1, 2), done.stderr
    return yaml.safe_load(done.stdout)["data"] if done.returncode == 0 else None


def test_yaml_reads_back_the_same_values(folder):
    write_nasty(folder)
    write(folder, "A_b.opf", "onload_set EF_X 1\n")
    nasty, other = yaml.safe_load_all(run("config-maps", folder, "nasty", "A_b"))
    assert nasty["data"] == NASTY
    assert other == {"apiVersion": "v1", "kind": "ConfigMap", "data": {"EF_X": "1"},
                     "metadata": {"name": "onload-a-b-profile", "labels": {"app.kubernetes.io/part-of": "onload"}}}


def test_a_shell_reads_back_the_same_values(folder):
    write_nasty(folder)
    write(folder, "out", run("env", folder, "nasty"))
    done = subprocess.run(["/bin/sh", "-c", "set -a; . ./out; exec env -0"], cwd=folder, capture_output=True, text=True,
                          timeout=30, env={"PATH": "/usr/bin:/bin"})
    found = dict(item.split("=", 1) for item in done.stdout.split("\0") if item)
    assert {name: found.get(name) for name in NASTY} == NASTY and done.stderr == ""


def seen_by_systemd(folder):
    """What systemd's own reader of units says about x.service; it runs nothing. It refuses to be tested as root."""
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*as_nobody, "/lib/systemd/systemd", "--test", "--system", "--unit=x.service"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={"SYSTEMD_UNIT_PATH": folder, "XDG_RUNTIME_DIR": folder, "HOME": folder, "LC_ALL": "C.UTF-8"})
    unit = re.search(r"^\t?-> Unit x\.service:\n(.*?)(?=^\t?-> Unit |\Z)", done.stdout, re.M | re.S)
    assert unit, done.stdout + done.stderr
    return re.findall(r"^\s*(Environment|DeviceAllow|After): (.*)$", unit[1], re.M), done.stderr


def test_systemd_reads_back_the_same_values(folder):
    write_nasty(folder)
    for unit in ("x.service", "nrd.service"):
        write(folder, unit, "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/true\n")
    os.mkdir(os.path.join(folder, "x.service.d"))
    write(folder, "x.service.d/onload.conf", run("drop-in", folder, "nasty"))
    facts, complaints = seen_by_systemd(folder)
    assert dict(value.split("=", 1) for key, value in facts if key == "Environment") == NASTY
    assert {value for key, value in facts if key == "DeviceAllow"} == {"/dev/onload rw", "/dev/onload_epoll rw", "/dev/sfc_char rw"}
    assert any(key == "After" and value.startswith("nrd.service") for key, value in facts)
    assert "onload.conf" not in complaints


SHIPPED = {
    "latency.opf": "# spin\nonload_set EF_POLL_USEC 100000\nonload_set EF_TCP_FASTSTART_INIT 0 # new\nonload_set EF_TCP_FASTSTART_IDLE=0\n",
    "proxy.opf": "onload_set EF_CLUSTER_SIZE \"$num_workers\"\nonload_set EF_TX_PUSH 1\nonload_set EF_MAX_PACKETS $(( (180000*16) / $num_workers ))\n"
                 "onload_import throughput \"$@\"\n",
    "throughput.opf-fragment": "onload_set EF_PORTS 570000\nonload_set EF_PORTS_MAX $EF_PORTS\nonload_set EF_MAX_ENDPOINTS 1000000\n"
                               "onload_set EF_SOCKET_CACHE_MAX $(( $EF_MAX_ENDPOINTS / 4 ))\nonload_set EF_MAX_PACKETS $(( (180000*32) / $EF_CLUSTER_SIZE ))\n"
                               "onload_set EF_FILTERS \"any=rss:active:passive\"\nonload_set EF_TX_PUSH 0\nonload_set EF_POLL_USEC 20\n",
}


@pytest.mark.parametrize("profiles, caller", [
    (["latency"], {}), (["proxy"], {"num_workers": "4"}), (["proxy", "latency"], {"num_workers": "3"}),
    (["latency", "proxy"], {"num_workers": "7", "EF_TX_PUSH": "5", "EF_MAX_ENDPOINTS": "1000"}),
    (["latency"], {"EF_POLL_USEC": ""}),
])
def test_profiles_like_onloads_own_evaluate_as_in_a_shell(folder, profiles, caller):
    for name, text in SHIPPED.items():
        write(folder, name, text)
    expected = in_shell(folder, profiles, {name: value for name, value in caller.items() if value})
    assert len(expected) > 2
    text = run("env", folder, *(f"{name}={value}" for name, value in caller.items()), *profiles)
    assert dict(re.findall(r'^(\w+)="(.*)"$', text, re.M)) == expected


def random_word(dice):
    parts = ["1", "100000", "a", "=", ":", "~x", "#", "'a b'", "'\"'", '"a b"', '"\\$\\\\\\""', '"\'"', "\\ ", "\\$", "\\'", "\\\\", "$EF_A",
             "${EF_B}", '"$EF_A"', '"x ${EF_B}y"', "$", '"$"', "''", '""', "$((EF_A + 3))", "$(( (2 - $EF_B) * -7 / 3 % 100 ))",
             '"$(( EF_A*EF_B ))"', "\\\n", '"\\\n"', "%", "\u00e9", "!", "]", "^", "@", ",", '"\\a"', "0x1f", "$(( 0x1f + 017 ))"]
    return "".join(dice.choice(parts) for _ in range(dice.randint(1, 4)))


def test_random_profiles_evaluate_as_in_a_shell(folder):
    dice = random.Random(20240611)
    compared = 0
    for number in range(250):
        lines = ["onload_set EF_A 12", "onload_set EF_B=-5"]
        for name in ("EF_C", "EF_D", "EF_E"):
            lines.append(f"onload_set {name}{dice.choice(' =')}{random_word(dice)}{dice.choice(['', ' # x', ' '])}")
        write(folder, "x.opf", "\n".join(lines) + "\n")
        ours = variables(folder, "x")
        if ours is None:
            continue
        compared += 1
        assert ours == in_shell(folder, ["x"], {}), lines
    assert compared > 120
