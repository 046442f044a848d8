"""Tests against the real program: RAYBRIDGE_BINARY, or one on PATH. They need numpy alone.

    python3 -m unittest discover -s python/tests
"""
import base64
import collections
import copy
import decimal
import gc
import io
import json
import math
import multiprocessing
import os
import pickle
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
import warnings
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import numpy as np  # noqa: E402

import raybridge as rb  # noqa: E402

RIG = {"sensors": [
    {"id": "sensor.camera.rgb", "name": "front", "rate": 10, "image_size_x": 64, "image_size_y": 48, "pose": {"x": 1.5, "z": 1.5}},
    {"id": "sensor.lidar.ray_cast", "name": "lidar", "rate": 10, "preset": "VelodyneVLP16", "pose": {"z": 1.8}},
    {"id": "sensor.other.imu", "name": "imu", "rate": 100},
]}
SMALL = {"sensors": [{"id": "sensor.other.imu", "name": "imu", "rate": 100}]}


def launch(rig=SMALL, **more):
    return rb.launch(scene="plane", rig=rig, gpu="software", **more)


def _same(frame):
    """What a worker gets is as good as what it was sent."""
    return frame


class TestStep(unittest.TestCase):
    def test_a_model_that_is_a_box_is_told(self):
        with launch() as sim:
            sim.spawn("box", x=5)
            sim.spawn("crate", x=9, size=(1, 1, 1))
            with self.assertWarnsRegex(UserWarning, "model 'crate' is shown as a box"):
                sim.step(0.1)
            sim.spawn("crate", x=12, size=(1, 1, 1))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sim.step(0.1)

    def test_a_step_brings_all_that_was_due(self):
        with launch(RIG) as sim:
            self.assertEqual({"front/image", "front/camera_info", "lidar/points", "imu/imu"} - set(sim.sensors), set())
            self.assertEqual(sim.sensors["front/image"].message, "sensor_msgs/msg/Image")
            car = sim.spawn("vehicle.sedan", x=12, yaw=0.1)
            self.assertIsNone(car.handle)
            before = None
            for k in range(4):
                frame = sim.step(0.1, {car: rb.Pose(12 + k, 0)})
                self.assertEqual(frame.time, (k + 1) * 100_000_000)
                self.assertEqual(frame.missing, {})
                image = frame["front/image"]
                self.assertEqual((image.shape, image.dtype), ((48, 64, 3), "uint8"))
                self.assertEqual(image.stamp, frame.time)
                self.assertEqual(image.info.frame_id, "front_optical")
                self.assertEqual([i.stamp for i in frame.all("imu/imu")], [frame.time - 90_000_000 + 10_000_000 * i for i in range(10)])
                points = frame["lidar/points"]
                mine = points[points["ObjIdx"] == car.handle]
                self.assertGreater(len(mine), 10)
                nearest = float(mine["x"].min())
                if k > 1:  # a scan is of the time of a whole step, in which the car drives from here on
                    self.assertAlmostEqual(nearest - before, 1, delta=0.3)
                before = nearest
            self.assertEqual(frame["front/image"][::2].info.sequence, 3, "a view keeps what is known of it")
            sim.step(1e-6)  # before anything is due
            half = sim.step(0.05 - 1e-6)
            self.assertIsNone(half["front/image"])
            self.assertEqual(half.all("front/image"), [])
            self.assertNotIn("front/image", half)
            self.assertEqual(len(half.all("imu/imu")), 5)
            with self.assertRaisesRegex(rb.UnknownSensor, "no sensor has 'rear/image'; there are: .*front/image"):
                half["rear/image"]
            handle = car.handle
            car.destroy()
            car.destroy()
            sim.step(0.05)
            points = sim.step(0.1)["lidar/points"]
            self.assertEqual(int((points["ObjIdx"] == handle).sum()), 0)

    # A period of 30 Hz is no whole number of nanoseconds: its third instant is at 100 ms, not at 99,999,999 ns.
    def test_steps_of_a_fraction_meet_the_sensor(self):
        rig = {"sensors": [{"id": "sensor.camera.rgb", "name": "rgb", "rate": 30, "image_size_x": 16, "image_size_y": 12},
                           {"id": "sensor.camera.rgb", "name": "film", "rate": "59.94", "image_size_x": 16, "image_size_y": 12}]}
        with launch(rig) as sim:
            for name, rate, ways in (("rgb", Fraction(30), (1 / 30, "1/30", Fraction(1, 30), np.float64(1) / 30, " 1 / 30 ")),
                                     ("film", Fraction("59.94"), (1 / 59.94, "1/59.94", "50/2997"))):
                for way in ways:
                    with self.subTest(way=way):
                        sim.reset()
                        frames = [sim.step(way) for _ in range(40)]
                        due = [math.floor(k / rate * 10**9) for k in range(1, 41)]
                        self.assertEqual([f.time for f in frames], due)
                        self.assertEqual([[s.stamp for s in f.all(name + "/image")] for f in frames], [[t] for t in due])
            sim.reset()
            for k in range(1, 4):  # beside steps of other lengths
                self.assertEqual(sim.step(decimal.Decimal("0.1")).time, 400_000_000 * k - 300_000_000)
                for i in range(1, 10):
                    self.assertEqual(sim.step("1/30").time, 400_000_000 * k - 300_000_000 + i * 10**9 // 30)
            sim.reset()
            sim.step(until=33_333_333)  # where such a step would have ended
            with rb.connect(sim.address, sensors=["rgb/image"]) as other:
                sim._stream.close()
                end = time.monotonic() + 10
                while time.monotonic() < end:
                    try:
                        self.assertEqual(other.step("1/30").time, 66_666_666)
                        break
                    except rb.Busy:
                        time.sleep(0.01)
                self.assertEqual(other.step("1/30").time, 100_000_000)

    def test_a_step_to_a_firing(self):
        with launch({"sensors": [*RIG["sensors"], {"id": "sensor.other.gnss", "name": "gps", "rate": 7}]}) as sim:
            for k in range(1, 4):
                frame = sim.step_to("gps/fix", ego=rb.Pose(k, 0))
                self.assertEqual((frame.time, frame["gps/fix"].stamp), (k * 10**9 // 7,) * 2)
                self.assertAlmostEqual(frame.ego.position[0], k)
            self.assertEqual(sim.step_to("front").time, 500_000_000, "a sensor's name is as good")
            car = sim.spawn("vehicle.sedan", x=12)
            self.assertEqual(sim.step_to("lidar/points", {car: rb.Pose(13, 0)}).time, 600_000_000)
            self.assertTrue(car.handle)
            for bad in ("rear/image", "clock", "", None, 5):
                with self.assertRaisesRegex(rb.UnknownSensor, "there are: front/camera_info, front/image"):
                    sim.step_to(bad)
            self.assertEqual(sim.time, 600_000_000)

    def test_a_frame_counts_firings(self):
        with launch({"sensors": [{"id": "sensor.other.imu", "name": "imu", "rate": 1000}]}) as sim:
            frame = sim.step(17)  # more than are told one by one
            self.assertEqual((frame.fired["imu"], frame.lost, frame.missing), (17_000, {}, {}))
            frame._count({1: b"imu", 6: 99, 7: 3, 5: b"readback_full"})
            frame._count({1: b"imu", 5: b"closed"})
            self.assertEqual((frame.fired["imu"], frame.lost, frame.missing), (17_101, {"imu": 4}, {"imu": "readback_full"}))

    def test_a_frame_outlives_its_simulation(self):
        with launch(RIG) as sim:
            frame = sim.step(0.1)
            copies = [pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame), copy.copy(frame)]
            child = multiprocessing.get_context("spawn").Pool(1)
            with child:
                copies.append(child.apply(_same, (frame,)))
        for other in copies:
            self.assertEqual((other.time, other.number, other.fired, other.ego, list(other), repr(other)),
                             (frame.time, frame.number, frame.fired, frame.ego, list(frame), repr(frame)))
            for key in frame:
                for a, b in zip(frame.all(key), other.all(key)):
                    self.assertEqual(a.to_json(), b.to_json())
                self.assertEqual(frame[key].stamp, other[key].stamp)
            self.assertEqual(other["front/image"].info.frame_id, "front_optical")
            with self.assertRaisesRegex(rb.UnknownSensor, "no sensor has 'x'; there are: .*front/image"):
                other["x"]

    def test_json_of_every_sample(self):
        rig = {"sensors": [*RIG["sensors"], {"id": "sensor.other.snapshot", "name": "all"}, {"id": "sensor.other.gnss", "name": "gps"},
                           {"id": "sensor.camera.depth", "name": "depth", "image_size_x": 8, "image_size_y": 6}]}
        with launch(rig) as sim:
            sim.spawn("vehicle.sedan", x=12)
            frame = sim.step(0.2)
            for key in frame:
                sample = frame[key]
                read = json.loads(sample.to_json(), parse_constant=self.fail)
                self.assertEqual((read["stamp"], read["info"]["key"]), (sample.stamp, key))
            self.assertEqual(json.loads(frame["front/image"].to_json())["data"], frame["front/image"].tolist())
            points = frame["lidar/points"].to_dict()
            self.assertEqual(points["data"]["x"], frame["lidar/points"]["x"].tolist())
            self.assertEqual(points["fields"][0], {"name": "x", "offset": 0, "datatype": 7, "count": 1})
            imu = frame["imu/imu"].to_dict()
            self.assertEqual(imu["header"], {"stamp": {"sec": 0, "nanosec": 200_000_000}, "frame_id": "imu"})
            self.assertEqual(imu["linear_acceleration"]["z"], frame["imu/imu"].linear_acceleration.z)
            self.assertEqual(imu["info"]["position"], [0, 0, 0])
            self.assertIn(None, sum(json.loads(frame["depth/image"].to_json())["data"], []), "the sky is infinitely far")

    def drive(self, sim):
        car = sim.spawn("vehicle.sedan", x=12, name="car")
        data = b""
        for k in range(3):
            frame = sim.step(0.1, {car: rb.Pose(12 + k, k / 4, yaw=0.1 * k, velocity=(10, 2, 0))}, ego=rb.Pose(k, 0))
            data += frame["front/image"].tobytes() + frame["lidar/points"].tobytes()
        self.assertAlmostEqual(frame.ego.position[0], 2)
        return data + str((frame.number, frame.time, car.handle, frame["lidar/points"].stamp)).encode()

    def test_two_runs_have_the_same_bytes(self):
        runs = []
        for _ in range(2):
            with launch(RIG, seed=7) as sim:
                runs.append(self.drive(sim))
        self.assertEqual(runs[0], runs[1])

    def test_a_reset_run_has_the_bytes_of_a_fresh_one(self):
        with launch(RIG, seed=7) as sim:
            fresh = self.drive(sim)
            sim.spawn_sensor("sensor.other.gnss", "late")
            sim.spawn("vehicle.truck", x=30, name="truck")
            sim.step(0.2)
            sim.spawn("vehicle.sedan", x=30)  # it never comes
            sim.reset(7)
            self.assertEqual(sim.time, 0)
            self.assertNotIn("late/fix", sim.sensors)
            self.assertEqual(self.drive(sim), fresh)
            sim.reset()
            self.assertEqual(sim.status()["seed"], 7)
            self.assertEqual(self.drive(sim), fresh)
            for seed in (-1, 1 << 64, 0.5):
                with self.assertRaises(rb.Refused):
                    sim.reset(seed)
            with rb.connect(sim.address) as other:
                with self.assertRaises(rb.Busy):
                    other.reset(1)
            self.assertEqual(sim.api("GET", "/v1/status")["resets"], 2)

    def test_shared_memory(self):
        rig = {"sensors": [{"id": "sensor.camera.rgb", "name": "front", "rate": 10, "image_size_x": 320, "image_size_y": 240, "pose": {"z": 1.5}}]}
        runs = {}
        for shared in (64 << 20, 1 << 20, 0):
            with launch(rig, shared=shared) as sim:
                car = sim.spawn("vehicle.sedan", x=12)
                kept = [sim.step(0.1, {car: rb.Pose(12 + k, 0)})["front/image"] for k in range(6)]
                for _ in range(50):  # what nobody keeps is given back
                    last = sim.step(0.1)["front/image"]
                if shared == 64 << 20:
                    self.assertEqual(sim.shared, {"viewed": 56, "copied": 0})
                    self.assertFalse(kept[0].flags.writeable)
                elif shared:
                    self.assertEqual(sum(sim.shared.values()), 56)
                    self.assertGreater(sim.shared["copied"], 50, "four pictures fill it, which are kept")
                else:
                    self.assertEqual(sim.shared, {"viewed": 0, "copied": 56})
                    kept[0][0, 0, 0] += 0  # may be written
            runs[shared] = b"".join(image.tobytes() for image in [*kept, last])  # after the program's end, too
        self.assertEqual(len(set(runs.values())), 1)

    def test_programs_share_one_budget(self):
        rig = {"sensors": [{"id": "sensor.camera.rgb", "name": "front", "rate": 10, "image_size_x": 320, "image_size_y": 240, "pose": {"z": 1.5}}]}
        with launch(rig, args=["--max-memory", "400MiB"]) as sim:  # of which 256 are the first one's
            self.assertEqual(sim.step(0.1)["front/image"].shape, (240, 320, 3))
            with rb.connect(sim.address) as other:
                sim.step(0.1)
                self.assertEqual(other.read("front/image").shape, (240, 320, 3))
                self.assertEqual((sim.shared["viewed"], other.shared["viewed"]), (2, 0))
                self.assertGreater(other.shared["copied"], 0)

    def test_a_frame_shows_its_pictures(self):
        rig = {"sensors": [
            {"id": "sensor.camera.rgb", "name": name, "rate": 10, "image_size_x": 32, "image_size_y": 24, "encoding": encoding}
            for name, encoding in (("front", "rgb8"), ("carla", "bgra8"))
        ] + [{"id": "sensor.camera.depth", "name": "depth", "rate": 10, "image_size_x": 32, "image_size_y": 24}]}
        shown = []
        notebook = types.ModuleType("IPython.display")
        notebook.display = shown.append
        with launch(rig) as sim, unittest.mock.patch.dict(sys.modules, {"IPython": types.ModuleType("IPython"), "IPython.display": notebook}):
            frame = sim.step(0.1)
            frame.show()
            self.assertIs(shown[0], frame)
            html = frame._repr_html_()
            pictures = dict(re.findall(r'base64,([^"]*)"><figcaption>([^<]*)<', html))
            self.assertEqual(sorted(pictures.values()), ["carla/image", "depth/image", "front/image"])
            blue, red = (frame["carla/image"][..., c].mean() for c in (0, 2))
            self.assertGreater(blue, red, "the sky")
            self.assertEqual(frame["carla/image"][..., 2::-1].tolist(), frame["front/image"].tolist())
            with unittest.mock.patch.dict(sys.modules, {"IPython.display": None}), unittest.mock.patch("builtins.print") as printed:
                frame.show()
            printed.assert_called_once_with(frame)

    def test_only_wanted_sensors_send(self):
        with launch(RIG, sensors=["imu/imu"]) as sim:
            self.assertEqual(list(sim.step(0.1)), ["imu/imu"])
            with self.assertRaises(rb.UnknownSensor):
                rb.connect(sim.address, sensors=["no/such"])

    def test_names_handles_and_complete(self):
        with launch() as sim:
            sim.spawn("box", x=5, name="a", size=(1, 1, 1))
            b = sim.spawn("box", x=9, name="b", pose=rb.Pose(9, 0, roll=0.1, pitch=0.2, yaw=0.3))
            sim.step(0.01)
            sim.step(0.01, {"a": rb.Pose(6, 0), b.handle: rb.Pose(9, 1, angular_velocity=(0, 0, 1))})
            sim.step(until=30_000_000, actors={b: rb.Pose(9, 2)}, complete=True)
            with self.assertRaises(rb.Refused) as caught:
                sim.step(0.01, {"a": rb.Pose(6, 0)})
            self.assertEqual((caught.exception.kind, caught.exception.list, caught.exception.index, caught.exception.actor),
                             ("unknown_actor", "actors", 0, "a"))
            sim.step(0.01, {b: rb.Pose(9, 2, lights=("brake", "left"))})
            with self.assertRaisesRegex(rb.Refused, "light 'high': want head"):
                sim.step(0.01, {b: rb.Pose(9, 2, lights=["high"])})
            self.assertEqual([a["name"] for a in sim.api("GET", "/v1/actors")["actors"]], ["b"])
            self.assertEqual(sim.step(0.01, wait="none").time, 50_000_000)

    def test_actors_and_spawn_points(self):
        with rb.launch(scene="city", rig=SMALL, gpu="software") as sim:
            self.assertEqual(sim.time, None)
            places = sim.spawn_points
            self.assertGreater(len(places), 60)
            car = sim.spawn("vehicle.sedan", pose=places[0], name="mine")
            frame = sim.step(0.1)
            actors = sim.actors
            mine = actors[car.handle]
            self.assertEqual((mine.name, mine.model, mine.own, mine.handle), ("mine", "vehicle.sedan", False, car.handle))
            for a, b in zip(mine.position, places[0]):
                self.assertAlmostEqual(a, b, delta=1e-3)
            self.assertAlmostEqual(mine.yaw, places[0].yaw, delta=1e-6)
            self.assertLess(math.dist(mine.position, frame.ego.position), 40)
            own = [a for a in actors.values() if a.own]
            self.assertGreater(sum(a.model.startswith("vehicle.") for a in own), 10)
            self.assertGreater(sum(a.model.startswith("walker.") for a in own), 10)
            driver = next(a for a in own if a.model.startswith("vehicle."))
            sim.step(0.5)
            way = math.dist(sim.actors[driver.handle].position, driver.position)
            self.assertAlmostEqual(way, 0.5 * math.hypot(*driver.velocity), delta=0.2, msg="the scene's own drive")
            sim.remove(car.handle)
            sim.step(0.1)
            self.assertNotIn(car.handle, sim.actors)
        with launch() as sim:
            self.assertEqual((sim.spawn_points, sim.actors), ([], {}))

    def test_weather(self):
        rig = {"sensors": [{"id": "sensor.other.weather", "name": "sky"}]}
        fog = rb.Weather(visibility=100, wetness=0, cloud=1)
        with launch(rig=rig, weather="fog") as sim:
            self.assertEqual(sim.weather, fog)
            self.assertEqual({type(value) for value in (*sim.weather[:4], *sim.weather.wind, sim.weather.cloud)}, {float})
            self.assertEqual(sim.step(0.01)["sky/weather"].visibility, 100)
            sim.weather = {"preset": "rain", "rain": np.float32(6.25), "wind": (3, -1)}
            wet = rb.Weather(rain=6.25, wetness=0.5, wind=(3, -1), cloud=1)
            self.assertEqual(sim.weather, wet)
            told = sim.step(0.01)["sky/weather"]
            self.assertEqual((told.rain, told.wetness, told.wind.x, told.wind.y, told.cloud), (6.25, 0.5, 3, -1, 1))
            self.assertIsNone(sim.step(0.01)["sky/weather"], "nothing has changed")
            sim.weather = rb.Weather(rain=25)
            self.assertEqual(sim.weather, rb.Weather(rain=25, wetness=1, cloud=1), "both follow")
            sim.weather = wet._replace(snow=1)
            self.assertEqual(sim.weather, wet._replace(snow=1))
            for bad, text in (("foog", "did you mean fog"), ({"rain": -1}, "rain is -1, the range is 0 to 300"), ({"wetness": 2}, "wetness is 2"),
                              ({"wind": 3}, "wind 3: want 2 numbers"), ({"rain": math.nan}, "rain nan: want a finite number"), (5, "weather 5: want a preset"),
                              ({"wind": {"x": math.inf}}, "wind.x inf: want a finite number"),
                              ({"visibility": 0}, "visibility is 0"), ({"hail": 1}, 'unknown field "hail"'), ({}, "neither preset nor another key")):
                with self.assertRaisesRegex(rb.Refused, text):
                    sim.weather = bad
            self.assertEqual(sim.weather, wet._replace(snow=1))
            sim.reset()
            self.assertEqual(sim.weather, fog)
            sim.weather = "clear"
            self.assertEqual(sim.weather, rb.Weather(wetness=0, cloud=0))
            sim.weather = rb.Weather()
            self.assertEqual(sim.weather, rb.Weather(wetness=0, cloud=0))

    def test_weather_of_the_beginning(self):
        for to in ({"preset": "rain", "rain": np.float32(6.25), "wind": (3, -1)}, rb.Weather(rain=6.25, wind=(3, -1))):
            with launch(weather=to) as sim:
                self.assertEqual(sim.weather, rb.Weather(rain=6.25, wetness=0.5, wind=(3, -1), cloud=1))
        for bad in ("", {}, 5):
            with self.assertRaisesRegex(rb.Refused, "want a preset"):
                rb.launch(weather=bad)
        for bad, text in (("rian", "did you mean rain"), ({"rain": -1}, "weather.rain: out of range: -1, the range is 0 to 300")):
            with self.assertRaisesRegex(rb.Refused, text) as caught:
                rb.launch(weather=bad)
            self.assertEqual(caught.exception.kind, "value")

    def test_signals(self):
        rig = {"sensors": [{"id": "sensor.other.snapshot", "name": "all"}]}
        with rb.launch(scene="city", rig=rig, gpu="software") as sim:
            name = "traffic.traffic_light_0001"

            def shown(frame):
                return [a for a in frame["all/snapshot"].actors if a.type_id == "traffic.traffic_light"][0].signal

            for state, number in {"red": 0, "yellow": 1, "green": 2, "off": 3}.items():
                self.assertEqual(shown(sim.step(0.01, signals={name: state})), number)
                self.assertEqual(shown(sim.step(0.01)), number, "until it is told another")
            self.assertEqual(shown(sim.step(0.01, signals={np.uint32(1): "red"})), 0, "by the id of one of its heads")
            for signals, kind, index, light in (({name: "red", "no such": "red"}, "unknown_signal", 1, "no such"), ({1: "red", 2: "red"}, "duplicate", 1, 2)):
                with self.assertRaises(rb.Refused) as caught:
                    sim.step(0.01, signals=signals)
                e = caught.exception
                self.assertEqual((e.kind, e.list, e.index, e.actor), (kind, "signals", index, light))
            for light, state, text in ((name, "blue", "state 'blue': want red, yellow, green, off"), (0, "red", "id 0: want 1 to"),
                                       (1.5, "red", "light 1.5: want a name or an id"), (None, "red", "light None: want a name")):
                with self.assertRaisesRegex(rb.Refused, text) as caught:
                    sim.step(0.01, signals={light: state})
                self.assertEqual(caught.exception.kind, "value")

    def test_handles_of_numpy(self):
        with launch(RIG) as sim:
            car = sim.spawn("vehicle.sedan", x=12, name="car")
            points = sim.step(0.1)["lidar/points"]
            handle = points["ObjIdx"][points["ObjIdx"] == car.handle][0]
            sim.step(0.01, {handle: rb.Pose(13, 0)})
            sim.step(until=np.int64(120_000_000), actors={handle: rb.Pose(13, 0, jump=True)})
            self.assertEqual(sim.api("GET", "/v1/actors")["actors"][0]["position"][0], 13)
            sim.spawn_sensor("sensor.other.imu", "its", attach_to=handle)
            sim.remove_sensor("its")
            sim.remove(handle)
            sim.step(0.01)
            self.assertEqual(sim.api("GET", "/v1/actors")["actors"], [])

    def test_a_sensor_is_attached_to_who_is_there_and_to_nobody_else(self):
        with launch() as sim:
            car = sim.spawn("vehicle.sedan", x=50, name="car")
            for when in ("before it comes", "after it has gone"):
                with self.subTest(when), self.assertRaisesRegex(rb.Refused, "attach its to car: the actor is not there: it comes with the next step") as caught:
                    sim.spawn_sensor("sensor.other.imu", "its", attach_to=car)
                self.assertEqual((caught.exception.kind, caught.exception.actor), ("unknown_actor", "car"))
                self.assertNotIn("its/imu", sim.sensors)
                sim.step(0.01)
                if car.handle is not None:
                    sim.spawn_sensor("sensor.other.imu", "there", rate=100, z=0.5, attach_to=car)
                    np.testing.assert_allclose(sim.step(0.1)["there/imu"].info.position, (50, 0, 0.5), atol=0.001)
                car.destroy()

    def test_what_is_no_actor_or_time_is_refused_before_it_is_kept(self):
        with launch() as sim:
            for bad in (0, -1, 1 << 32, np.int64(-1), 1.5, None, b"a"):
                for use in (lambda: sim.remove(bad), lambda: sim.step(0.01, {bad: rb.Pose(0, 0)}), lambda: sim.step(0.01, {bad: rb.Pose(0, 0, jump=True)})):
                    with self.subTest(bad=bad), self.assertRaises(rb.Refused) as caught:
                        use()
                    self.assertEqual(caught.exception.kind, "value")
            for bad in (1e7, "10", -1, 0, 1 << 63):
                with self.subTest(until=bad), self.assertRaises(rb.Refused) as caught:
                    sim.step(until=bad)
                self.assertEqual(caught.exception.kind, "time")
            for bad in (lambda: sim.spawn(None), lambda: sim.spawn("box", name=5), lambda: sim.spawn("box", name="\ud800"), lambda: sim.step(0.01, [1]),
                        lambda: sim.step(0.01, {"\ud800": rb.Pose(0, 0)}), lambda: sim.spawn_sensor("sensor.other.imu", "x", y={1, 2})):
                with self.assertRaises(rb.Refused) as caught:
                    bad()
                self.assertEqual(caught.exception.kind, "value")
            for bad in ("a tenth", "", "1/0", "-1/30", "1e-1", "1e999999999", "1/30/2", "9" * 40, "0", "1/1" + "0" * 17, decimal.Decimal("1e999999999"),
                        decimal.Decimal("nan"), Fraction(1, 10**10), 1e-10, math.nan, math.inf, -1, [1], b"1", np.zeros(2)):
                with self.assertRaisesRegex(rb.Refused, "want a number, a nanosecond"):
                    sim.step(bad)
            sim.spawn("")
            with self.assertRaisesRegex(rb.Refused, "spawn.0. .*: value is not usable: model is missing"):
                sim.step(0.01)
            with self.assertRaisesRegex(rb.Refused, 'no such sensor: "a/b c"'):
                sim.remove_sensor("a/b c")
            keys = sim.spawn_sensor("sensor.camera.rgb", "small", rate=np.int64(10), image_size_x=np.int64(32), image_size_y=np.uint8(16))
            self.assertEqual(keys, ["small/image", "small/camera_info"])
            self.assertEqual(sim.step(0.01).time, 10_000_000)

    def test_the_run_stays_whole_after_errors(self):
        with launch() as sim:
            a = sim.spawn("box", x=5, name="a")
            sim.spawn("box", x=5, name="a")  # twice
            other = sim.spawn("box", x=9, name="b")
            with self.assertRaises(rb.Refused) as caught:
                sim.step(0.01)
            self.assertEqual((caught.exception.kind, caught.exception.list, caught.exception.index), ("duplicate", "spawn", 1))
            frame = sim.step(0.01)  # the others come
            self.assertEqual(frame.time, 10_000_000, "time stood")
            self.assertTrue(a.handle and other.handle)
            for pose, kind in ((rb.Pose(math.nan, 0), "value"), (rb.Pose(0, 0, orientation=(0, 0, 0, 0)), "value")):
                with self.assertRaises(rb.Refused) as caught:
                    sim.step(0.01, {a: pose})
                self.assertEqual((caught.exception.kind, caught.exception.actor), (kind, a.handle))
            for bad in (lambda: sim.step(), lambda: sim.step(0), lambda: sim.step(0.1, wait="long"), lambda: sim.spawn("box", reference="top"),
                        lambda: sim.step(until=1)):
                self.assertRaises(rb.Refused, bad)
            self.assertEqual(sim.step(0.01).time, 20_000_000)

    def test_vectors_of_another_length_are_refused(self):
        with launch() as sim:
            for bad in (rb.Pose(0, 0, orientation=(0, 0, 1)), rb.Pose(0, 0, orientation=(0, 0, 0, 1, 0)), rb.Pose(0, 0, orientation=1),
                        rb.Pose(0, 0, velocity=(1, 2)), rb.Pose(0, 0, angular_velocity="abc"), rb.Pose("here", 0), rb.Pose(0, None), (1, 2, 3), None):
                for use in (lambda: sim.step(0.01, {1: bad}), lambda: sim.spawn("box", pose=(1, 2) if bad is None else bad),
                            lambda: sim.step(0.01, ego=0 if bad is None else bad)):
                    with self.subTest(bad=bad), self.assertRaises(rb.Refused) as caught:
                        use()
                    self.assertEqual(caught.exception.kind, "value")
            with self.assertRaisesRegex(rb.Refused, r"^orientation \(0, 0, 1\): want 4 numbers$"):
                sim.step(0.01, {1: rb.Pose(0, 0, orientation=(0, 0, 1))})
            with self.assertRaisesRegex(rb.Refused, r"^size \[4, 2\]: want 3 numbers$"):
                sim.spawn("box", size=[4, 2])
            self.assertEqual(sim.step(0.01).time, 10_000_000)
            sim.spawn("box", pose=rb.Pose(5, 0, orientation=np.array([0, 0, 0, 1])), size=np.ones(3))
            sim.step(0.01)

    def test_what_is_no_joint_signal_or_color_is_refused(self):
        with launch() as sim:
            sim.spawn("box", x=5, name="a")
            for joints in (None, 3, "abc", {"a": "x"}, {"a": None}, [[1, 2]], {1: 2}, {"\ud800": 1}):
                for use in (lambda: sim.step(0.01, {"a": rb.Pose(5, 0, joints=joints)}), lambda: sim.spawn("box", pose=rb.Pose(5, 0, joints=joints))):
                    with self.subTest(joints=joints), self.assertRaises(rb.Refused):
                        use()
            for signals in ("red", ["J7"], {"J7": ["red"]}, {"J7": 1}, {"\ud800": "red"}, {None: "red"}):
                with self.subTest(signals=signals), self.assertRaises(rb.Refused):
                    sim.step(0.01, signals=signals)
            for color in (0x1e90ff, b"#1e90ff", ["#1e90ff"]):
                with self.subTest(color=color), self.assertRaises(rb.Refused):
                    sim.spawn("box", x=5, color=color)
            self.assertEqual(sim.step(0.01).time, 10_000_000)

    def test_a_step_that_cannot_end_was_applied(self):
        with launch(RIG) as sim:
            gone, a = sim.spawn("box", x=20, name="gone"), sim.spawn("box", x=5)
            sim.step(0.1)
            gone.destroy()
            b = sim.spawn("box", x=9, name="b")

            def change():
                sim.resume()
                sim.pause()

            other = threading.Timer(0.3, change)
            other.start()
            with self.assertRaisesRegex(rb.Unfinished, "the frame was applied, but the step did not end") as caught:
                sim.step(9e3, {a: rb.Pose(6, 0)})
            other.join()
            self.assertEqual(caught.exception.kind, "wrong_mode")
            self.assertNotIsInstance(caught.exception, rb.Refused)
            self.assertTrue(b.handle)
            self.assertEqual({x["name"] for x in sim.api("GET", "/v1/actors")["actors"]}, {a.name, "b"})
            stands = sim.time
            self.assertLess(stands, 9_000_000_000_000)
            frame = sim.step(0.1, {a: rb.Pose(7, 0), b: rb.Pose(9, 1)})
            self.assertEqual(frame.time, stands + 100_000_000)
            stamps = [s.stamp for s in frame.all("front/image")]
            self.assertEqual(stamps[0], 200_000_000, "what the step before brought is here")

    def test_a_full_world(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "two.yaml")
            with open(config, "w") as f:
                f.write("world: {capacity: 2}\n")
            with launch(config=config) as sim:
                come = [sim.spawn("box", x=5 + 3 * i) for i in range(5)]
                with self.assertRaisesRegex(rb.Refused, "world.capacity makes more") as caught:
                    sim.step(0.01)
                self.assertEqual((caught.exception.kind, caught.exception.list, caught.exception.index), ("full", "spawn", 2))
                sim.step(0.01)
                self.assertEqual([bool(a.handle) for a in come], [True, True, False, False, False])

    def test_one_owner(self):
        with launch() as sim:
            sim.step(0.01)
            with rb.connect(sim.address) as other:
                with self.assertRaisesRegex(rb.Busy, "another connection steps this run"):
                    other.step(0.01)
                with self.assertRaisesRegex(rb.Refused, "steps this run") as caught:
                    other.api("POST", "/v1/step", {"steps": 1})
                self.assertEqual(caught.exception.kind, "http_409")
            with rb.connect(sim.address) as third:
                sim._stream.close()  # the owner vanishes
                for _ in range(500):
                    try:
                        self.assertEqual(third.step(0.01).time, 20_000_000, "a paused run is left")
                        break
                    except rb.Busy:
                        time.sleep(0.01)

    def test_what_comes_between_steps_is_in_the_next(self):
        with launch(RIG) as sim:
            sim.step(0.1)
            frames = [sim.step(1, wait="none")]
            time.sleep(3)  # it comes meanwhile
            frames.append(sim.step(0.1))
            for key, times in (("imu/imu", range(110, 1201, 10)), ("front/image", range(200, 1201, 100))):
                self.assertEqual([s.stamp for f in frames for s in f.all(key)], [1_000_000 * t for t in times])
            self.assertEqual(frames[1].missing, {})

    def test_what_is_too_much_between_steps_is_counted(self):
        with launch() as sim:
            frame = sim.step(0.01)
            stream = sim._stream.streams[sim._id("imu/imu")]
            for _ in range(1005):
                sim._take(stream, frame._data[stream.id][0])
            frame = sim.step(0.01)
            self.assertEqual(len(frame.all("imu/imu")), 1001)
            self.assertRegex(frame.missing["imu/imu"], "^5 samples .* left out")
            for _ in range(4):
                sim._take(stream, np.zeros(6 << 20, np.uint8))
            frame = sim.step(0.01)
            self.assertEqual(len(frame._data[stream.id]), 3)
            self.assertRegex(frame.missing["imu/imu"], "^2 samples")
            self.assertEqual(sim.step(0.01).missing, {})

    def test_names_go_on_after_those_of_an_owner_who_went(self):
        with launch() as sim:
            names = [sim.spawn("box", x=5 + 3 * i).name for i in range(11)]
            self.assertEqual((names[0], names[-1]), ("box-py1", "box-py11"))
            sim.spawn("box", y=9, name="box-python")
            sim.step(0.01)
            with rb.connect(sim.address) as other:
                sim._stream.close()
                car = other.spawn("vehicle.sedan", y=20)
                self.assertEqual(car.name, "vehicle.sedan-py12")
                self.assertEqual(other.spawn("box", y=30).name, "box-py13")
                for _ in range(500):
                    try:
                        other.step(0.01)
                        break
                    except rb.Busy:
                        time.sleep(0.01)
                self.assertIsNotNone(car.handle)

    def test_a_name_comes_again(self):
        for wanted in (None, ["imu/imu", "rear/imu"]):
            with self.subTest(wanted=wanted), launch() as first:
                first.spawn_sensor("sensor.other.imu", "rear", rate=100)
                sim = first if wanted is None else rb.connect(first.address, sensors=wanted)
                before = sim.step(0.1)
                self.assertGreater(before["rear/imu"].linear_acceleration.z, 9)
                for i in range(20):
                    sim.remove_sensor("rear")
                    self.assertNotIn("rear/imu", sim.sensors)
                    sim.spawn_sensor("sensor.other.gnss" if i % 2 == 0 else "sensor.other.imu", "rear", rate=100)
                frame = sim.step(0.1)
                self.assertEqual(len(frame.all("rear/imu")), 9)
                self.assertEqual(len(before.all("rear/imu")), 9, "of the one before")
                self.assertEqual(len(sim._stream.streams), len(sim._keys))

    def test_sensors_come_and_go(self):
        with launch() as sim:
            keys = sim.spawn_sensor("sensor.camera.rgb", "rear", x=-1, z=1.5, yaw=math.pi, rate=10, image_size_x=32, image_size_y=16)
            self.assertIn("rear/image", keys)
            images = [sim.step(0.1)["rear/image"] for _ in range(4)]
            self.assertEqual({i.shape for i in images if i is not None}, {(16, 32, 3)})
            sim.remove_sensor("rear")
            sim.step(0.1)
            self.assertEqual(images[-1].shape, (16, 32, 3))
            with self.assertRaises(rb.UnknownSensor):
                sim.step(0.1)["rear/image"]
            with self.assertRaises(rb.Refused):
                sim.spawn_sensor("sensor.camera.none", "x")
            self.assertTrue(sim.models["vehicle.sedan"].paint)
            self.assertFalse(sim.models["walker.pedestrian.0001"].paint)
            self.assertTrue(sim.status()["time"]["paused"])

    def test_a_camera_is_as_it_was_calibrated(self):
        calibration = "image_width: 64\nimage_height: 48\nK: [30.125, 0, 31, 0, 30.25, 23, 0, 0, 1]\ndistortion_model: equidistant\nD: [0.0625, 0.01, 0, 0]\n"
        with launch() as sim:
            keys = sim.spawn_sensor("sensor.camera.rgb", "wide", z=1.5, rate=10, calibration=calibration, shutter="rolling", line_time=1e-4, exposure_time=0.002)
            self.assertEqual(keys, ["wide/image", "wide/camera_info"])
            frames = [sim.step(0.1) for _ in range(3)]
            picture, info = frames[-1]["wide/image"], frames[-1]["wide/camera_info"]
            self.assertEqual((picture.shape, info.distortion_model, list(info.k[:5]), list(info.d)), ((48, 64, 3), "equidistant", [30.125, 0, 31, 0, 30.25], [0.0625, 0.01, 0, 0]))
            self.assertEqual(picture.stamp, 300_000_000 - 47 * 100_000 - 1_000_000, "the middle of the first row's exposure")
            self.assertTrue(picture.any())
            rays = np.zeros((16, 32, 3), np.float32)
            rays[..., 0], rays[..., 2] = np.linspace(-1, 1, 32), 1
            table = io.BytesIO()
            np.save(table, rays)
            sim.spawn_sensor("sensor.camera.depth", "own", z=1.5, rate=10, image_size_x=32, image_size_y=16, lens="table", table=base64.b64encode(table.getvalue()).decode())
            for bad, why in (({"calibration": "wide.yaml"}, 'calibration is the path "wide.yaml".*give the file\'s content'),
                             ({"calibration": calibration.replace("30.125", ".nan")}, "calibration:3:5: .*need a finite number"),
                             ({"calibration": calibration, "image_size_x": 65}, "image_size_x is 65, and the calibration file is for a picture of 64x48"),
                             ({"lens": "table", "table": "k05VTVBZ"}, "table: calibration can't be used"),
                             ({"shutter": "rolling", "line_time": 0.01}, "a line_time of 0.01 s makes a picture of 64 lines"),
                             ({"shutter": "sideways"}, "sideways")):
                with self.subTest(bad=bad), self.assertRaisesRegex(rb.Refused, why):
                    sim.spawn_sensor("sensor.camera.rgb", "bad", rate=10, **{"image_size_y": 64, **bad} if "line_time" in bad else bad)
            sim.step(0.1)

    def test_color(self):
        rig = {"sensors": [dict(RIG["sensors"][0], pose={"x": 0, "z": 1})]}
        with launch(rig) as sim:
            with self.assertRaises(rb.Refused):
                sim.spawn("box", color="blue")
            a = sim.spawn("box", x=5, size=(1, 4, 3), color="#0000ff")
            middle = sim.step(0.1)["front/image"][20, 32]
            self.assertGreater(int(middle[2]), int(middle[0]) + 100)
            a.destroy()
            sim.spawn("box", x=5, size=(1, 4, 3))
            middle = sim.step(0.1)["front/image"][20, 32]
            self.assertLess(abs(int(middle[2]) - int(middle[0])), 20)

    def test_joints(self):
        rig = {"sensors": [dict(RIG["sensors"][0], pose={"x": 0, "z": 0.6})]}
        with launch(rig) as sim:
            joints = sim.models["vehicle.sedan"].joints
            self.assertEqual(list(joints)[:2], ["front_left_steer", "front_left_spin"])
            self.assertEqual(set(joints.values()), {"rad"})
            at = dict(x=3.5, y=0.0, yaw=math.pi / 2)
            car = sim.spawn("vehicle.sedan", pose=rb.Pose(**at, joints={"front_left_steer": 0.5}))
            steered = sim.step(0.1)["front/image"].copy()
            straight = sim.step(0.1, {car: rb.Pose(**at, joints=[0, 0, 0, 0.0])})["front/image"].copy()
            self.assertFalse(np.array_equal(steered, straight))
            again = sim.step(0.1, {car: rb.Pose(**at, joints={"front_left_steer": np.float64(0.5)})})["front/image"]
            self.assertTrue(np.array_equal(steered, again))
            self.assertTrue(np.array_equal(steered, sim.step(0.1, {car: rb.Pose(**at)})["front/image"]), "it is held")
            for bad, why in (({"wing": 1}, "no such joint: .wing.: want front_left_steer"), ([0] * 7, "7 values, the model has 6"), ([math.nan], "NaN")):
                with self.assertRaisesRegex(rb.Refused, why) as caught:
                    sim.step(0.1, {car: rb.Pose(**at, joints=bad)})
                self.assertEqual((caught.exception.kind, caught.exception.list, caught.exception.index), ("value", "actors", 0))

    def test_control(self):
        with launch(config=self.external()) as sim:
            for _ in range(20):
                sim.control(throttle=1)
                frame = sim.step(0.1)
            self.assertGreater(frame.ego.velocity[0], 1)

    def external(self):
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write("ego:\n  driver: external\n")
        return file.name


class TestLife(unittest.TestCase):
    def test_a_long_folder_for_temporary_files(self):
        with tempfile.TemporaryDirectory() as folder:
            long = os.path.join(folder, "x" * 120)
            os.mkdir(long)
            with unittest.mock.patch("tempfile.tempdir", long):
                with launch() as sim:
                    self.assertEqual(sim.step(0.01).time, 10_000_000)
                    self.assertLessEqual(len(sim.address), len("unix:") + 107)
                self.assertEqual(os.listdir(long), [], "what is too long leaves nothing behind")
                with unittest.mock.patch("raybridge._launch._PLACES", (None, long)):
                    with self.assertRaisesRegex(rb.Error, "TMPDIR.*107 bytes"):
                        launch()
            with self.assertRaisesRegex(rb.ConnectionFailed, "has 1[0-9][0-9] bytes, a UNIX socket's 107 at most"):
                rb.connect("unix:" + os.path.join(long, "api"))

    def test_a_connection_rests(self):
        with launch() as sim:
            sim.step(0.01)
            time.sleep(6.5)  # longer than a server waits for a sign of life
            self.assertEqual(sim.step(0.01).time, 20_000_000)

    def test_races_with_the_resting_thread(self):
        class Emptied(collections.deque):
            def __bool__(self):  # it was not empty when it was asked
                return True

        class Ends(rb.Sim):
            @property
            def _taking(self):  # the step ends after the first look
                self.looks += 1
                return {} if self.looks == 1 else None

        with launch() as sim:
            sim._stream._read_out = Emptied([])
            sim._stream.release()
            ends = Ends.__new__(Ends)
            ends.looks, ends._early = 0, {}
            ends._take(sim._stream.streams[1], b"")

    def test_a_fault_in_the_resting_thread_is_told(self):
        def fault():
            raise RuntimeError("a fault of this test")

        with launch() as sim:
            sim._stream.release = fault
            sim._stream._alive.join(10)
            with self.assertRaisesRegex(rb.Closed, "a fault of this test"):
                sim.step(0.01)

    def test_many_open_files(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= hard < 2048:
            self.skipTest(f"only {hard} files may be open")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]
        try:
            with launch() as sim:
                self.assertGreater(sim._stream._socket.fileno(), 1023)
                sim.spawn_sensor("sensor.other.imu", "second")
                with self.assertRaises(rb.Timeout):
                    sim.read("imu/imu", 0.01)
                time.sleep(1.5)
                self.assertEqual(sim.step(0.01).time, 10_000_000)
        finally:
            for file in files:
                os.close(file)

    def test_requests_survive_a_connection_that_was_ended(self):
        with launch() as sim:
            for method, path in (("POST", "/v1/pause"), ("GET", "/v1/status")):
                sim.api("GET", "/healthz")
                sim.api._connection.sock.shutdown(socket.SHUT_RDWR)
                sim.api(method, path)

    def test_a_dead_program_is_an_exception(self):
        sim = launch()
        sim.step(0.01)
        sim._program.kill()
        begun = time.monotonic()
        with self.assertRaisesRegex(rb.Closed, "signal SIGKILL"):
            while True:
                sim.step(0.01)
        self.assertLess(time.monotonic() - begun, 30)
        with self.assertRaises(rb.Closed):
            sim.step(0.01)
        with self.assertRaises(rb.Closed):
            sim.pause()
        sim.close()
        sim.close()

    def test_a_stopped_program_is_waited_for(self):
        with launch() as sim:
            sim.step(0.01)
            sim._program.send_signal(signal.SIGSTOP)
            os.waitpid(sim._program.pid, os.WUNTRACED)  # it has stopped
            threading.Timer(7, sim._program.send_signal, (signal.SIGCONT,)).start()
            begun = time.monotonic()
            self.assertEqual(sim.step(0.01).time, 20_000_000)
            self.assertGreater(time.monotonic() - begun, 6)
            self.assertEqual(sim.step(0.01).time, 30_000_000)

    def test_a_program_that_hangs(self):
        with unittest.mock.patch("raybridge._wire._ANSWER", 0.2), launch() as sim:
            sim.step(0.01)
            sim._program.send_signal(signal.SIGSTOP)
            sim._stream.stopped = lambda: False  # it is as silent as one that hangs
            try:
                os.waitpid(sim._program.pid, os.WUNTRACED)  # it has stopped
                with self.assertRaisesRegex(rb.Timeout, "no answer within 0.2 s"):
                    sim.status()
                with self.assertRaisesRegex(rb.Closed, "silent for 5 s"):
                    sim.step(0.01)
            finally:
                sim._program.send_signal(signal.SIGCONT)

    def test_a_program_that_dies_in_a_step(self):
        sim = launch(RIG)
        self.addCleanup(sim.close)
        threading.Timer(1, sim._program.kill).start()
        with self.assertRaisesRegex(rb.Closed, "SIGKILL"):
            sim.step(9e3)

    def test_an_interrupted_step_frees_the_run(self):
        with launch(RIG) as sim:
            sim.step(0.1)
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                sim.step(9e3)
            with self.assertRaisesRegex(rb.Closed, "interrupted .*: connect again"):
                sim.step(0.1)
            sim._stream._alive.join(5)
            self.assertFalse(sim._stream._alive.is_alive())
            with rb.connect(sim.address) as other:
                self.wait_to_own(other)

    def wait_to_own(self, sim):
        for _ in range(2000):
            try:
                return sim.step(0.01)
            except rb.Busy:
                time.sleep(0.01)
        self.fail("the run is still another's")

    def test_a_program_that_does_not_begin(self):
        with self.assertRaisesRegex(rb.Refused, r"exit code 2(.|\n)*no-such-rig"):
            launch("no-such-rig.yaml")
        for _ in range(5):  # whether it ends before it listens or after
            with self.assertRaisesRegex(rb.Refused, r"exit code 2(.|\n)*nowhere\.glb: no such file"):
                rb.launch(scene="nowhere.glb", gpu="software")
        os_binary = os.environ.get("RAYBRIDGE_BINARY")
        try:
            os.environ["RAYBRIDGE_BINARY"] = "/no/such/program"
            with self.assertRaisesRegex(rb.ConnectionFailed, "start /no/such/program"):
                launch()
        finally:
            if os_binary is None:
                del os.environ["RAYBRIDGE_BINARY"]
            else:
                os.environ["RAYBRIDGE_BINARY"] = os_binary

    def test_close_ends_the_program(self):
        with launch() as sim:
            program, folder = sim._program, os.path.dirname(sim.address[len("unix:"):])
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
            sim.step(0.01)
        self.assertIsNotNone(program.poll())
        self.assertFalse(os.path.exists(folder))
        with self.assertRaises(rb.Closed):
            sim.step(0.01)

    def test_an_interrupt_of_the_terminal_leaves_the_program_to_us(self):
        script = self.script("import time, raybridge as rb\n"
                             "with rb.launch(scene='plane', rig={'sensors': []}, gpu='software') as sim:\n"
                             "    try:\n"
                             "        print('ready', flush=True)\n"
                             "        time.sleep(60)\n"
                             "    except KeyboardInterrupt:\n"
                             "        time.sleep(1)\n"
                             "        print(sim.step(0.1).time)\n")
        self.assertEqual(script.stdout.readline(), b"ready\n")
        os.killpg(script.pid, signal.SIGINT)
        self.assertEqual(script.communicate()[0], b"100000000\n")

    def test_recordings_are_kept_where_run_puts_them(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "run.yaml")
            with open(config, "w") as f:
                f.write("bridges: [{type: mcap, connection: configured.mcap}]\n")
            os.chdir(folder)
            try:
                for more, place in (({"args": ["--bridge", "mcap:a.mcap"]}, "out/a.mcap"), ({"config": config}, "out/configured.mcap"),
                                    ({"args": ["--bridge", "mcap:b.mcap"], "out": "kept"}, "kept/b.mcap"),
                                    ({"args": ["--bridge", "mcap:c.mcap", "--out", "mine"]}, "mine/c.mcap")):
                    with launch(**more) as sim:
                        sim.step(0.1)
                    with open(os.path.join(folder, place), "rb") as f:
                        self.assertTrue(f.read().endswith(b"\x89MCAP0\r\n"), "it is complete")
                with launch() as sim:
                    sim.step(0.1)
            finally:
                os.chdir(here)
            self.assertEqual(sorted(os.listdir(folder)), ["kept", "mine", "out", "run.yaml"])

    # A Python that is killed can't end its program. One has a child that a fork made, which lives on.
    def test_a_killed_python_takes_its_program_along(self):
        launched = ("import multiprocessing, os, time, raybridge as rb\n"
                    "def work():\n"
                    "    sim = rb.launch(scene='plane', rig={'sensors': [{'id': 'sensor.other.imu', 'name': 'imu'}]}, gpu='software',\n"
                    "                    args=['--bridge', 'mcap:drive.mcap'], out=%r)\n"
                    "    sim.step(0.5)\n"
                    "    later = []\n"
                    "    if %r:\n"
                    "        later = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\n"
                    "        later.start()\n"
                    "        later = [later.pid]\n"
                    "    print(os.getpid(), sim._program.pid, *later, flush=True)\n"
                    "    time.sleep(60)\n")
        for name, forks, begin in (("plain", False, "work()\n"), ("forked", True, "work()\n"),
                                   ("worker", False, "p = multiprocessing.get_context('fork').Process(target=work)\np.start()\np.join()\ntime.sleep(60)\n")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                script = self.script(launched % (folder, forks) + begin)
                mine, program, *later = (int(word) for word in script.stdout.readline().split())
                try:
                    ends = os.pidfd_open(program)
                    os.kill(mine, signal.SIGKILL)
                    self.assertTrue(select.select([ends], [], [], 30)[0], "the program lives on")
                    os.close(ends)
                    with open(os.path.join(folder, "drive.mcap"), "rb") as f:
                        self.assertTrue(f.read().endswith(b"\x89MCAP0\r\n"), "its recording is complete")
                finally:
                    for pid in later:
                        os.kill(pid, signal.SIGKILL)
                script.kill()
                script.wait()

    def script(self, text):
        script = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                  env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rb.__file__))})
        self.addCleanup(script.__exit__, None, None, None)
        self.addCleanup(script.kill)
        return script

    def test_close_waits_as_long_as_the_program_may_take(self):
        with tempfile.TemporaryDirectory() as folder:
            slow = os.path.join(folder, "slow")
            with open(slow, "w") as f:
                f.write(f"#!/bin/sh\ntrap 'sleep 11; : >{folder}/whole; exit' INT\nwhile :; do sleep 0.1; done\n")
            os.chmod(slow, 0o700)
            with unittest.mock.patch.dict(os.environ, RAYBRIDGE_BINARY=slow):
                with self.assertRaisesRegex(rb.ConnectionFailed, "is not there after 1 s"):
                    launch(timeout=1)
            self.assertTrue(os.path.exists(os.path.join(folder, "whole")))

    def test_what_nobody_has_ends(self):
        sim = launch(RIG)
        other = rb.connect(sim.address)
        car = sim.spawn("vehicle.sedan", x=12)
        frame = sim.step(0.1, {car: rb.Pose(13, 0)})
        program, folder, threads = sim._program, os.path.dirname(sim.address[len("unix:"):]), [sim._stream._alive, other._stream._alive]
        image = frame["front/image"]
        del sim, other, car, frame
        gc.collect()
        self.assertIsNotNone(program.poll())
        self.assertFalse(os.path.exists(folder))
        for thread in threads:
            thread.join(10)
            self.assertFalse(thread.is_alive())
        self.assertEqual(image.copy().shape, (48, 64, 3))

    def test_the_end_of_python_is_the_programs(self):
        script = self.script("import raybridge as rb\n"
                             "sim = rb.launch(scene='plane', rig={'sensors': []}, gpu='software')\n"
                             "frame = sim.step(0.1)\n"
                             "print(sim._program.pid)\n")
        out, _ = script.communicate()
        self.assertRaises(ProcessLookupError, os.kill, int(out), 0)

    def test_a_child_process_is_told(self):
        with launch() as sim:
            sim.step(0.01)
            child = os.fork()
            if child == 0:
                code = 2
                try:
                    sim.step(0.01)
                except rb.Closed as e:
                    code = 0 if "fork" in str(e) else 1
                sim.close()  # which is not the parent's
                os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            sim.step(0.01)

    def test_tcp_and_token(self):
        environment = {**os.environ, "RAYBRIDGE_API_TOKEN": "a-secret-of-this-test"}
        with tempfile.TemporaryDirectory() as folder:
            command = [rb.binary(), "run", "--scene", "plane", "--gpu", "software", "--step", "--paused", "--api", "127.0.0.1:0", "--out", folder]
            program = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)
            try:
                for line in program.stderr:
                    found = re.search(rb"API on http://(\S+)", line)
                    if found:
                        break
                address = found[1].decode()
                threading.Thread(target=program.stderr.read, daemon=True).start()
                with self.assertRaisesRegex(rb.ConnectionFailed, f"^{address} refuses: HTTP/1.1 401"):
                    rb.connect(address)
                with rb.connect(address, token="a-secret-of-this-test\n", sensors=["imu/imu"], timeout=60) as sim:
                    self.assertEqual(len(sim.step(0.1).all("imu/imu")), 10)
                    program.send_signal(signal.SIGINT)
                    with self.assertRaises(rb.Closed):
                        for _ in range(10_000):
                            sim.step(0.1)
            finally:
                program.kill()
                program.wait()
                program.stderr.close()


