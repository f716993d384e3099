"""Reloads of what decides on access: roles, local sockets, passwords, TLS files; and who may reload."""

import json
import os
import stat

import pytest

from harness import replace, wait_for
from shared_node import emptied
from fixtures import CLIENT, SERVER, Accounts, Authority, Service, ask, basic, name, shadowed, socket_for
from unix_clients import Client

SOMEGROUP = 60  # `games`


def write(service, text):
    replace(service.config, text)


def read(path):
    with open(path) as file:
        return file.read()


def text_of(service):
    return read(service.config)


def reload(service):
    """As root, on the local socket: status and answer."""
    status, text, _ = ask(service.unix(), "POST", "/v1/config/reload", "{}", {"Content-Type": "application/json",
                                                                             "Accept": "application/json, application/problem+json"})
    return status, json.loads(text)


@pytest.fixture
def service(shared):
    """After each test it has the files of the start again."""
    before, certificate = text_of(shared), read(shared.server)
    yield from emptied(shared)
    replace(shared.server, certificate)
    write(shared, before)
    assert reload(shared)[0] == 200


def code(connection, method="GET", path="/v1/node"):
    body = "{}" if method == "POST" else None
    return ask(connection, method, path, body, {"Content-Type": "application/json"})[0]


def test_only_administrators_see_and_reload_the_configuration(service):
    for method, path in (("GET", "/v1/config"), ("POST", "/v1/config/reload")):
        assert code(service.tls(service.admin), method, path) == 200
        assert code(service.tls(service.user), method, path) == 403
        assert code(service.unix(), method, path) == 200
    wait_for(lambda: "AUDIT_CHANGE: Alice" in service.said(), "the audit line")
    assert "POST /v1/config/reload: 200" in service.said() and "POST /v1/config/reload: 403" in service.said()


def test_roles_of_subjects_change_for_open_connections(service):
    kept = service.tls(service.user)
    assert code(kept, "POST", "/v1/config/reload") == 403
    write(service, text_of(service) + '[roles]\nadmin = ["CN=Eli", "OU=Admin"]\nuser = []\n')
    assert [change["key"] for change in reload(service)[1]["changed"]] == ["roles.admin", "roles.user"]
    assert code(service.tls(service.user), "POST", "/v1/config/reload") == 200
    write(service, text_of(service).replace('"CN=Eli", ', ""))
    reload(service)
    assert code(service.tls(service.user)) == 401
    assert code(service.tls(service.admin)) == 200


def test_users_of_a_socket_change_and_its_mode_with_them(service):
    def mode():
        found = os.stat(service.socket)
        return stat.S_IMODE(found.st_mode), found.st_gid

    own = socket_for(admin=["root", "@nogroup"])
    assert mode() == (0o660, 65534)
    write(service, text_of(service).replace(own, socket_for(user=["@games"])))
    status, report = reload(service)
    assert (status, [change["key"] for change in report["changed"]]) == (200, ["server.sockets"])
    assert mode() == (0o660, SOMEGROUP)
    with Client(service.socket, group=SOMEGROUP) as call:
        assert [call.request("GET", path)[0] for path in ("/v1/node", "/v1/config")] == [200, 403]
    write(service, text_of(service).replace(socket_for(user=["@games"]), socket_for()))
    reload(service)
    assert mode() == (0o600, 0)
    assert code(service.unix()) == 200


def test_another_path_of_a_socket_needs_a_restart(service, tmp_path):
    write(service, text_of(service) + socket_for(path=str(tmp_path / "more.sock"), user=["@games"]))
    status, report = reload(service)
    assert (status, [change["key"] for change in report["restart_required"]]) == (200, ["server.sockets"])
    assert not (tmp_path / "more.sock").exists()


def test_tls_files_at_other_paths_are_used_and_bad_ones_change_nothing(service):
    second = service.authority.sign("second.pem", name("second"), SERVER, hosts=["127.0.0.1"])
    write(service, text_of(service).replace(service.server, second))
    assert [change["key"] for change in reload(service)[1]["changed"]] == ["tls.certificate", "tls.key"]
    os.unlink(service.server)
    assert code(service.tls(service.admin)) == 200
    broken = os.path.join(service.pki, "broken.pem")
    with open(broken, "w") as file:
        file.write("no certificate")
    good = text_of(service)
    write(service, good.replace(second, broken) + '[roles]\nadmin = ["CN=Mallory"]\n')
    status, problem = reload(service)
    assert status == 400 and broken in problem["detail"]
    assert problem["detail"].startswith(service.config + ":")
    assert code(service.tls(service.admin)) == 200
    assert code(service.tls(service.admin), "GET", "/v1/config") == 200
    other = Authority(service.pki, "Other")
    write(service, good.replace(service.authority.path, other.path))
    assert reload(service)[0] == 200
    stranger = service.tls(other.sign("stranger.pem", name("Bo", "Admin"), CLIENT))
    assert code(stranger) == 200


def test_https_is_switched_by_a_restart(service):
    text = text_of(service)
    write(service, text[:text.index("[tls]")])
    status, report = reload(service)
    assert status == 200 and len(report["restart_required"]) == 3
    assert code(service.tls(service.admin)) == 200


def test_passwords_are_switched_on_and_off():
    accounts = Accounts({"alice": shadowed("secret")})
    with Service(client_auth="optional", accounts=accounts) as service:
        def log_in():
            return ask(service.tls(), "GET", "/v1/node", headers=basic("alice", "secret"))[0]

        assert log_in() == 401
        text = text_of(service)
        for _ in range(2):
            write(service, text + '[access]\npam = true\n[roles]\npam_user = ["alice"]\n')
            assert reload(service)[0] == 200
            assert log_in() == 200
            write(service, text)
            assert reload(service)[0] == 200
            assert log_in() == 401
        write(service, text + '[access]\npam = true\npam_service = "none-such"\n')
        status, problem = reload(service)
        assert status == 400 and "/etc/pam.d/none-such is missing" in problem["detail"]


def test_an_access_list_is_switched_on_and_a_bad_one_refused():
    accounts = Accounts({"alice": shadowed("secret")})
    with Service(client_auth="optional", accounts=accounts, more='[access]\npam = true\n[roles]\npam_user = ["alice"]\n') as service:
        def log_in(path):
            return ask(service.tls(), "GET", path, headers=basic("alice", "secret"))[0]

        assert log_in("/v1/node") == 200
        acl = os.path.join(service.pki, "acl.csv")
        with open(acl, "w") as file:
            file.write("p, user, /workloads, GET\ng, alice, user\n")
        os.chmod(acl, 0o600)
        write(service, text_of(service).replace('[roles]\npam_user = ["alice"]\n', f'acl = "{acl}"\n'))
        status, problem = reload(service)
        assert status == 200, problem
        assert (log_in("/v1/workloads"), log_in("/v1/node")) == (200, 403)
        with open(acl, "w") as file:
            file.write("p, user\n")
        assert reload(service)[0] == 400
        assert log_in("/v1/workloads") == 200


@pytest.mark.parametrize("folder", ["admin_certificates", "user_certificates"])
def test_folders_of_certificates_are_switched_on(service, folder, tmp_path):
    os.chmod(tmp_path, 0o700)
    write(service, text_of(service) + f'[access]\n{folder} = "{tmp_path}"\n')
    status, problem = reload(service)
    assert status == 200, problem
    assert code(service.tls(service.admin)) == 401  # not listed
    assert code(service.unix()) == 200
