"""What a client discovers without documents: links at / and /v1, and the description of the API."""

import os

from harness import Node
from test_openapi import OPERATIONS, ROOT


def test_the_daemon_serves_this_description_without_its_file():
    with open(os.path.join(ROOT, "docs", "openapi.yaml")) as file:
        text = file.read()
    with Node() as node:
        status, served, headers = node.request("GET", "/v1/openapi.yaml", headers={"Accept": "application/yaml"})
        assert (status, served, headers["Content-Type"]) == (200, text, "application/yaml")
        status, served, again = node.request("GET", "/v1/openapi.yaml", headers={"If-None-Match": headers["ETag"]})
        assert (status, served, again["ETag"]) == (304, "", headers["ETag"])
        assert node.request("GET", "/v1/openapi.yaml", headers={"If-None-Match": '"other"'})[0] == 200
        for accept, status in (("application/yaml;q=0", 406), ("image/png", 406), ("*/*", 200), ("application/json", 200)):
            assert node.request("GET", "/v1/openapi.yaml", headers={"Accept": accept})[0] == status, accept
        assert node.request("GET", "/v1/node", headers={"Accept": "application/yaml"})[0] == 406


def test_every_link_leads_to_a_path_and_none_is_missing():
    with Node(config=f'[policy]\nfile = "{os.path.abspath(ROOT)}/etc/policy.toml"\n') as node:
        for path in ("/", "/v1"):
            links = node.call("GET", path)["links"]
            for href in links.values():
                assert node.request("GET", href)[0] == 200, href
        assert {f"/v1/{name}" for name in links} == set(links.values()) == {
            path for method, path in OPERATIONS if method == "get" and "{" not in path and path.startswith("/v1/")}
        assert node.call("GET", "/v1/") == node.call("GET", "/v1")
