"""Tests of sweeps, which the real program runs."""
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import raybridge as rb  # noqa: E402

DRIVE = {"duration": "100ms", "scene": {"plane": True}, "sensors": [{"id": "sensor.other.imu", "name": "imu", "rate": 100}],
         "bridges": [{"type": "mcap", "connection": "imu.mcap"}]}


def gone(pid):
    """Whether a process has ended, within some seconds."""
    for _ in range(1000):
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


class TestSweep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = self.path("out")
        self.write("drive.yaml", DRIVE)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as f:
            json.dump(content, f)  # JSON is YAML
        return self.path(name)

    def sweep_file(self, **keys):
        return self.write("sweep.yaml", {"sweep": {"base": "drive.yaml", "device": "host", **keys}})

    def status(self):
        return json.loads(subprocess.run([rb.binary(), "sweep", "status", self.out, "--json"], check=True, stdout=subprocess.PIPE).stdout)

    def begun(self):
        """Wait until a case runs."""
        for _ in range(1000):
            if os.path.exists(os.path.join(self.out, "plan.json")) and self.status()["running"]:
                return
            time.sleep(0.02)
        self.fail("no case has begun")

    def test_cases_come_as_they_end(self):
        file = self.sweep_file(matrix={"sensors.imu.rate": [50, 100]}, repeat={"seed": 2})
        first = list(rb.sweep(file, out=self.out, jobs=2))
        self.assertEqual(sorted((c.settings["sensors.imu.rate"], c.seed) for c in first), [(50, 1), (50, 2), (100, 1), (100, 2)])
        for case in first:
            self.assertIsNone(case.error)
            self.assertEqual(case.metrics["ego.distance"], 0, "nobody drives on the plane")
            self.assertTrue(os.path.exists(os.path.join(case.folder, "outputs", "imu.mcap")))
        self.assertTrue(os.path.exists(os.path.join(self.out, "results.csv")))

        self.sweep_file(matrix={"sensors.imu.rate": [50, 100, 25]}, repeat={"seed": 2})
        with self.assertRaisesRegex(rb.Refused, "--extend"):
            list(rb.sweep(file, self.out))
        more = list(rb.sweep(file, self.out, extend=True, timeout=60))
        self.assertEqual({c.id: c for c in more[:4]}, {c.id: c for c in first}, "those that are done come first")
        self.assertEqual([c.settings["sensors.imu.rate"] for c in more[4:]], [25, 25])
        self.assertEqual(len(list(rb.sweep(out=self.out))), 6, "of the folder's plan")
        self.assertEqual(len(list(rb.sweep(out=self.out, args=["--shard", "0/2"]))), 3)

    def test_a_case_that_failed_has_its_error(self):
        self.write("no.gltf", {})
        self.write("drive.yaml", {key: value for key, value in DRIVE.items() if key != "scene"})
        cases = list(rb.sweep(self.sweep_file(list=[{"scene.file": "no.gltf"}, {"sensors.imu.rate": 50}]), self.out))
        failed, = [c for c in cases if c.error is not None]
        self.assertIn("no.gltf", failed.error)
        self.assertEqual((failed.settings, failed.metrics, failed.folder), ({"scene.file": "no.gltf"}, {}, None))
        self.assertEqual(len(cases), 2)

    def test_who_stops_early_leaves_nothing_running(self):
        file = self.sweep_file(list=[{"sensors.imu.rate": 50}, {"duration": "1000h"}])
        with tempfile.TemporaryDirectory() as temporary, unittest.mock.patch.object(tempfile, "tempdir", temporary):
            with rb.sweep(file, self.out, jobs=2) as cases:
                done = next(cases)
                program = cases._program
            self.assertIsNotNone(program.returncode)
            self.assertEqual(list(cases), [])
            cases.close()
            for case in rb.sweep(file, self.out, jobs=2):
                self.assertEqual(case, done, "it continues")
                break
            gc.collect()
            self.assertEqual(os.listdir(temporary), [])
        state = self.status()
        self.assertEqual((state["done"], state["running"], state.get("coordinator")), (1, 0, None))

    def test_it_ends_with_python(self):
        file = self.sweep_file(list=[{"duration": "1000h"}])
        program = "import sys, raybridge as rb\nfor _ in rb.sweep(sys.argv[1], sys.argv[2]): pass"
        environment = {**os.environ, "PYTHONPATH": os.path.join(os.path.dirname(__file__), "..")}
        for end in (signal.SIGKILL, signal.SIGINT):
            with self.subTest(end), subprocess.Popen([sys.executable, "-c", program, file, self.out], env=environment, stderr=subprocess.DEVNULL) as python:
                self.begun()
                with open(os.path.join(self.out, "lock"), encoding="utf-8") as f:
                    pid = json.load(f)["pid"]
                python.send_signal(end)
                python.wait(60)
                self.assertTrue(gone(pid))
                self.assertEqual(self.status()["running"], 0)

    def test_a_program_that_is_ended_is_told(self):
        file = self.sweep_file(list=[{"duration": "1000h"}])
        for end, text in ((signal.SIGTERM, "1 of 1 cases are left"), (signal.SIGKILL, "SIGKILL")):
            with self.subTest(end), rb.sweep(file, self.out) as cases:
                self.begun()
                cases._program.send_signal(end)
                with self.assertRaisesRegex(rb.Closed, text):
                    next(cases)
                self.assertEqual(list(cases), [])

    def test_a_child_process_leaves_the_sweep_alone(self):
        with rb.sweep(self.sweep_file(repeat={"seed": 2}), self.out) as cases:
            child = os.fork()
            if child == 0:
                cases.close()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(len(list(cases)), 2)

    def test_wrong_use_is_told(self):
        for keys, more, text in (({"matrix": {}}, {}, "sweep.yaml:.*: the matrix has no key"), ({"matrix": {"ego.sped": [1]}}, {}, "did you mean speed"),
                                 ({"repeat": {"seed": 2}}, {"jobs": -1}, "--jobs -1"), ({"repeat": {"seed": 2}}, {"args": ["--shard", "2/2"]}, "shares count from 0")):
            with self.subTest(text), self.assertRaisesRegex(rb.Refused, text):
                list(rb.sweep(self.sweep_file(**keys), self.out, **more))
        with self.assertRaisesRegex(rb.Refused, "none.yaml: no such file"):
            next(rb.sweep(self.path("none.yaml")))
        with self.assertRaisesRegex(rb.Refused, "no sweep was planned there"):
            next(rb.sweep(out=self.folder))
        with self.assertRaises(TypeError):
            rb.sweep(7)
        with tempfile.TemporaryDirectory() as temporary, unittest.mock.patch.object(tempfile, "tempdir", temporary):
            with unittest.mock.patch.dict(os.environ, RAYBRIDGE_BINARY="/no/such/program"), self.assertRaisesRegex(rb.ConnectionFailed, "start /no/such"):
                rb.sweep(self.path("sweep.yaml"))
            self.assertEqual(os.listdir(temporary), [])

    def test_two_at_a_time_are_refused(self):
        file = self.sweep_file(list=[{"duration": "1000h"}])
        with rb.sweep(file, self.out):
            self.begun()
            with self.assertRaisesRegex(rb.Refused, "is locked by another sweep run: .* which is running: raybridge sweep status"):
                next(rb.sweep(file, self.out))


if __name__ == "__main__":
    unittest.main()
