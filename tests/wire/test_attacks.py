"""The nine attacks that hurt Pistache's own endpoint (test_bare_pistache.py) do nothing to nrd's listener."""

import os
import ssl
import subprocess

import pytest

import attacks
from attacks import Target
from harness import BUGS

GUARDED = os.environ.get("NRD_GUARDED", "build/dev/tests/wire/nrd-guarded")
PROMPT = 1.5  # seconds, with a sanitizer on a busy machine


@pytest.fixture
def guarded(tmp_path, certificate):
    started = []

    def start(tls):
        flags = ["--tls", *certificate] if tls else []
        with open(tmp_path / "log", "w") as log:
            process = subprocess.Popen([GUARDED, *flags], stdout=subprocess.PIPE, stderr=log, text=True)
        started.append(process)
        context = ssl.create_default_context(cafile=certificate[0]) if tls else None
        return Target(process, int(process.stdout.readline()), context)

    yield start
    for process in started:
        died = process.poll()
        process.kill()
        process.wait()
        process.stdout.close()
        said = (tmp_path / "log").read_text()
        assert died is None, said
        assert not BUGS.search(said), said


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("attack, options", [
    (attacks.f1_split_between_cr_and_lf, {}),
    (attacks.f2_unread_answers, {}),
    (attacks.f3_answer_to_another, {"tries": 2}),
    (attacks.f4_many_slashes, {}),
    (attacks.f5_reset_in_answer, {}),
    (attacks.f6_silent_handshake, {}),
    (attacks.f7_stream_from_another_thread, {"seconds": 3}),
    (attacks.f8_unregistered_methods, {}),
    (attacks.f9_foreign_exception, {})], ids=[f"F{i}" for i in range(1, 10)])
def test_the_attack_does_no_harm(guarded, attack, options, tls):
    if attack in (attacks.f5_reset_in_answer, attacks.f6_silent_handshake) and not tls:
        pytest.skip("of TLS only")
    seen = attack(guarded(tls), **options)
    assert seen.harmless(PROMPT), seen


def test_split_requests_and_exceptions_are_answered(guarded):
    assert attacks.f1_split_between_cr_and_lf(guarded(False)).answer.endswith(b"hello")
    assert b" 500 " in attacks.f9_foreign_exception(guarded(False)).answer
    assert b" 414 " in attacks.f4_many_slashes(guarded(False)).answer
