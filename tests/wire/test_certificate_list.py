"""Files that say who may do what and may change while nrd runs: listed certificates and the access list."""

import contextlib
import os
import shutil
import tempfile

import pytest

from harness import wait_for
from shared_node import emptied
from fixtures import CLIENT, Accounts, Authority, Service, ask, basic, name, shadowed
from test_access import always, for_admin, for_user, freeze, judge, send


class Lists:
    """The two folders, in a place of root's own."""

    def __init__(self, folder):
        self.admin, self.user = (os.path.join(folder, role) for role in ("admin", "user"))
        os.mkdir(self.admin, 0o755)
        os.mkdir(self.user, 0o755)

    def config(self):
        return f'[access]\nadmin_certificates = "{self.admin}"\nuser_certificates = "{self.user}"\n'


@pytest.fixture(scope="module")
def shared():
    """A service with lists, which are its attribute `lists`."""
    with tempfile.TemporaryDirectory(prefix="nrd-listed-") as folder:
        lists = Lists(folder)
        with Service(more=lists.config()) as service:
            service.lists = lists
            yield service


@pytest.fixture
def service(shared):
    """After each test its lists are empty."""
    yield from emptied(shared)
    for folder in (shared.lists.admin, shared.lists.user):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder, 0o755)


@pytest.fixture
def lists(service):
    return service.lists


def put(certificate, folder):
    """Key and certificate in one file, as root might have it lying about."""
    return shutil.copy(certificate, folder)


def reload(service):
    """Until nrd has read everything again."""
    service.sighup("CONFIG_RELOADED", "CONFIG_NOT_RELOADED")


def code(service, certificate):
    return ask(service.tls(certificate), "GET", "/v1/node")[0]


def test_matrix_of_listed_certificates(service, lists):
    freeze(service)
    sign = service.authority.sign
    signed = {who: sign(f"{who}.pem", subject, CLIENT) for who, subject in
              {"promoted": name("Bo", "User"), "demoted": name("Cy", "Admin"), "twin": name("Bo", "User"),
               "removed": name("Di", "Admin")}.items()}
    put(signed["promoted"], lists.admin)
    put(signed["demoted"], lists.user)
    os.remove(put(signed["removed"], lists.admin))
    foreign = Authority(tempfile.mkdtemp(dir=service.pki), "Foreign").sign("foreign.pem", name("Alice", "Admin"), CLIENT)
    put(foreign, lists.admin)
    reload(service)

    def by(certificate):
        return lambda method, path: send(service.tls(certificate), method, path)
    assert judge(service, {
        "listed as admin": (by(signed["promoted"]), for_admin), "listed as user": (by(signed["demoted"]), for_user),
        "same subject, not listed": (by(signed["twin"]), always(401)), "removed": (by(signed["removed"]), always(401)),
        "OU=Admin, not listed": (by(service.admin), always(401)), "OU=User, not listed": (by(service.user), always(401)),
        "listed, of an unknown CA": (by(foreign), always("no connection"))}) == []
    assert ask(service.tls(service.admin), "GET", "/v1/node")[:2] == (401, "Alice is not authorized\n")
    assert ask(service.tls(signed["demoted"]), "DELETE", "/v1/workloads/1")[:2] == (
        403, 'User "Cert Client User" is not authorized to access this resource\n')


def test_removal_from_the_allowlist_affects_open_connections(service, lists):
    file = put(service.admin, lists.admin)
    wait_for(lambda: code(service, service.admin) == 200, "nrd to read the folder without a request")
    with contextlib.closing(service.tls(service.admin)) as connection:
        def answers():
            connection.request("GET", "/v1/node")
            answer = connection.getresponse()
            answer.read()
            return answer.status
        assert answers() == 200
        os.remove(file)
        wait_for(lambda: answers() == 401, "the next look")


