"""Tests of recordings, which the real program makes and reads."""
import gc
import os
import signal
import struct
import sys
import tempfile
import unittest
import unittest.mock
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import numpy as np  # noqa: E402

import raybridge as rb  # noqa: E402

RIG = {"sensors": [
    {"id": "sensor.camera.rgb", "name": "front", "rate": 10, "image_size_x": 64, "image_size_y": 48, "pose": {"z": 1.5}},
    {"id": "sensor.lidar.ray_cast", "name": "lidar", "rate": 10, "preset": "VelodyneVLP16", "pose": {"z": 1.8}},
    {"id": "sensor.other.imu", "name": "imu", "rate": 100},
    {"id": "sensor.other.snapshot", "name": "all"},
]}
TOPICS = {"front/image_raw": "front/image", "front/camera_info": "front/camera_info", "lidar/points": "lidar/points", "imu/data": "imu/imu",
          "all": "all/snapshot"}  # of recordings, and keys of the sensors


class TestReplay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        args = ["--bridge", "mcap:drive.mcap", "--bridge", "mcap:bag/", "--bridge", "mcap:part.mcap?split=2MB"]
        with rb.launch(scene="plane", rig=RIG, gpu="software", args=args, out=cls.folder) as sim:
            car = sim.spawn("vehicle.sedan", x=12)
            cls.frames = [sim.step(0.1, {car: rb.Pose(12 + k, 0)}) for k in range(8)]
            for frame in cls.frames:
                for key in frame:
                    frame.all(key)

    def path(self, name):
        return os.path.join(self.folder, name)

    def live(self, key):
        return [sample for frame in self.frames for sample in frame.all(key)]

    def test_a_recording_has_what_the_simulation_had(self):
        for name in ("drive.mcap", "bag", "part.mcap"):
            with self.subTest(name):
                got = {}
                last = 0
                for sample in rb.replay(self.path(name)):
                    self.assertGreaterEqual(sample.info.published, last)
                    last = sample.info.published
                    got.setdefault(sample.info.key, []).append(sample)
                for topic, key in TOPICS.items():
                    live = self.live(key)
                    self.assertEqual(len(got[topic]), len(live))
                    for a, b in zip(got[topic], live):
                        self.assertEqual((type(a), a.stamp, a.info.topic, a.info.message, a.info.frame_id),
                                         (type(b), b.stamp, b.info.topic, b.info.message, b.info.frame_id))
                        self.same(a, b)
                        self.assertEqual(a.info.sequence, -1)
                        self.assertTrue(np.isnan(a.info.position).all(), "a recording doesn't tell")

    def same(self, a, b):
        if isinstance(a, rb.Record):
            a, b = a.to_dict(), b.to_dict()
            self.assertEqual({**a, "info": 0}, {**b, "info": 0})
        elif a.dtype.names is None:
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            self.assertEqual(a.tobytes(), b.tobytes())
        else:
            self.assertEqual(a.dtype, b.dtype)
            for field in ("x", "y", "z", "distance", "azimuth", "elevation", "time_stamp", "ring"):
                self.assertEqual(a[field].tobytes(), b[field].tobytes())
            self.assertEqual(a["ObjIdx"].max(), 0, "its messages have no place for it")

    def test_a_part(self):
        def stamps(**part):
            return [s.stamp // 1_000_000 for s in rb.replay(self.path("drive.mcap"), topics=["/front/image_raw"], **part)]

        self.assertEqual(stamps(), [100, 200, 300, 400, 500, 600, 700, 800])
        self.assertEqual(stamps(start=0.25), [300, 400, 500, 600, 700, 800])
        self.assertEqual(stamps(start=0.25, duration=0.2), [300, 400])
        keys = {s.info.key for s in rb.replay(self.path("drive.mcap"), topics=["front/*", "all"])}
        self.assertEqual(keys, {"front/image_raw", "front/camera_info", "all"})

    def test_several_are_one(self):
        with self.assertWarnsRegex(UserWarning, "two files have messages of the same times"):
            times = [s.info.published for s in rb.replay(self.path("drive.mcap"), self.path("bag"), topics=["imu/data"])]
        self.assertEqual(times, sorted(2 * [s.stamp for s in self.live("imu/imu")]))

    def test_who_stops_early_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as temporary, unittest.mock.patch.object(tempfile, "tempdir", temporary):
            with rb.replay(self.path("drive.mcap")) as replay:
                next(replay)
                program = replay._program
            self.assertIsNotNone(program.returncode)
            self.assertEqual(list(replay), [])
            replay.close()
            for sample in rb.replay(self.path("drive.mcap")):
                break
            gc.collect()
            self.assertEqual(os.listdir(temporary), [])
            self.assertEqual(sample.stamp, sample.info.stamp, "it outlives the replay")

    def test_a_program_that_is_ended_is_told(self):
        for end, text in ((signal.SIGTERM, "before the recording's end"), (signal.SIGKILL, "exit code -9")):
            with self.subTest(end), rb.replay(self.path("drive.mcap")) as replay:
                next(replay)
                replay._program.send_signal(end)  # it waits for us to read, with most of the recording
                with self.assertRaisesRegex(rb.Error, text):
                    list(replay)
                self.assertEqual(list(replay), [])

    def test_a_child_process_leaves_the_replay_alone(self):
        with rb.replay(self.path("drive.mcap")) as replay:
            next(replay)
            child = os.fork()
            if child == 0:
                replay.close()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertGreater(len(list(replay)), 100)

    def test_what_is_wrong_is_told(self):
        for path, more, text in (("none.mcap", {}, "^open recording: .*none.mcap: no such file"), ("drive.mcap", {"topics": ["x"]}, "^nothing to replay: the recording's topics are /clock, "),
                                 ("drive.mcap", {"start": 99}, "behind the recording's end"), ("drive.mcap", {"start": -1}, "is negative")):
            with self.assertRaisesRegex(rb.Error, text):
                list(rb.replay(self.path(path), **more))
        with self.assertRaisesRegex(rb.Error, "recording"):
            rb.replay()
        with unittest.mock.patch.dict(os.environ, RAYBRIDGE_BINARY="/no/such/program"), self.assertRaisesRegex(rb.ConnectionFailed, "start /no/such"):
            rb.replay(self.path("drive.mcap"))

    def test_what_cannot_begin_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as temporary, unittest.mock.patch.object(tempfile, "tempdir", temporary):
            with unittest.mock.patch("raybridge._replay.binary", side_effect=rb.Error("no program")), self.assertRaisesRegex(rb.Error, "no program"):
                rb.replay(self.path("drive.mcap"))
            with self.assertRaises(TypeError):
                rb.replay(7)
            self.assertEqual(os.listdir(temporary), [])

    def test_what_is_left_out_is_told(self):
        with open(self.path("drive.mcap"), "rb") as f:
            whole = f.read()
        with open(self.path("cut.mcap"), "wb") as f:
            f.write(whole[:len(whole) // 2])
        with self.assertWarnsRegex(UserWarning, "was not finished.*cut.mcap"):
            list(rb.replay(self.path("cut.mcap")))
        damaged = bytearray(whole)
        place = self.chunk(whole) + 60  # within the first chunk's records
        damaged[place:place + 8] = bytes(8)
        with open(self.path("bad.mcap"), "wb") as f:
            f.write(damaged)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rest = list(rb.replay(self.path("bad.mcap")))
        self.assertTrue(any("bad.mcap: " in str(w.message) and "are left out" in str(w.message) for w in caught), caught)
        self.assertLess(len(rest), sum(1 for _ in rb.replay(self.path("drive.mcap"))))
        with self.assertRaisesRegex(rb.Error, "bad.mcap"):
            list(rb.replay(self.path("bad.mcap"), strict=True))

    @staticmethod
    def chunk(mcap):
        """The place of the first chunk's content: opcode 6 after the magic and the header."""
        at = 8
        while mcap[at] != 6:
            at += 9 + struct.unpack_from("<Q", mcap, at + 1)[0]
        return at + 9


if __name__ == "__main__":
    unittest.main()
