"""planner.py [STEPS]: a planner in the loop. It sees a slow car in the lidar's points and drives around it."""
import sys

import raybridge as rb

RIG = {"sensors": [{"id": "sensor.lidar.ray_cast", "name": "lidar", "rate": 10, "preset": "VelodyneVLP16", "pose": {"z": 1.8}}]}

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 80
dt, x, y, speed = 0.1, 0.0, 0.0, 10.0
with rb.launch(scene="plane", rig=RIG) as sim:
    slow = sim.spawn("vehicle.sedan", x=30)
    side = 0.0
    for k in range(steps):
        x += speed * dt
        y += max(-1.0, min(1.0, side - y)) * 2 * dt  # towards the lane that was chosen
        frame = sim.step(dt, {slow: rb.Pose(30 + 4 * dt * (k + 1), 0, velocity=(4, 0, 0))}, ego=rb.Pose(x, y, velocity=(speed, 0, 0)))
        points = frame["lidar/points"]
        if points is not None:
            ours = (points["z"] > -1.2) & (points["ObjIdx"] == slow.handle)
            ahead = ours & (points["x"] > -6) & (points["x"] < 25)
            side = 3.5 if ahead.any() else 0.0
            gap = float(points["x"][ours].min()) if ours.any() else float("inf")
            print(f"{frame.time / 1e9:.1f} s: at {x:.1f}, {y:.2f}; the car's rear is {gap:.1f} m ahead")
