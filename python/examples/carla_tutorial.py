"""carla_tutorial.py [STEPS] [FOLDER]: CARLA's tutorial.py carried over. The ego drives with two cameras and a lidar among
vehicles at random places, and all that the sensors see is saved."""
import pathlib
import random
import sys
from typing import Any

import numpy as np

import raybridge as rb


def save_ply(path: pathlib.Path, points: Any) -> None:
    """What LidarMeasurement.save_to_disk does: x, y, z and intensity as text."""
    head = "\n".join(["ply", "format ascii 1.0", f"element vertex {len(points)}", *(f"property float {f}" for f in "xyzI"), "end_header"])
    rows = np.column_stack([points[f] for f in ("x", "y", "z", "intensity")])
    np.savetxt(path, rows, "%.4f", header=head, comments="")


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "out/carla_tutorial")
folder.mkdir(parents=True, exist_ok=True)
random.seed(7)
with rb.launch(scene="city", rig={"sensors": []}) as sim:
    # camera_bp.set_attribute(...); world.spawn_actor(camera_bp, carla.Transform(carla.Location(x=1.5, z=2.4)), attach_to=vehicle)
    size = {"image_size_x": 320, "image_size_y": 240}
    sim.spawn_sensor("sensor.camera.rgb", "rgb", x=1.5, z=2.4, rate=10, **size)
    sim.spawn_sensor("sensor.camera.depth", "depth", x=1.5, z=2.4, rate=10, **size)
    sim.spawn_sensor("sensor.lidar.ray_cast", "lidar", z=2.4, rate=10, channels=32, range=50.0)

    # blueprint_library.filter("vehicle.*"); world.try_spawn_actor(bp, random.choice(spawn_points))
    models = sorted(name for name in sim.models if name.startswith("vehicle."))
    cars = [sim.spawn(random.choice(models), pose=place) for place in random.sample(sim.spawn_points[:30], 10)]

    for _ in range(steps):
        frame = sim.step(0.1)  # world.tick()
        image, depth, points = frame["rgb/image"], frame["depth/image"], frame["lidar/points"]
        if image is None or depth is None or points is None:
            continue  # the first scan comes after a whole turn
        name = f"{image.info.frame:06d}"
        (folder / f"rgb_{name}.png").write_bytes(rb.png(image))  # image.save_to_disk(...)
        near = np.clip(np.log(np.clip(depth, 1, 1000)) / np.log(1000), 0, 1)  # cc.LogarithmicDepth; depth is in metres
        (folder / f"depth_{name}.png").write_bytes(rb.png((255 * near).astype(np.uint8)))
        save_ply(folder / f"lidar_{name}.ply", points)
    for car in cars:
        car.destroy()
    sim.step(0.1)
    left = [a for a in sim.actors.values() if not a.own]
    print(f"{len(list(folder.glob('rgb_*.png')))} pictures and scans in {folder}, {len(cars)} vehicles came, {len(left)} are left")