class Peer:
    """A server that says what it was told to, once."""

    def __init__(self, *answers):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.answers = answers
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection:
            for answer in self.answers:
                connection.recv(4096)
                connection.sendall(answer)
            while connection.recv(4096):
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.thread.join(5)


UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n"


class TestPeers(unittest.TestCase):
    def test_another_version_names_both(self):
        rest = struct.pack("<H", 3) + b"old"
        with Peer(UPGRADED, struct.pack("<8sHHI", b"RBSTREAM", 7, 2, len(rest)) + rest) as peer:
            with self.assertRaisesRegex(rb.VersionMismatch, "version 2 .*version 7"):
                rb.connect(peer.address)

    def test_what_is_no_api(self):
        with Peer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nno...") as peer:
            with self.assertRaisesRegex(rb.ConnectionFailed, "404 Not Found no..."):
                rb.connect(peer.address)
        with Peer(b"SSH-2.0-x\r\n\r\n") as peer:
            with self.assertRaisesRegex(rb.ConnectionFailed, "SSH"):
                rb.connect(peer.address)
        with Peer(UPGRADED, b"x" * 16) as peer:
            with self.assertRaisesRegex(rb.ConnectionFailed, "does not speak"):
                rb.connect(peer.address)
        with Peer(UPGRADED) as peer:
            with self.assertRaisesRegex(rb.Timeout, "no answer within 0.2 s"):
                rb.connect(peer.address, timeout=0.2)

    def test_nobody_is_there(self):
        for address in ("127.0.0.1:1", "unix:/no/such/socket"):
            with self.assertRaisesRegex(rb.ConnectionFailed, "is a run with --api there"):
                rb.connect(address)
        with self.assertRaisesRegex(rb.ConnectionFailed, "want HOST:PORT"):
            rb.connect("here")


if __name__ == "__main__":
    unittest.main()
