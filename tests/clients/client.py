"""Creates, changes and deletes a workload with the client that openapi-python-client generates. Argument: URL of the daemon."""

import sys

from nrd_client import Client
from nrd_client.api.workloads import create_workload, delete_workload, list_workloads, patch_workload, show_workload
from nrd_client.models.workload import Workload
from nrd_client.models.workload_patch import WorkloadPatch

client = Client(base_url=sys.argv[1], headers={"Accept": "application/json"})
made = create_workload.sync_detailed(client=client, body={"core_ids": ["4-7"], "cache": {"max": 3, "min": 3}, "uuid": "python"})
assert made.status_code == 201 and isinstance(made.parsed, Workload), made
id = made.parsed.id
changed = patch_workload.sync_detailed(id, client=client, body=WorkloadPatch.from_dict({"cache": {"max": 2, "min": 2}}))
assert changed.status_code == 200 and isinstance(changed.parsed, Workload), changed
assert changed.parsed.granted_ways["0"].ways == 2
shown = show_workload.sync(id, client=client)
assert isinstance(shown, Workload) and shown.uuid == "python", shown
refused = create_workload.sync_detailed(client=client, body={"core_ids": ["4"], "cache": {"max": 1, "min": 1}})
assert refused.status_code == 400 and b"CpuTaken" in refused.content, refused
assert delete_workload.sync_detailed(id, client=client).status_code == 200
assert list_workloads.sync(client=client) == []
