"""Creates, changes and deletes a workload with the Python client that openapi-generator generates. Argument: URL of the daemon."""

import sys

from openapi_client import ApiClient, Configuration, WorkloadsApi
from openapi_client.exceptions import ApiException
from openapi_client.models.workload_request import WorkloadRequest
from openapi_client.models.cache_request import CacheRequest
from openapi_client.models.workload_patch import WorkloadPatch

workloads = WorkloadsApi(ApiClient(Configuration(host=sys.argv[1])))
made = workloads.create_workload(WorkloadRequest.from_dict({"core_ids": ["4-7"], "cache": {"max": 3, "min": 3}, "uuid": "generator"}))
changed = workloads.patch_workload(made.id, WorkloadPatch(cache=CacheRequest(max=2, min=2)))  # from_dict() would send null for all others
assert changed.actual_instance.granted_ways["0"].ways == 2, changed
assert workloads.show_workload(made.id).uuid == "generator"
try:
    workloads.create_workload(WorkloadRequest.from_dict({"core_ids": ["4"], "cache": {"max": 1, "min": 1}}))
    raise AssertionError("CPU 4 was granted twice")
except ApiException as refused:
    assert refused.status == 400, refused
workloads.delete_workload(made.id)
assert workloads.list_workloads() == []
