"""Each fault of Debian's Pistache 0.0.5 happens on its own endpoint: the attacks are attacks.

A test that fails here says that the library or the attack has changed, and then what nrd's listener stands proves less.
"""

import os
import re
import resource
import signal
import ssl
import subprocess

import pytest

import attacks
from attacks import SPINNING, Target

BARE = os.environ.get("NRD_BARE_PISTACHE", "build/dev/tests/wire/nrd-bare-pistache")
VALGRIND = "/usr/bin/valgrind"


@pytest.fixture(scope="session", autouse=True)
def limits_of_a_service():
    """No cores of those that shall die, and the stack that threads have by default."""
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_STACK, 8 << 20)):
        resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))


class Bare:
    def __init__(self, folder, certificate):
        self.certificate, self.processes = certificate, []
        self.log = str(folder / "log")

    def start(self, *flags, tls=False, below=()):
        context = None
        if tls:
            flags += ("--tls", *self.certificate)
            context = ssl.create_default_context(cafile=self.certificate[0])
        with open(self.log, "w") as log:
            process = subprocess.Popen([*below, BARE, *flags], stdout=subprocess.PIPE, stderr=log, text=True)
        self.processes.append(process)
        port = process.stdout.readline()
        assert port, self.said()
        return Target(process, int(port), context)

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.fixture
def bare(tmp_path, certificate):
    endpoint = Bare(tmp_path, certificate)
    yield endpoint
    endpoint.end()


def races_in_router(log):
    """Reports of two threads in what Router::route itself calls, its map of routes: one finds, one inserts.

        Possible data race during read of size 8 at 0x53823F0 by thread #4
           at 0x49872BC: ??? (in libpistache.so)
           by 0x498C6E5: Pistache::Rest::Router::route(...)
           ...
        This conflicts with a previous write of size 8 by thread #3
           at 0x49A899A: ??? (in libpistache.so)
           by 0x498CC7A: Pistache::Rest::Router::route(...)

    The functions without a name are instances of std::unordered_map's, of which Debian's library keeps no symbols.
    """
    inside = r".*\n.* Locks held: none\n.* at 0x.*libpistache.*\n.* by 0x\w+: Pistache::Rest::Router::route\("
    both = re.compile(rf"Possible data race during{inside}(?s:.*)This conflicts with a previous write{inside}")
    return [report for report in re.split(r"^==\d+== -{20,}$", log, flags=re.M) if both.search(report)]


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_without_an_attack_it_serves_requests(bare, tls):
    seen = attacks.observe(bare.start(tls=tls))
    assert seen.harmless(), seen


def test_f1_a_chunk_split_between_cr_and_lf_makes_the_worker_spin(bare):
    seen = attacks.f1_split_between_cr_and_lf(bare.start())
    assert seen.died is None and seen.busy > SPINNING and seen.latency is None and not seen.answer, seen


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_f2_a_client_that_does_not_read_makes_the_worker_spin(bare, tls):
    target = bare.start(tls=tls)
    seen = attacks.f2_unread_answers(target)
    assert seen.died is None and seen.busy > SPINNING and seen.latency is None, seen
    assert attacks.observe(target, patience=attacks.CONNECT).harmless(), "it ends when that client leaves"


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_f3_an_answer_goes_to_a_client_that_asked_for_nothing(bare, tls):
    seen = attacks.f3_answer_to_another(bare.start(tls=tls))
    assert seen.strayed.endswith(b"slow"), seen


def test_f4_a_path_of_many_slashes_overflows_the_stack(bare):
    seen = attacks.f4_many_slashes(bare.start("--max-request", "131072"))
    assert seen.died == -signal.SIGSEGV, seen


def test_f5_a_tls_client_that_resets_kills_with_sigpipe(bare):
    seen = attacks.f5_reset_in_answer(bare.start(tls=True))
    assert seen.died == -signal.SIGPIPE, seen


def test_f6_a_silent_tls_client_blocks_other_clients_for_ten_seconds(bare):
    seen = attacks.f6_silent_handshake(bare.start("--threads", "2", tls=True))
    assert seen.died is None and seen.latency > 8, seen


def test_f7_a_stream_flushed_by_another_thread_kills(bare):
    said = []
    for _ in range(6):  # it always dies; of what, is up to chance, and most often the worker says why
        seen = attacks.f7_stream_from_another_thread(bare.start("--threads", "2"))
        assert seen.died in (-signal.SIGABRT, -signal.SIGSEGV), seen
        said.append(bare.said())
        if "could not find write data" in said[-1]:
            return
    pytest.fail(str(said))


def test_f8_methods_without_a_route_race_in_the_router(bare):
    target = bare.start("--threads", "2", below=(VALGRIND, "--tool=helgrind"))
    assert attacks.observe(target, patience=attacks.CONNECT).died is None
    assert races_in_router(bare.said()) == [], "methods that have routes do not race"
    seen = attacks.f8_unregistered_methods(target)
    assert seen.died is None and b" 405 " in seen.answer, seen
    assert races_in_router(bare.said()), bare.said()


def test_f9_an_exception_that_is_none_of_std_aborts(bare):
    seen = attacks.f9_foreign_exception(bare.start())
    assert seen.died == -signal.SIGABRT, seen
    assert "after throwing an instance of 'int'" in bare.said()
