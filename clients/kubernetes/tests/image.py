"""Writes OCI archives from files of this machine: what containers of the tests run."""

import gzip
import hashlib
import io
import json
import tarfile

APPLETS = "sh,sleep,cat,grep,taskset,nproc,ls,ps,env,echo,kill,head,awk,sed,true,false,date,id,readlink,mkdir,sync"


def layer(files):
    """An uncompressed layer: {path in the image: (content, [names of links beside it])}."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as tar:
        for folder in ("bin", "etc", "proc", "sys", "dev", "run", "tmp", "var"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for path, (content, links) in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
            for link in links:
                entry = tarfile.TarInfo(path.lstrip("/").rsplit("/", 1)[0] + "/" + link)
                entry.type, entry.linkname = tarfile.SYMTYPE, path
                tar.addfile(entry)
    return memory.getvalue()


def write(archive, name, files, **config):
    """config: Entrypoint, Cmd."""
    raw = layer(files)
    blobs = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    image = {"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], **config},
             "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(raw).hexdigest()]}}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": blob(json.dumps(image).encode(), "config.v1+json"),
                "layers": [blob(gzip.compress(raw, 1, mtime=0), "layer.v1.tar+gzip")]}
    described = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    described["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rsplit(":", 1)[1]}
    with tarfile.open(archive, "w") as tar:
        def add(path, content):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add("index.json", json.dumps({"schemaVersion": 2, "manifests": [described]}).encode())
        for digest, content in blobs.items():
            add(f"blobs/sha256/{digest}", content)


def write_busybox(archive, name, busybox, **config):
    with open(busybox, "rb") as program:
        write(archive, name, {"/bin/busybox": (program.read(), APPLETS.split(","))}, **config)
