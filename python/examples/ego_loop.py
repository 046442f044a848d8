"""ego_loop.py [STEPS]: drives the ego by its pedals and keeps it straight with what a camera and odometry say."""
import sys

import raybridge as rb

RIG = {"sensors": [
    {"id": "sensor.camera.rgb", "name": "front", "rate": 10, "image_size_x": 320, "image_size_y": 240, "pose": {"x": 1.4, "z": 1.5}},
    {"id": "sensor.other.odometry", "name": "odom", "rate": 50, "frame": "base_link"},
]}

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
with rb.launch(scene="plane", rig=RIG, args=["--config", __file__.replace("ego_loop.py", "external.yaml")]) as sim:
    for _ in range(steps):
        frame = sim.step(0.1)
        assert frame.ego is not None
        speed = frame.ego.velocity[0]
        sim.control(throttle=max(0.0, min(1.0, (10 - speed) / 4)), steering=frame.ego.yaw)
        image = frame["front/image"]
        brightness = "" if image is None else f", brightness {image.mean():.0f}"
        print(f"{frame.time / 1e9:.1f} s: {speed:.1f} m/s{brightness}")