def test_no_connection_makes_a_change_after_its_certificate_was_removed_from_the_list(service, lists):
    file = put(service.admin, lists.admin)
    reload(service)
    kept = [service.tls(service.admin) for _ in range(20)]
    for connection in kept:
        connection.request("GET", "/v1/node")
        assert connection.getresponse().read()
    os.remove(file)
    reload(service)
    body = '{"core_ids":["4"],"cache":{"max":2,"min":2}}'
    codes = [ask(connection, "POST", "/v1/workloads", body, {"Content-Type": "application/json"})[0] for connection in kept]
    assert codes == [401] * 20 and service.list() == []


def test_a_file_that_grants_nothing_is_reported_and_revokes_its_certificates(service, lists):
    listed = put(service.admin, lists.admin)
    put(service.user, lists.user)
    foreign = os.path.join(lists.user, "foreign.pem")
    shutil.copy(service.admin, foreign)
    os.chown(foreign, 65534, 65534)
    writable = os.path.join(lists.user, "writable.pem")
    shutil.copy(service.admin, writable)
    os.chmod(writable, 0o666)
    os.symlink(service.admin, os.path.join(lists.user, "link.pem"))
    with open(os.path.join(lists.user, "rubbish.pem"), "w") as file:
        file.write("-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n")
    os.mkfifo(os.path.join(lists.user, "pipe.pem"))
    os.remove(listed)
    reload(service)
    assert code(service, service.user) == 200
    assert code(service, service.admin) == 401
    said = service.said()
    for bad, why in (("foreign", "must be owned by root"), ("writable", "must not be writable by group or others"),
                     ("link", "is a symbolic link"), ("rubbish", "not certificates in PEM form"),
                     ("pipe", "not a regular file")):
        assert f"{bad}.pem: {why}" in said


@pytest.mark.parametrize("spoil", [lambda folder: os.chmod(folder, 0o777), lambda folder: os.chown(folder, 65534, 65534),
                                   shutil.rmtree, lambda folder: [open(f"{folder}/{i}.pem", "w").close() for i in range(257)]],
                         ids=["writable", "foreign", "gone", "full"])
def test_a_list_folder_that_root_does_not_own_is_ignored(service, lists, spoil):
    put(service.admin, lists.admin)
    reload(service)
    assert code(service, service.admin) == 200
    before = len(service.journal())
    spoil(lists.admin)
    reload(service)
    assert code(service, service.admin) == 401
    assert "CERTIFICATE_IGNORED" in service.journal()[before:]


@pytest.fixture
def acl():
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("p, reader, /node, GET\ng, alice, reader\n")
        file.flush()
        yield file.name


def test_the_current_access_list_applies_and_the_last_good_one_while_it_is_invalid(acl):
    with Service("optional", f'[access]\npam = true\nacl = "{acl}"\n', accounts=Accounts({"alice": shadowed("a")})) as service:
        def status():
            return ask(service.tls(), "GET", "/v1/node", headers=basic("alice", "a"))[0]

        def write(text):
            with open(acl, "w") as file:
                file.write(text)
            reload(service)
        assert status() == 200
        write("p, reader, /nothing, GET\ng, alice, reader\n")
        assert status() == 403
        write("p, reader, /node, GET\n")
        assert status() == 401, "without a role at all PAM is not asked"
        write("p, reader, /node, G.T\ng, alice, reader\n")
        assert status() == 401
        assert f"{acl}:1: expected methods" in service.journal() and "ACL_NOT_RELOADED" in service.journal()
        write("p, reader, /node, GET\ng, alice, reader\n")
        assert status() == 200


def test_a_wrong_access_list_is_refused_at_the_start(acl):
    os.chmod(acl, 0o666)
    with Service("optional", f'[access]\npam = true\nacl = "{acl}"\n', accounts=Accounts({}), start=False) as service:
        service.spawn()
        assert service.wait_dead() == 78
        assert f"{acl}: must not be writable by group or others" in service.journal()
