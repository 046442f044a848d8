"""raybridge: camera and lidar data of a robot's sensors from a 3-D scene, stepped from Python.

    import raybridge as rb
    with rb.launch(scene="city") as sim:
        car = sim.spawn("vehicle.sedan", x=10, y=2)
        frame = sim.step(0.1, {car: rb.Pose(11, 2)})
        image = frame["front/image"]
"""
from ._dataset import Box2D, Box3D, Camera, Capture, Dataset, KeyFrame, Lidar, Radar, Segment
from ._errors import Busy, Closed, ConnectionFailed, Error, Refused, Timeout, Unfinished, UnknownSensor, VersionMismatch
from ._launch import binary, launch
from ._messages import Array, Info, Record
from ._replay import Replay, replay
from ._sim import Actor, ActorState, Ego, Frame, Model, Pose, Sensor, Sim, Weather, connect, png
from ._sweep import Case, Sweep, sweep

__version__ = "0.2.0"

__all__ = [
    "Actor", "ActorState", "Array", "Box2D", "Box3D", "Busy", "Camera", "Capture", "Case", "Closed", "ConnectionFailed", "Dataset", "Ego", "Error", "Frame", "Info",
    "KeyFrame", "Lidar", "Model", "Pose", "Radar", "Record", "Refused", "Replay", "Segment", "Sensor", "Sim", "Sweep", "Timeout", "Unfinished", "UnknownSensor",
    "VersionMismatch", "Weather", "binary", "connect", "launch", "png", "replay", "sweep",
]
