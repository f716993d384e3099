"""What fails: no container that asks for a device starts without its grant, and none keeps one."""

import pytest

from processes import wait_for
from test_ways import WAYS, await_no_workloads

PROGRAMS = ["client", "nrd", "kubelet", "containerd"]
pytestmark = pytest.mark.usefixtures("devices")


def restart(worker, *names):
    """All of them are dead at the same time. Kubelet ends by itself if the runtime does not answer when it starts."""
    for name in names:
        getattr(worker, name).kill9()
    for name in sorted(names, key=["containerd", "nrd", "kubelet", "client"].index):
        if name == "containerd":
            worker.start_containerd()
        else:
            getattr(worker, name).start()
        if name == "nrd":
            worker.await_nrd()


def assert_holds(worker, pod):
    """The pod has its grant, its processes are in the class, and nothing else is granted."""
    def holds():
        workloads = worker.workloads()
        return len(workloads) == 1 and workloads[0]["labels"]["pod"] == pod and worker.processes_of(workloads[0]) <= worker.tasks_of(workloads[0]) and workloads[0]
    return wait_for(holds, f"the grant of {pod} alone; there are {worker.workloads()}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_running_container_is_untouched_by_kill_9(cluster, worker, name):
    before = cluster.run_pod("feed", limits={WAYS: 2})
    pids = worker.waiting_processes_of(worker.workload_of("feed"))
    restart(worker, name)
    after = cluster.await_running("feed")
    workload = assert_holds(worker, "feed")
    assert worker.processes_of(workload) == pids
    assert [each["restartCount"] for each in after["status"]["containerStatuses"]] == [each["restartCount"] for each in before["status"]["containerStatuses"]]
    cluster.run_pod("next", limits={WAYS: 3})
    cluster.delete_pod("feed")
    cluster.delete_pod("next")
    await_no_workloads(worker)


def test_without_nrd_no_container_starts_and_all_do_once_it_is_back(cluster, worker):
    worker.nrd.kill9()
    cluster.create_pod("feed", limits={WAYS: 2})
    cluster.await_event("feed", "nrd does not answer on this node")
    assert cluster.api.get("Pod", "feed")["status"]["phase"] == "Pending"
    worker.nrd.start()
    cluster.await_running("feed")
    assert_holds(worker, "feed")


def test_without_the_client_no_pod_is_placed_and_all_are_once_it_is_back(cluster, worker):
    worker.client.kill9()
    worker.await_allocatable(WAYS, 0)
    cluster.create_pod("feed", limits={WAYS: 2})
    cluster.await_event("feed", f"Insufficient {WAYS}")
    worker.client.start()
    cluster.await_running("feed")
    assert_holds(worker, "feed")


def test_without_nri_no_container_starts_and_all_do_once_it_is_on(cluster, worker):
    worker.containerd.kill9()
    worker.make_containerd(nri=False)
    worker.start_containerd()
    cluster.create_pod("feed", limits={WAYS: 2})
    cluster.await_event("feed", "is not connected to the container runtime")
    worker.containerd.kill9()
    worker.make_containerd()
    worker.start_containerd()
    cluster.await_running("feed")
    assert_holds(worker, "feed")


@pytest.mark.parametrize("names", [PROGRAMS, ["client", "nrd"], ["kubelet", "containerd"]], ids="-".join)
def test_a_running_container_is_untouched_when_several_die(cluster, worker, names):
    cluster.run_pod("feed", limits={WAYS: 2})
    pids = worker.waiting_processes_of(worker.workload_of("feed"))
    restart(worker, *names)
    assert worker.processes_of(assert_holds(worker, "feed")) == pids
    cluster.run_pod("next", limits={WAYS: 3})


def test_a_client_beside_one_that_hangs_has_the_devices_also_when_that_has_ended(cluster, worker):
    former = worker.client
    former.stop()
    worker.make_client()
    worker.client.start()
    worker.await_devices()
    former.kill9()
    cluster.run_pod("feed", limits={WAYS: 5})
    worker.await_devices()


def test_an_nrd_that_answers_too_late_counts_as_away(cluster, worker):
    worker.nrd.stop()
    try:
        cluster.create_pod("feed", limits={WAYS: 2})
        cluster.await_event("feed", "nrd does not answer on this node")
    finally:
        worker.nrd.proceed()
    cluster.await_running("feed")
    assert_holds(worker, "feed")


def test_a_running_container_has_its_grant_again_when_nrds_state_is_lost(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    before = worker.workload_of("feed")
    pids = worker.waiting_processes_of(before)
    worker.nrd.kill9()
    assert worker.place.run("rm", "-r", f"{worker.folder}/state").returncode == 0
    worker.nrd.start()
    worker.await_nrd()
    assert worker.processes_of(assert_holds(worker, "feed")) == pids
    # To an nrd without its state the class of before, which is empty now, is another program's.
    worker.place.run(*worker.place.of_nrd("rmdir", f"/sys/fs/resctrl/{before['cos_name']}"))


def test_a_pod_deleted_while_the_client_is_down_keeps_no_grant(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    worker.client.kill9()
    cluster.delete_pod("feed", grace=0)
    worker.client.start()
    await_no_workloads(worker)


def test_the_api_server_may_be_away(cluster, worker):
    cluster.run_pod("feed", limits={WAYS: 2})
    cluster.processes["kube-apiserver"].kill9()
    assert_holds(worker, "feed")
    cluster.processes["kube-apiserver"].start()
    cluster.await_apiserver()
    assert_holds(worker, "feed")
