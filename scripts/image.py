#!/usr/bin/env python3
"""image.py ARCH VERSION COMMIT FOLDER... FILE.oci.tar: writes an OCI image whose layers are the folders, the lowest first.

Equal folders and an equal SOURCE_DATE_EPOCH give equal bytes: names are sorted, root owns all, and the time of
all is that one. The form is the OCI image layout 1.0 in a tar, which podman, skopeo, docker and containerd load.
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
CONFIG = {
    "User": "65532:65532",
    "WorkingDir": "/out",
    "Entrypoint": ["/usr/local/bin/raybridge"],
    # The live page of the city, at port 7741 of the container; another command line takes its place.
    "Cmd": ["run", "--realtime", "--view", "--api", "0.0.0.0:7741"],
    "Env": [
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "XDG_CACHE_HOME=/tmp/.cache",
        # NVIDIA's runtime mounts the driver of the host; graphics is its EGL and OpenGL.
        "NVIDIA_VISIBLE_DEVICES=all",
        "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility",
    ],
    # Docker's; podman reads none from an OCI image. It asks /healthz of --api at RAYBRIDGE_API, else 127.0.0.1:7741.
    "Healthcheck": {"Test": ["CMD", "/usr/local/bin/raybridge", "ctl", "health"], "Interval": 10_000_000_000, "Timeout": 3_000_000_000,
                    "StartPeriod": 30_000_000_000, "Retries": 3},
}


def add(archive, name, path):
    """One file of a folder, or the folder's own entry."""
    archive.inodes.clear()  # hard links become files of their own
    entry = archive.gettarinfo(path, name)
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = EPOCH
    if entry.isreg():
        with open(path, "rb") as f:
            archive.addfile(entry, f)
    else:
        archive.addfile(entry)


def layer(folder):
    """A folder as a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for at, folders, files in os.walk(folder):
            folders.sort()
            links = [name for name in folders if os.path.islink(os.path.join(at, name))]
            below = os.path.relpath(at, folder)
            if below != ".":
                add(archive, below, at)
            for name in sorted(files + links):
                add(archive, os.path.normpath(os.path.join(below, name)), os.path.join(at, name))
    return out.getvalue()


def main():
    arch, version, commit, *folders, path = sys.argv[1:]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    blobs = {}

    def blob(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + digest, "size": len(data)}

    plain = [layer(folder) for folder in folders]
    layers = [blob("layer.v1.tar+gzip", gzip.compress(data, 9, mtime=0)) for data in plain]
    config = dict(CONFIG, Labels={
        "org.opencontainers.image.title": "raybridge",
        "org.opencontainers.image.description": "Camera and lidar data of a 3-D scene, for robot software",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.licenses": "Apache-2.0",
    })
    image = {"created": created, "architecture": arch, "os": "linux", "config": config,
             "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest() for data in plain]},
             "history": [{"created": created, "created_by": "scripts/image.sh"} for _ in plain]}
    config_blob = blob("config.v1+json", json.dumps(image, sort_keys=True).encode())
    manifest = blob("manifest.v1+json", json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config_blob, "layers": layers}, sort_keys=True).encode())
    index = {"schemaVersion": 2, "manifests": [dict(manifest, platform={"architecture": arch, "os": "linux"},
                                                    annotations={"org.opencontainers.image.ref.name": "raybridge:" + version})]}
    # What `docker save` writes: the image store of Docker that isn't containerd's reads this alone.
    saved = [{"Config": "blobs/sha256/" + config_blob["digest"][7:], "RepoTags": ["raybridge:" + version],
              "Layers": ["blobs/sha256/" + entry["digest"][7:] for entry in layers]}]
    files = {"manifest.json": json.dumps(saved).encode(), "oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index, sort_keys=True).encode()}
    files.update(("blobs/sha256/" + digest, data) for digest, data in blobs.items())
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), EPOCH, 0o644
            archive.addfile(entry, io.BytesIO(data))
    print(path)


main()
