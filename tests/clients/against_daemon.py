"""Runs promtool over the metrics of the real daemon, and each client against it. Arguments: promtool, command of a client..."""

import subprocess
import sys
import time

from harness import Node

promtool, *clients = sys.argv[1:]
with Node(machine="sapphire-rapids", cpufreq="intel_pstate") as node:
    for client in clients:
        subprocess.run([*client.split(), f"http://127.0.0.1:{node.port}"], check=True, timeout=120)
    body = {"core_ids": ["8"], "cache": {"max": 2, "min": 2}, "pstate": {"min_mhz": 2000, "max_mhz": 3000}}
    node.call("POST", "/v1/workloads", body)
    node.request("GET", "/metrics")
    time.sleep(1.5)  # for a second sample, and so for rates
    for _ in range(2):
        metrics = node.request("GET", "/metrics")[1]
    checked = subprocess.run([promtool, "check", "metrics"], input=metrics, text=True, capture_output=True)
    assert checked.returncode == 0 and not checked.stderr, checked.stderr
