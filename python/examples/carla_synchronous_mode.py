"""carla_synchronous_mode.py [STEPS]: CARLA's synchronous_mode.py carried over. Two cameras of 30 Hz, a step of 1/30 s,
and a vehicle that is put along its lane. What CARLA's example has queues for is in the frame that a step returns."""
import math
import sys
from typing import Any, Dict

import numpy as np

import raybridge as rb

FPS = 30
CAMERA: Dict[str, Any] = {"rate": FPS, "image_size_x": 320, "image_size_y": 240, "pose": {"x": -5.5, "z": 2.8, "pitch": 15}}
RIG = {"sensors": [
    {"id": "sensor.camera.rgb", "name": "rgb", **CAMERA},
    {"id": "sensor.camera.semantic_segmentation", "name": "semseg", "output": "palette", **CAMERA},  # carla.ColorConverter.CityScapesPalette
]}

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
with rb.launch(scene="city", rig=RIG) as sim:
    place = sim.spawn_points[0]
    for k in range(1, steps + 1):
        way = 1.5 * 3.6 / FPS * k
        pose = rb.Pose(place.x + way * math.cos(place.yaw), place.y + way * math.sin(place.yaw), yaw=place.yaw, jump=k == 1)

        # with CarlaSyncMode(world, camera_rgb, camera_semseg, fps=30) as sync_mode: snapshot, image_rgb, image_semseg = sync_mode.tick(2.0)
        frame = sim.step(f"1/{FPS}", ego=pose)  # vehicle.set_transform(waypoint.transform)
        image_rgb, image_semseg = frame["rgb/image"], frame["semseg/image"]

        assert image_rgb.stamp == image_semseg.stamp == frame.time, "data of this very step, whatever the machine's speed"
        assert image_rgb.info.frame == image_semseg.info.frame == frame.number
        blended = (0.6 * image_rgb + 0.4 * image_semseg).astype(np.uint8)
    print(f"{steps} frames, the last at {frame.time / 1e9:.9f} s, brightness {blended.mean():.0f}")
