"""CPUs and tasks of groups, CPUs that come and go, and frequencies."""

import time

CPU = "/sys/devices/system/cpu"
APPLIED = 0.1  # seconds: the kernel applies frequency limits in a worker, after the write has returned


def cpus(s):
    s.mkdir("a")
    s.mkdir("b")
    for text in ("1-3\n", "2", "0,2-3\n", "0-7\n", "\n", "", "3,\n", "1:2\n", "0-7:2/4\n", "3-1\n", "x\n", "99\n", "8\n", "0-8\n", "-1\n", "1 2\n",
                 "0x1\n", "1,,2\n", "all\n", "N\n"):
        s.write("a/cpus_list", text)
        s.read("a/cpus_list")
    for text in ("f\n", "0f", "00000000,0000000f\n", "0\n", "100\n", "1,1\n", "g\n", "0xf\n", "\n", "f0\n"):
        s.write("a/cpus", text)
        s.read("a/cpus")
    s.write("a/cpus_list", "2-5\n")
    s.write("b/cpus_list", "4-6\n")
    s.read("a/cpus_list")
    s.read("cpus_list")
    s.write("cpus_list", "0-3\n")
    s.write("cpus_list", "\n")
    s.write("cpus_list", "0-7\n")
    s.read("b/cpus_list")
    s.write("b/cpus_list", "1\n")
    s.rmdir("b")
    s.read("cpus_list")
    s.rmdir("a")


def tasks(s):
    s.mkdir("a")
    s.mkdir("b")
    shell = s.spawn()
    pid = s.processes[0]
    s.tasks("tasks")
    s.write("a/tasks", f"{pid}\n")
    s.tasks("a/tasks")
    s.tasks("tasks")
    s.shell_spawns(shell)
    s.tasks("a/tasks")
    s.write("b/tasks", f"{pid}")
    s.tasks("a/tasks")
    s.tasks("b/tasks")
    s.shell_spawns(shell)
    s.tasks("b/tasks")
    for text in ("x\n", "-1\n", "", "\n", "999999999\n", "4194304\n", f" {pid} \n", f"{pid},999999999\n", f"999999999,{pid}\n"):
        s.write("a/tasks", text)
        s.tasks("a/tasks")
    s.mkdir("a/mon_groups/m")
    s.write("b/tasks", f"{pid}\n")
    s.write("a/mon_groups/m/tasks", f"{pid}\n")
    s.write("a/tasks", f"{pid}\n")
    s.write("a/mon_groups/m/tasks", f"{pid}\n")
    s.tasks("a/mon_groups/m/tasks")
    s.tasks("a/tasks")
    s.write("a/mon_groups/m/tasks", "999999999\n")
    s.rmdir("a/mon_groups/m")
    s.tasks("a/tasks")
    s.rmdir("a")
    s.tasks("tasks")
    s.rmdir("b")
    s.tasks("tasks")
    s.end(shell)


def hotplug(s):
    """CPUs 4 to 7 are those of the second cache."""
    s.mkdir("a")
    s.write("a/cpus_list", "2-5\n")
    s.read(f"{CPU}/cpu5/topology/thread_siblings_list")
    s.read(f"{CPU}/cpu5/cache/index3/shared_cpu_list")
    s.read(f"{CPU}/cpu5/online")
    s.write(f"{CPU}/cpu5/online", "x\n")
    s.write(f"{CPU}/cpu5/online", "2\n")
    s.write(f"{CPU}/cpu5/online", "1\n")
    s.write(f"{CPU}/cpu5/online", "0\n")
    s.write(f"{CPU}/cpu5/online", "0")
    s.read(f"{CPU}/online")
    s.read(f"{CPU}/offline")
    s.list(f"{CPU}/cpu5/topology")
    s.read(f"{CPU}/cpu4/cache/index3/shared_cpu_list")
    s.read("a/cpus_list")
    s.read("cpus_list")
    s.write("a/cpus_list", "2-5\n")
    for cpu in (4, 6, 7):
        s.write(f"{CPU}/cpu{cpu}/online", "0\n")
    s.read("schemata")
    s.read("a/size")
    s.read("info/L3/bit_usage")
    s.list("a/mon_data")
    s.mkdir("b")
    s.read("b/schemata")
    for cpu in range(4, 8):
        s.write(f"{CPU}/cpu{cpu}/online", "1\n")
    s.read("a/cpus_list")
    s.read("cpus_list")
    s.read("b/schemata")
    s.list("a/mon_data")
    s.rmdir("a")
    s.rmdir("b")


def frequencies(s):
    policy = f"{CPU}/cpu5/cpufreq"
    names = ("affected_cpus", "related_cpus", "cpuinfo_max_freq", "cpuinfo_min_freq", "scaling_driver", "scaling_available_governors",
             "scaling_governor", "scaling_max_freq", "scaling_min_freq", "energy_performance_preference",
             "energy_performance_available_preferences", "base_frequency")
    for name in names:
        s.read(f"{policy}/{name}")
    s.read(f"{CPU}/intel_pstate/status")
    s.read(f"{CPU}/intel_pstate/no_turbo")
    for name, text in (
            ("scaling_max_freq", "3000000\n"), ("scaling_max_freq", "3000000"), ("scaling_max_freq", "3050000\n"),
            ("scaling_min_freq", "2000000\n"), ("scaling_min_freq", "3300000\n"), ("scaling_max_freq", "1000000\n"),
            ("scaling_max_freq", "99999999\n"), ("scaling_min_freq", "0\n"), ("scaling_max_freq", "0\n"), ("scaling_max_freq", "x\n"),
            ("scaling_max_freq", "-1\n"), ("scaling_max_freq", ""), ("scaling_min_freq", "800000\n"), ("scaling_max_freq", "3500000\n"),
            ("scaling_governor", "performance\n"), ("energy_performance_preference", "power\n"), ("scaling_governor", "ondemand\n"),
            ("scaling_governor", "powersave"), ("energy_performance_preference", "power\n"), ("energy_performance_preference", "nonsense\n"),
            ("energy_performance_preference", "default\n"), ("scaling_driver", "x\n"), ("cpuinfo_max_freq", "1\n")):
        s.write(f"{policy}/{name}", text)
        time.sleep(APPLIED)
        s.read(f"{policy}/{'scaling_governor' if name == 'scaling_governor' else name}")
    for name in ("scaling_max_freq", "scaling_min_freq"):
        s.read(f"{policy}/{name}")
    s.write(f"{CPU}/cpu5/online", "0\n")
    s.read(f"{policy}/scaling_max_freq")
    s.write(f"{CPU}/cpu5/online", "1\n")
    s.read(f"{policy}/scaling_max_freq")


ALL = [cpus, tasks, hotplug, frequencies]
