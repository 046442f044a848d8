"""carla_events.py [STEPS]: a CARLA client with a collision sensor, a lane invasion sensor and traffic carried over. The
ego is driven by its pedals, and runs across the lanes into a truck."""
import pathlib
import sys

import raybridge as rb

RIG = {"sensors": [
    {"id": "sensor.other.collision", "name": "collision"},
    {"id": "sensor.other.lane_invasion", "name": "lanes"},
    {"id": "sensor.other.gnss", "name": "gnss", "rate": 10},
]}
EXTERNAL = str(pathlib.Path(__file__).with_name("external.yaml"))  # ego.driver: external, so that it obeys apply_control

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
with rb.launch(scene="city", rig=RIG, config=EXTERNAL) as sim:
    frame = sim.step(0.05)
    assert frame.ego is not None
    x, y, _ = frame.ego.position
    truck = sim.spawn("vehicle.truck", x + 25, y + 3.2, name="truck", color="#1e90ff")  # in the other lane
    walker = sim.spawn("walker.pedestrian.0001", x + 20, y - 5)
    history = []
    for k in range(1, steps + 1):
        # vehicle.apply_control(carla.VehicleControl(throttle=0.7, steer=-0.06)); it holds for half a second
        sim.control(throttle=0.7, steering=-0.06)
        # There is neither a traffic manager nor physics for actors: each step says where they are at its end.
        frame = sim.step(0.05, {truck: rb.Pose(x + 25 - 0.05 * k, y + 3.2, velocity=(-1, 0, 0)), walker: rb.Pose(x + 20 + 0.06 * k, y - 5)})

        # lane_sensor.listen(lambda event: ...), collision_sensor.listen(lambda event: ...)
        for invasion in frame.all("lanes/lane_invasion"):
            print(f"{invasion.stamp / 1e9:.2f} s: crossed {len(invasion.marks)} lane marks")
        for hit in frame.all("collision/collision"):
            impulse = (hit.normal_impulse.x ** 2 + hit.normal_impulse.y ** 2 + hit.normal_impulse.z ** 2) ** 0.5
            history.append(impulse)
            if len(history) == 1:
                fix = frame["gnss/fix"]
                place = f" at {fix.latitude:.6f}, {fix.longitude:.6f}" if fix is not None else ""
                print(f"{hit.stamp / 1e9:.2f} s: collision with {sim.actors[hit.other].name} ({hit.other_type}){place}")
    print(f"{frame.time / 1e9:.2f} s: {'touched' if history else 'untouched'}")
