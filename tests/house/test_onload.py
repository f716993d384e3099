"""Onload can be left out (NRD_ONLOAD=OFF), so outside of its folders each layer names it in one place."""

import os
import re

from prose import files

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PLACES = {
    "engine": "engine/launch.h",
    "store": "store/store.cc",
    "api": "api/v1/launch.h",
    "daemon": "daemon/launch.h",
    "cli": "cli/acceleration.h",
}
MEMBER = "the member of a workload, which is described once"
RESERVE = "the member of [reserve.kubernetes], which is described once"
EXCEPTIONS = {
    "engine/model/workload.h": MEMBER,
    "engine/model/workload.cc": MEMBER,
    "engine/model/workload_fields.h": MEMBER,
    "engine/plan/grant.cc": MEMBER,
    "api/rmd/wire_shape.h": MEMBER,
    "api/rmd/wire_shape.cc": MEMBER,
    "cli/answer.cc": MEMBER,
    "cli/declare_workload.cc": MEMBER,
    "cli/documents.cc": MEMBER,
    "engine/model/reserves.h": RESERVE,
    "api/v1/node.cc": RESERVE,
    "daemon/reserve_values.h": RESERVE,
    "daemon/reserve_values.cc": RESERVE,
    "api/auth/access.h": "permissions of sockets, in one table",
    "api/routing/authorization.cc": "a refusal, which lists what is allowed",
}


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def core():
    for path in files(ROOT):
        layer = path.split("/")[0]
        if layer in {*PLACES, "base", "hw"} and path.endswith((".cc", ".h")) and "onload" not in path:
            yield layer, path


def test_each_layer_names_onload_in_one_place():
    named = {path for _, path in core() if re.search("onload", read(path), re.I)}
    assert len(list(core())) > 300
    assert named - set(EXCEPTIONS) == set(PLACES.values()), "call a function of the layer's place instead"
    assert set(EXCEPTIONS) - named == set(), "delete these exceptions, they are no longer needed"


def test_only_the_build_chooses_whether_onload_is_there():
    assert [path for _, path in core() if "NRD_ONLOAD" in read(path)] == []
