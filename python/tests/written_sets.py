"""Writes small sets of nuScenes, COCO and KITTI with numpy alone, from the descriptions of their formats.

It shares no code with raybridge, so that what reads such sets is tested against something else: python3 written_sets.py DIR
writes DIR/nuscenes, DIR/coco, and DIR/kitti with objects and odometry. All are of one little world, in which rays are cast at boxes. Each
function returns what it wrote, in the ego's frame and in metres.
"""
import hashlib
import json
import os
import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT, FOCAL = 64, 48, 40.0
CAMERA = (1.5, 0.0, 1.6)  # in the ego's frame, looking ahead
LIDAR = (1.0, 0.0, 1.8)
RADAR = (3.5, 0.0, 0.5)
RINGS, COLUMNS = 16, 120
STEP = 0.5  # seconds between key frames
EPOCH = 1_700_000_000_000_000  # microseconds

# id: category, attribute, length, width and height, x and y at time 0, velocity, yaw
OBJECTS = {
    1: ("vehicle.car", "vehicle.moving", (4.5, 1.9, 1.5), (62.0, 50.0), (4.0, 0.5), 0.12),
    2: ("vehicle.car", "vehicle.parked", (4.2, 1.8, 1.6), (58.0, 55.0), (0.0, 0.0), 0.7),
    3: ("human.pedestrian.adult", "pedestrian.moving", (0.6, 0.7, 1.8), (54.0, 47.0), (0.0, 1.0), 1.5708),
    4: ("movable_object.barrier", "", (0.5, 2.0, 1.0), (52.0, 56.0), (0.0, 0.0), -0.4),
}
COLOURS = {0: (90, 90, 90), 1: (200, 40, 40), 2: (40, 60, 210), 3: (230, 200, 60), 4: (220, 120, 30), -1: (140, 180, 230)}

LIDARSEG = """noise animal human.pedestrian.adult human.pedestrian.child human.pedestrian.construction_worker human.pedestrian.personal_mobility
human.pedestrian.police_officer human.pedestrian.stroller human.pedestrian.wheelchair movable_object.barrier movable_object.debris
movable_object.pushable_pullable movable_object.trafficcone static_object.bicycle_rack vehicle.bicycle vehicle.bus.bendy vehicle.bus.rigid vehicle.car
vehicle.construction vehicle.emergency.ambulance vehicle.emergency.police vehicle.motorcycle vehicle.trailer vehicle.truck flat.driveable_surface
flat.other flat.sidewalk flat.terrain static.manmade static.other static.vegetation vehicle.ego""".split()


def ego_at(t):
    """Where the ego is: x, y and yaw."""
    return 40 + 5 * t, 50 + 0.3 * t, 0.06 * t


def object_at(id, t):
    _, _, size, at, velocity, yaw = OBJECTS[id]
    return np.array((at[0] + velocity[0] * t, at[1] + velocity[1] * t, size[2] / 2)), yaw, size


def turned(points, yaw):
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack((c * points[..., 0] - s * points[..., 1], s * points[..., 0] + c * points[..., 1], points[..., 2]), -1)


def to_global(points, t):
    x, y, yaw = ego_at(t)
    return turned(np.asarray(points, float), yaw) + (x, y, 0)


def to_ego(points, t):
    x, y, yaw = ego_at(t)
    return turned(np.asarray(points, float) - (x, y, 0), -yaw)


