"""What runs in the virtual machine: it does what machine.py asks, one JSON object a line over a virtio serial port.

    {"id": 7, "do": "run", "argv": ["uname", "-r"], "timeout": 30}
    {"id": 7, "ok": {"returncode": 0, "stdout": "6.1.0-56-amd64\n", "stderr": ""}}

Each request is served by a thread of its own, so one that takes its time does not hold up the others. Bytes that are no
UTF-8 travel as surrogates. An OSError is answered with its errno, so that the other side can raise the same.

The first process collects whatever ends without a parent; the agent itself is its child. Where the first process is a
systemd, the agent is a service.
"""

import ctypes
import errno
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

OUTPUT_LIMIT = 8 << 20  # bytes of each stream that are sent
RB_AUTOBOOT = 0x1234567
FINIT_MODULE, DELETE_MODULE = 313, 176  # system calls of x86-64
REMOVED = {errno.ENOENT, errno.ENODEV}  # what a file of resctrl says before and after it was opened

_send_lock = threading.Lock()
_spawned = {}


def text(data):
    return data[:OUTPUT_LIMIT].decode("utf-8", "surrogateescape")


def environment(changes):
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
            **(changes or {})}


def run(argv, timeout, stdin="", env=None, cwd="/"):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(env), cwd=cwd, start_new_session=True)
    timed_out = False
    try:
        out, err = process.communicate(stdin.encode("utf-8", "surrogateescape"), timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = _remains(process)
    return {"returncode": process.returncode, "stdout": text(out), "stderr": text(err), "timed_out": timed_out}


def _remains(process):
    """The output of a killed command. Processes that it left behind may hold its pipes open: do not wait for them."""
    try:
        return process.communicate(timeout=2)
    except subprocess.TimeoutExpired as partial:
        return partial.stdout or b"", partial.stderr or b""


def spawn(argv, env=None, cwd="/"):
    number = len(_spawned)
    with open(f"/run/vm/out.{number}", "wb") as output:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env=environment(env), cwd=cwd, start_new_session=True)
    _spawned[process.pid] = process, output.name
    return {"pid": process.pid}


def wait(pid, timeout):
    """The exit status of what was spawned, None if it has not ended in time."""
    try:
        return {"returncode": _spawned[pid][0].wait(timeout)}
    except subprocess.TimeoutExpired:
        return {"returncode": None}


def output(pid):
    with open(_spawned[pid][1], "rb") as file:
        return {"output": text(file.read(OUTPUT_LIMIT))}


def kill(pid, number):
    # Not os.kill: after a process was waited for, its pid may belong to another one.
    _spawned[pid][0].send_signal(number)
    return {}


def read(path):
    """In small reads: files of /proc allocate as much as is asked for."""
    content = b""
    with open(path, "rb", buffering=0) as file:
        while len(content) < OUTPUT_LIMIT and (part := file.read(65536)):
            content += part
    return {"content": text(content)}


def write(path, content):
    """One write(2), as the kernel's files want it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, content.encode("utf-8", "surrogateescape"))
    finally:
        os.close(descriptor)
    return {}


def msrs(places):
    """Registers of CPUs, from the devices of the module msr."""
    values = []
    for cpu, number in places:
        descriptor = os.open(f"/dev/cpu/{cpu}/msr", os.O_RDONLY | os.O_CLOEXEC)
        try:
            values.append(int.from_bytes(os.pread(descriptor, 8, number), "little"))
        finally:
            os.close(descriptor)
    return {"values": values}


def tree(path, without):
    files = {}
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - set(without))
        files[os.path.join(os.path.relpath(folder, path), "")] = None
        for name in sorted(set(names) - set(without)):
            where = os.path.join(folder, name)
            try:
                if os.access(where, os.R_OK) and os.stat(where).st_mode & 0o444:
                    files[os.path.relpath(where, path)] = read(where)["content"]
            except OSError as error:
                if error.errno not in REMOVED:
                    raise
    return {"files": files}


def exchange(path, content, timeout):
    """All that the Unix socket says to this until it ends. No program is started for it, which takes an emulated machine
    much longer."""
    said = b""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(timeout)
        peer.connect(path)
        peer.sendall(content.encode("utf-8", "surrogateescape"))
        while len(said) < OUTPUT_LIMIT and (part := peer.recv(65536)):
            said += part
    return {"content": text(said)}


def await_listener(path, pid, timeout):
    """Until the Unix socket takes connections or what was spawned has ended. To ask again and again from the host costs as much
    of an emulated processor as the daemon's start."""
    deadline = time.monotonic() + timeout
    while _spawned[pid][0].poll() is None and time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as peer:
            if peer.connect_ex(path) == 0:
                break
        time.sleep(0.02)
    return {}


def _system_call(number, *arguments):
    if ctypes.CDLL(None, use_errno=True).syscall(number, *arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return {}


def insert(path, parameters):
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _system_call(FINIT_MODULE, descriptor, parameters.encode(), 0)
    finally:
        os.close(descriptor)


def remove(name):
    return _system_call(DELETE_MODULE, name.encode(), os.O_NONBLOCK)


def reboot():
    """As an init: SIGTERM and then SIGKILL for every process, and a clean file system."""
    for number, patience in (signal.SIGTERM, 5), (signal.SIGKILL, 2):
        for pid in _others():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + patience
        while _others() and time.monotonic() < deadline:
            time.sleep(0.02)
    os.sync()
    subprocess.run(["umount", "/share"], env=environment(None), check=False)
    ctypes.CDLL(None).reboot(RB_AUTOBOOT)


def _others():
    """Processes but the first, this one and the kernel's, which have no command line. A zombie has none either."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as file:
                if pid not in (1, os.getpid()) and file.read(1):
                    found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


ACTS = {act.__name__: act for act in (run, spawn, wait, output, kill, read, write, msrs, tree, exchange, await_listener, insert, remove, reboot)}


def serve(port, line):
    request = json.loads(line)
    number, act = request.pop("id"), ACTS[request.pop("do")]
    try:
        answer = {"id": number, "ok": act(**request)}
    except OSError as error:
        answer = {"id": number, "errno": error.errno, "path": str(error.filename or request.get("path", "")), "said": str(error)}
    except Exception as error:  # a bug of the asker or of this file: it has to be seen where it is looked for
        answer = {"id": number, "errno": 0, "path": "", "said": f"{type(error).__name__}: {error}"}
    send(port, answer)


def send(port, message):
    data = json.dumps(message).encode() + b"\n"
    with _send_lock:
        while data:
            data = data[os.write(port, data):]


def port_named(name):
    for path in glob.glob("/sys/class/virtio-ports/*/name"):
        with open(path) as file:
            if file.read().strip() == name:
                return "/dev/" + path.split("/")[4]
    sys.exit(f"vm-agent: no port is named {name}")


def agent():
    port = os.open(port_named("nrd.vm.agent"), os.O_RDWR | os.O_CLOEXEC)
    send(port, {"hello": os.uname().release})
    pending = b""
    while data := os.read(port, 65536):
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            threading.Thread(target=serve, args=(port, line), daemon=True).start()


def main():
    if os.getpid() != 1:
        agent()
        return
    child = os.fork()
    if child == 0:
        agent()
        return
    while os.wait()[0] != child:
        pass
    print("vm-agent: ended; so does the machine", flush=True)
    ctypes.CDLL(None).reboot(RB_AUTOBOOT)


main()