def cast(origin, directions, t):
    """Cast rays of the ego's frame: how far each goes, and what it hits: an object's id, 0 for the ground, -1 for the sky."""
    start, rays = to_global(origin, t), turned(directions, ego_at(t)[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(rays[..., 2] < 0, -start[2] / rays[..., 2], np.inf)
        hit = np.where(far < 60, 0, -1)
        far = np.where(far < 60, far, np.inf)
        for id in OBJECTS:
            centre, yaw, size = object_at(id, t)
            half = np.array(size) / 2 - 0.01  # what is seen lies within the box
            a, d = turned(start - centre, -yaw), turned(rays, -yaw)
            one, two = (-half - a) / d, (half - a) / d
            near, leave = np.minimum(one, two).max(-1), np.maximum(one, two).min(-1)
            nearer = (near < leave) & (near > 0) & (near < far)
            far, hit = np.where(nearer, near, far), np.where(nearer, id, hit)
    return far, hit


def look(t, aside=0.0):
    """What each pixel of the camera ahead shows, from so many metres to the right of it."""
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
    directions = np.stack((np.ones_like(u), -(u - WIDTH / 2) / FOCAL, -(v - HEIGHT / 2) / FOCAL), -1)
    return cast((CAMERA[0], CAMERA[1] - aside, CAMERA[2]), directions, t)[1]


def look_back(t):
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
    return cast((-0.5, 0, 1.6), np.stack((-np.ones_like(u), (u - WIDTH / 2) / FOCAL, -(v - HEIGHT / 2) / FOCAL), -1), t)[1]


def paint(seen):
    picture = np.zeros((*seen.shape, 3), np.uint8)
    for id, colour in COLOURS.items():
        picture[seen == id] = colour
    return picture


def scan(t):
    """A cloud: points of the ego's frame, their intensity from 0 to 1, ring, and what they hit."""
    elevation = np.radians(np.linspace(-24, 4, RINGS))[:, None]
    azimuth = np.radians(np.arange(COLUMNS) * 360 / COLUMNS)[None, :]
    directions = np.stack((np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation) + 0 * azimuth), -1)
    far, hit = cast(LIDAR, directions, t)
    ring = np.broadcast_to(np.arange(RINGS)[:, None], far.shape)
    back = np.isfinite(far)
    points = (far[back][:, None] * directions[back] + LIDAR).astype(float)
    intensity = np.where(hit[back] == 0, 0.25, 0.5)
    return points, intensity, ring[back], hit[back]


def frame_at(t, seen):
    """What the ego's frame has of the objects: id, category, centre, yaw, size and velocity."""
    heading = ego_at(t)[2]
    out = []
    for id, (category, attribute, size, _, velocity, yaw) in OBJECTS.items():
        centre = to_ego(object_at(id, t)[0], t)
        out.append({"id": id, "category": category, "attribute": attribute, "centre": centre, "yaw": yaw - heading, "size": size,
                    "velocity": turned(np.array((*velocity, 0.0)), -heading), "pixels": int((seen == id).sum())})
    return out


def folder(*names):
    path = os.path.join(*names)
    os.makedirs(path, exist_ok=True)
    return path


def save(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def save_json(path, value):
    save(path, json.dumps(value, allow_nan=False).encode())


def png(picture):
    """A PNG file whose rows take turns with its five filters."""
    picture = picture.reshape(*picture.shape[:2], -1)
    height, width, channels = picture.shape
    values = picture.astype(int)
    left, above, corner = (np.zeros_like(values) for _ in range(3))
    left[:, 1:], above[1:], corner[1:, 1:] = values[:, :-1], values[:-1], values[:-1, :-1]
    guess = left + above - corner
    a, b, c = abs(guess - left), abs(guess - above), abs(guess - corner)
    paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
    filters = np.arange(height) % 5
    predicted = np.choose(filters[:, None, None], (0 * values, left, above, (left + above) // 2, paeth))
    rows = np.concatenate((filters[:, None], ((values - predicted) % 256).reshape(height, -1)), 1).astype(np.uint8)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    half = len(packed := zlib.compress(rows.tobytes())) // 2
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed[:half]) + chunk(b"IDAT", packed[half:]) + chunk(b"IEND", b"")


def jpeg(picture):
    """A baseline JPEG (ITU T.81) whose blocks of 8x8 pixels have one colour each: no coefficient but the first. Returns the file and its picture."""
    height, width, _ = picture.shape
    colours = picture.reshape(height // 8, 8, width // 8, 8, 3).mean((1, 3))
    r, g, b = np.moveaxis(colours, -1, 0)
    planes = np.stack((0.299 * r + 0.587 * g + 0.114 * b, 128 - 0.168736 * r - 0.331264 * g + 0.5 * b, 128 + 0.5 * r - 0.418688 * g - 0.081312 * b), -1)
    first = np.round(8 * (planes - 128)).astype(int)  # the first coefficient is 8 times the mean
    bits, before = "", [0, 0, 0]
    for block in first.reshape(-1, 3):
        for k in range(3):
            step, before[k] = int(block[k]) - before[k], int(block[k])
            size = abs(step).bit_length()
            bits += format(size, "04b")  # the table below gives each of the sizes 0 to 11 four bits
            if size:
                bits += format(step if step > 0 else step + (1 << size) - 1, f"0{size}b")
            bits += "0"  # the end of the block, the one symbol of its table
    bits += "1" * (-len(bits) % 8)
    scan = bytes(int(bits[k:k + 8], 2) for k in range(0, len(bits), 8)).replace(b"\xff", b"\xff\x00")

    def segment(marker, data):
        return bytes((0xff, marker)) + struct.pack(">H", len(data) + 2) + data

    lengths = bytes((0, 0, 0, 12)) + bytes(12)
    file = (b"\xff\xd8" + segment(0xdb, b"\x00" + bytes([1] * 64)) + segment(0xc0, struct.pack(">BHHB", 8, height, width, 3) + bytes((1, 17, 0, 2, 17, 0, 3, 17, 0)))
            + segment(0xc4, b"\x00" + lengths + bytes(range(12))) + segment(0xc4, b"\x10" + bytes((1,)) + bytes(15) + b"\x00")
            + segment(0xda, bytes((3, 1, 0, 2, 0, 3, 0, 0, 63, 0))) + scan + b"\xff\xd9")
    return file, colours.repeat(8, 0).repeat(8, 1)


def token(*key):
    return hashlib.md5(repr(key).encode()).hexdigest()


def quaternion(yaw):
    return [float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))]


def nuscenes(root):
    """Two scenes of four key frames, with a sweep of the lidar between two of them. Returns the key frames."""
    tables = {name: [] for name in """category attribute visibility sensor calibrated_sensor ego_pose log map scene sample sample_data instance
        sample_annotation lidarseg panoptic image_annotations""".split()}

    def row(table, key, **fields):
        tables[table].append({"token": token(table, *key), **fields})
        return tables[table][-1]

    for index, name in enumerate(LIDARSEG):
        row("category", (name,), name=name, description="", index=index)
    for name in ("vehicle.moving", "vehicle.stopped", "vehicle.parked", "cycle.with_rider", "cycle.without_rider", "pedestrian.moving", "pedestrian.standing",
                 "pedestrian.sitting_lying_down"):
        row("attribute", (name,), name=name, description="")
    tables["visibility"] = [{"token": str(k + 1), "level": level, "description": ""} for k, level in enumerate(("v0-40", "v40-60", "v60-80", "v80-100"))]
    sensors = {
        "CAM_FRONT": ("camera", CAMERA, [0.5, -0.5, 0.5, -0.5]), "CAM_BACK": ("camera", (-0.5, 0.0, 1.6), [0.5, -0.5, -0.5, 0.5]),
        "LIDAR_TOP": ("lidar", LIDAR, [0.5 ** 0.5, 0, 0, -0.5 ** 0.5]), "RADAR_FRONT": ("radar", RADAR, [1, 0, 0, 0]),
    }
    for channel, (modality, _, _) in sensors.items():
        row("sensor", (channel,), channel=channel, modality=modality)
    log = row("log", (0,), logfile="written", vehicle="ego", date_captured="2023-11-14", location="nowhere")
    row("map", (0,), log_tokens=[log["token"]], category="semantic_prior", filename="maps/written.png")
    save(os.path.join(root, "maps", "written.png"), png(np.full((1200, 1400), 255, np.uint8)))

    written = []
    for scene in range(2):
        name = f"scene-{scene + 1:04d}"
        begin = 100 * scene  # seconds of the recording; the world begins anew
        for channel, (modality, at, rotation) in sensors.items():
            matrix = [[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]] if modality == "camera" else []
            row("calibrated_sensor", (scene, channel), sensor_token=token("sensor", channel), translation=list(at), rotation=rotation, camera_intrinsic=matrix)
        annotations, data = {}, {channel: [] for channel in sensors}
        samples = []
        for k in range(4):
            t = k * STEP
            stamp = EPOCH + round((begin + t) * 1e6)
            sample = row("sample", (scene, k), timestamp=stamp, scene_token=token("scene", scene), prev="", next="")
            samples.append(sample)
            seen, behind = look(t), look_back(t)
            points, intensity, ring, hit = scan(t)
            frame = {"scene": name, "number": k, "stamp": stamp * 1000, "ego": ego_at(t), "seen": seen, "points": points, "intensity": intensity * 255, "ring": ring,
                     "hit": hit, "objects": frame_at(t, seen), "token": sample["token"]}
            for channel, (modality, at, _) in sensors.items():
                # The sweep before the key frame points to it, too.
                for time in ([t - STEP / 2, t] if channel == "LIDAR_TOP" and k else [t]):
                    key, when = time == t, EPOCH + round((begin + time) * 1e6)
                    x, y, yaw = ego_at(time)
                    id = (scene, channel, when)
                    pose = row("ego_pose", id, timestamp=when, translation=[x, y, 0.0], rotation=quaternion(yaw))
                    place = os.path.join("samples" if key else "sweeps", channel, f"written__{channel}__{when}")
                    picture = modality == "camera"
                    file = place + {"camera": ".jpg", "lidar": ".pcd.bin", "radar": ".pcd"}[modality]
                    data[channel].append(row(
                        "sample_data", id, sample_token=sample["token"], ego_pose_token=pose["token"], calibrated_sensor_token=token("calibrated_sensor", scene, channel),
                        filename=file, fileformat="jpg" if picture else "pcd", width=WIDTH if picture else 0, height=HEIGHT if picture else 0, timestamp=when,
                        is_key_frame=key, prev="", next=""))
                    path = os.path.join(root, file)
                    if channel == "LIDAR_TOP":
                        cloud, strength, rings, what = scan(time)
                        own = cloud - at
                        save(path, np.stack((-own[:, 1], own[:, 0], own[:, 2], strength * 255, rings), 1).astype("<f4").tobytes())
                        if key:
                            label(root, tables, data[channel][-1]["token"], what)
                    elif channel == "RADAR_FRONT":
                        frame["echoes"] = radar(path, t, nothing=k == 3)
                    else:
                        file, picture = jpeg(paint(seen if channel == "CAM_FRONT" else behind))
                        frame[channel] = picture
                        save(path, file)
            for thing in frame["objects"]:
                id = thing["id"]
                inside = int((hit == id).sum())
                thing["lidar_points"], thing["radar_points"] = inside, sum(echo[0] == id for echo in frame["echoes"])
                pixels = thing["pixels"] + int((behind == id).sum())
                thing["visibility"] = "4" if pixels else "1"
                centre, yaw, (length, width, height) = object_at(id, t)
                attribute = [token("attribute", thing["attribute"])] if thing["attribute"] else []
                annotations.setdefault(id, []).append(row(
                    "sample_annotation", (scene, k, id), sample_token=sample["token"], instance_token=token("instance", scene, id), attribute_tokens=attribute,
                    visibility_token=thing["visibility"], translation=centre.tolist(), size=[width, length, height], rotation=quaternion(yaw), num_lidar_pts=inside,
                    num_radar_pts=thing["radar_points"], prev="", next=""))
                thing["instance"] = token("instance", scene, id)
                mask = seen == id
                if mask.any():
                    thing["in_picture"] = edges(mask)
                    row("image_annotations", (scene, k, id), sample_annotation_token=annotations[id][-1]["token"], sample_data_token=token("sample_data", scene, "CAM_FRONT", stamp),
                        bbox_corners=projected(id, t), bbox_visible=edges(mask), pixels=thing["pixels"])
            written.append(frame)
        for chain in (samples, *data.values(), *annotations.values()):
            for one, two in zip(chain, chain[1:]):
                one["next"], two["prev"] = two["token"], one["token"]
        for id, chain in annotations.items():
            row("instance", (scene, id), category_token=token("category", OBJECTS[id][0]), nbr_annotations=len(chain), first_annotation_token=chain[0]["token"],
                last_annotation_token=chain[-1]["token"])
        row("scene", (scene,), name=name, description="a little world, written by numpy", log_token=log["token"], nbr_samples=len(samples),
            first_sample_token=samples[0]["token"], last_sample_token=samples[-1]["token"])
    for table, rows in tables.items():
        save_json(os.path.join(root, "v1.0-written", table + ".json"), rows)
    save_json(os.path.join(root, "v1.0-written", "splits.json"), {"train": ["scene-0001"], "val": ["scene-0002"]})
    return written


def edges(mask):
    """The bounds of a mask's pixels: left, top, right and bottom."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return [float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)]


def projected(id, t):
    """The bounds of a box in the picture of the camera ahead, before which all of it is."""
    centre, yaw, size = object_at(id, t)
    signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T
    ahead, left, up = (to_ego(turned(signs * size / 2, yaw) + centre, t) - CAMERA).T
    u, v = WIDTH / 2 - FOCAL * left / ahead, HEIGHT / 2 - FOCAL * up / ahead
    return [max(float(u.min()), 0), max(float(v.min()), 0), min(float(u.max()), WIDTH), min(float(v.max()), HEIGHT)]


def label(root, tables, data, hit):
    """Write the labels of a cloud's points."""
    names = {0: "flat.driveable_surface", **{id: thing[0] for id, thing in OBJECTS.items()}}
    index = np.array([LIDARSEG.index(names[id]) for id in hit.tolist()])
    for table, ending in (("lidarseg", "_lidarseg.bin"), ("panoptic", "_panoptic.npz")):
        file = os.path.join(table, "v1.0-written", data + ending)
        tables[table].append({"token": data, "sample_data_token": data, "filename": file})
        path = os.path.join(root, file)
        folder(os.path.dirname(path))
        if table == "lidarseg":
            save(path, index.astype(np.uint8).tobytes())
        else:
            np.savez_compressed(path, data=(1000 * index + np.where(hit > 0, hit, 0)).astype(np.uint16))


def radar(path, t, nothing):
    """Write the returns of a radar: one of each object ahead. Returns their ids, places and velocities over ground in the ego's frame."""
    echoes = []
    heading = ego_at(t)[2]
    for id, (_, _, _, _, velocity, _) in OBJECTS.items():
        place = to_ego(object_at(id, t)[0], t)
        if place[0] > RADAR[0] and not nothing:
            echoes.append((id, place, turned(np.array((*velocity, 0.0)), -heading)))
    fields = "x y z dyn_prop id rcs vx vy vx_comp vy_comp is_quality_valid ambig_state x_rms y_rms invalid_state pdh0 vx_rms vy_rms".split()
    types = "F F F I I F F F F F I I I I I I I I".split()
    sizes = "4 4 4 1 2 4 4 4 4 4 1 1 1 1 1 1 1 1".split()
    count = max(len(echoes), 1)
    head = "\n".join(("# .PCD v0.7 - Point Cloud Data file format", "VERSION 0.7", "FIELDS " + " ".join(fields), "SIZE " + " ".join(sizes), "TYPE " + " ".join(types),
                      "COUNT" + " 1" * 18, f"WIDTH {count}", "HEIGHT 1", "VIEWPOINT 0 0 0 1 0 0 0", f"POINTS {count}", "DATA binary")) + "\n"
    body = b""
    for id, place, velocity in echoes:
        x, y, z = place - RADAR
        moving = np.hypot(*velocity[:2]) > 0.1
        body += struct.pack("<3fbh5f8b", x, y, z, 0 if moving else 1, id, 10.0, velocity[0] - 5, velocity[1], velocity[0], velocity[1], 1, 3, 19, 19, 0, 1, 16, 3)
    if not echoes:
        body = struct.pack("<3fbh5f8b", *[float("nan")] * 3, 0, 0, *[float("nan")] * 5, 1, 3, 0, 0, 0, 0, 0, 0)
    save(path, head.encode() + body + b"\n")
    return echoes


def runs_of(mask):
    """COCO's run lengths of a mask, column by column, as text."""
    flat = mask.T.ravel().astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flat)))).tolist()
    runs = np.diff([0, *edges, len(flat)]).tolist()
    text = ""
    for k, run in enumerate(runs):
        value = run - runs[k - 2] if k > 2 else run
        while True:
            group, value = value & 31, value >> 5
            last = value == (-1 if group & 16 else 0)
            text += chr(48 + group + (0 if last else 32))
            if last:
                break
    return text, runs


def coco(root):
    """Six pictures in two splits, with masks in three notations, and panoptic pictures."""
    things = {"car": 1, "person": 2, "barrier": 3}
    stuff = {"road": 10, "sky": 11}
    names = {1: "car", 2: "car", 3: "person", 4: "barrier", 0: "road", -1: "sky"}
    written = []
    number = 0
    for split, times in (("train", range(4)), ("val", range(4, 6))):
        images, annotations, panoptic = [], [], []
        for k in times:
            t, file = k * STEP, f"{k:012d}"
            seen = look(t)
            save(os.path.join(root, split, file + ".png"), png(paint(seen)))
            images.append({"id": 100 + k, "width": WIDTH, "height": HEIGHT, "file_name": file + ".png"})
            ids, segments, objects = np.zeros((HEIGHT, WIDTH), int), [], []
            for id in (*OBJECTS, 0, -1):
                mask = seen == id
                if not mask.any():
                    continue
                rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
                box = [int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)]
                segment = 70_000 + 5 * id
                ids[mask] = segment
                category = {**things, **stuff}[names[id]]
                segments.append({"id": segment, "category_id": category, "area": int(mask.sum()), "bbox": box, "iscrowd": 0})
                if id > 0:
                    number += 1
                    text, runs = runs_of(mask)
                    crowd = id == 4  # those have runs as numbers by habit
                    annotations.append({"id": number, "image_id": 100 + k, "category_id": category, "bbox": box, "area": int(mask.sum()), "iscrowd": int(crowd),
                                        "segmentation": {"size": [HEIGHT, WIDTH], "counts": runs if crowd else text}})
                    objects.append({"category": names[id], "box": (box[0], box[1], box[0] + box[2], box[1] + box[3]), "mask": mask, "crowd": crowd})
            panoptic.append({"image_id": 100 + k, "file_name": file + ".png", "segments_info": segments})
            save(os.path.join(root, "annotations", "panoptic_" + split, file + ".png"), png(np.stack((ids % 256, ids // 256 % 256, ids // 65536), -1).astype(np.uint8)))
            written.append({"split": split, "id": 100 + k, "picture": paint(seen), "objects": objects, "ids": ids, "segments": segments})
        categories = [{"id": id, "name": name, "supercategory": name} for name, id in things.items()]
        head = {"info": {"description": "a little world"}, "licenses": []}
        save_json(os.path.join(root, "annotations", f"instances_{split}.json"), {**head, "images": images, "annotations": annotations, "categories": categories})
        both = [{"id": id, "name": name, "supercategory": name, "isthing": int(name in things), "color": [id * 20, 0, 0]} for name, id in {**things, **stuff}.items()]
        save_json(os.path.join(root, "annotations", f"panoptic_{split}.json"), {**head, "images": images, "annotations": panoptic, "categories": both})
    return written


BASELINE = 0.5
KITTI_TYPES = {1: "Car", 2: "Car", 3: "Pedestrian", 4: "Misc"}


def line(key, numbers):
    return f"{key}: " + " ".join(f"{n:.12e}" for n in numbers) + "\n"


def projections():
    for k in range(4):
        baseline = BASELINE if k in (1, 3) else 0.0
        yield f"P{k}", (FOCAL, 0, WIDTH / 2, -FOCAL * baseline, 0, FOCAL, HEIGHT / 2, 0, 0, 0, 1, 0)


# The lidar's x ahead, y left and z up become z ahead, x right and y down of the camera.
VELO_TO_CAM = (0, -1, 0, LIDAR[1] - CAMERA[1], 0, 0, -1, CAMERA[2] - LIDAR[2], 1, 0, 0, LIDAR[0] - CAMERA[0])
IMU_TO_VELO = (1, 0, 0, -LIDAR[0], 0, 1, 0, -LIDAR[1], 0, 0, 1, -LIDAR[2])


def clouds(path, t):
    points, intensity, _, hit = scan(t)
    save(path, np.concatenate((points - LIDAR, intensity[:, None]), 1).astype("<f4").tobytes())
    return points, intensity, hit


def kitti(root):
    """Five frames of the object benchmark."""
    training = os.path.join(root, "training")
    written = []
    for k in range(5):
        t, name = k * STEP, f"{k:06d}"
        seen = look(t)
        pictures = {"image_2": paint(seen), "image_3": paint(look(t, BASELINE))}
        for channel, picture in pictures.items():
            save(os.path.join(training, channel, name + ".png"), png(picture))
        points, intensity, hit = clouds(os.path.join(training, "velodyne", name + ".bin"), t)
        text = "".join(line(key, numbers) for key, numbers in (*projections(), ("R0_rect", np.eye(3).ravel()), ("Tr_velo_to_cam", VELO_TO_CAM), ("Tr_imu_to_velo", IMU_TO_VELO)))
        save(os.path.join(training, "calib", name + ".txt"), text.encode())
        labels, objects = "", []
        for thing in frame_at(t, seen):
            mask = seen == thing["id"]
            rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
            if min(len(rows), len(columns)) < 2:
                continue  # there is no box around it
            box = int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])  # the last pixels are within it
            length, width, height = thing["size"]
            ahead, left, _ = thing["centre"] - CAMERA
            turn = (-thing["yaw"] - np.pi / 2 + np.pi) % (2 * np.pi) - np.pi
            alpha = (turn - np.arctan2(-left, ahead) + np.pi) % (2 * np.pi) - np.pi
            occluded = 0 if len(objects) % 2 == 0 else 1
            labels += (f"{KITTI_TYPES[thing['id']]} 0.00 {occluded} {alpha:.2f} " + " ".join(f"{n:.2f}" for n in (*box, height, width, length, -left, CAMERA[2], ahead, turn))
                       + "\n")
            objects.append({**thing, "category": KITTI_TYPES[thing["id"]], "box": box, "occluded": occluded})
        labels += "DontCare -1 -1 -10 1.00 2.00 6.00 8.00 -1 -1 -1 -1000 -1000 -1000 -10\n"
        save(os.path.join(training, "label_2", name + ".txt"), labels.encode())
        written.append({"token": name, "pictures": pictures, "points": points, "intensity": intensity, "hit": hit, "objects": objects})
    for split, numbers in (("train", (0, 2, 4)), ("val", (1, 3)), ("trainval", range(5)), ("test", ())):
        save(os.path.join(root, "ImageSets", split + ".txt"), "".join(f"{k:06d}\n" for k in numbers).encode())
    return written


SEMANTIC = {0: 40, 1: 252, 2: 10, 3: 254, 4: 52}


def odometry(root):
    """A sequence of five frames with its poses, and labels of SemanticKITTI."""
    place = os.path.join(root, "sequences", "00")
    written, times, poses = [], "", ""
    for k in range(5):
        t, name = k * STEP, f"{k:06d}"
        seen = look(t)
        save(os.path.join(place, "image_2", name + ".png"), png(paint(seen)))
        points, intensity, hit = clouds(os.path.join(place, "velodyne", name + ".bin"), t)
        label = np.array([SEMANTIC[id] for id in hit.tolist()]) + (np.where(hit > 0, hit, 0) << 16)
        save(os.path.join(place, "labels", name + ".label"), label.astype("<u4").tobytes())
        times += f"{t:.6e}\n"
        # Where the camera is, and its axes, in the frame that it had at first: right, down and ahead.
        at, yaw = to_global(CAMERA, t) - CAMERA - (*ego_at(0)[:2], 0), ego_at(t)[2]
        c, s = np.cos(yaw), np.sin(yaw)
        poses += " ".join(f"{n:e}" for n in (c, 0, -s, -at[1], 0, 1, 0, -at[2], s, 0, c, at[0])) + "\n"
        written.append({"stamp": round(t * 1e9), "points": points, "intensity": intensity, "hit": hit, "ego": (*(to_global((0, 0, 0), t) - to_global((0, 0, 0), 0))[:2], yaw)})
    save(os.path.join(place, "times.txt"), times.encode())
    save(os.path.join(root, "poses", "00.txt"), poses.encode())
    save(os.path.join(place, "calib.txt"), "".join(line(key, numbers) for key, numbers in (*projections(), ("Tr", VELO_TO_CAM))).encode())
    return written


if __name__ == "__main__":
    for write, name in ((nuscenes, "nuscenes"), (coco, "coco"), (kitti, "kitti"), (odometry, "kitti")):
        write(os.path.join(sys.argv[1], name))
