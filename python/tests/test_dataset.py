"""Tests of data sets that written_sets.py writes, which shares no code with the package."""
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.dirname(__file__))

import numpy as np  # noqa: E402

import raybridge as rb  # noqa: E402
import written_sets as world  # noqa: E402
from raybridge._pictures import mask_of, read_png, unpacked  # noqa: E402

near = np.testing.assert_allclose


class Written:
    """A set of a format, which is written once for its tests."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.written = getattr(world, cls.kind)(folder.name)
        cls.data = rb.Dataset(folder.name)

    def copy(self):
        """A copy of the set to spoil."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return shutil.copytree(self.folder, os.path.join(folder.name, "set"))

    def box_is(self, box, thing, within=1e-6):
        near(box.centre, thing["centre"], atol=within)
        near(np.exp(1j * box.yaw), np.exp(1j * thing["yaw"]), atol=within)
        near(box.size, thing["size"], atol=within)


class TestNuScenes(Written, unittest.TestCase):
    kind = "nuscenes"

    def test_key_frames(self):
        self.assertEqual((self.data.format, self.data.version, len(self.data)), ("nuscenes", "v1.0-written", 8))
        self.assertEqual((self.data.scenes, self.data.splits), (("scene-0001", "scene-0002"), ("train", "val")))
        for frame, written in zip(self.data, self.written):
            self.assertEqual((frame.scene, frame.number, frame.stamp, frame.token), (written["scene"], written["number"], written["stamp"], written["token"]))
            x, y, yaw = written["ego"]
            near(frame.ego_to_global, [[np.cos(yaw), -np.sin(yaw), 0, x], [np.sin(yaw), np.cos(yaw), 0, y], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-9)
            self.assertEqual(list(frame.captures), ["CAM_BACK", "CAM_FRONT", "LIDAR_TOP", "RADAR_FRONT"], "without sweeps")
            self.assertEqual((list(frame.cameras), list(frame.lidars), list(frame.radars)), (["CAM_BACK", "CAM_FRONT"], ["LIDAR_TOP"], ["RADAR_FRONT"]))
            self.assertEqual({c.stamp for c in frame.captures.values()}, {written["stamp"]})

    def test_boxes(self):
        for frame, written in zip(self.data, self.written):
            boxes = {box.instance: box for box in frame.boxes()}
            self.assertEqual(len(boxes), len(written["objects"]))
            for thing in written["objects"]:
                box = boxes[thing["instance"]]
                self.box_is(box, thing)
                self.assertEqual((box.category, box.attributes), (thing["category"], tuple(filter(None, (thing["attribute"],)))))
                self.assertEqual((box.lidar_points, box.radar_points), (thing["lidar_points"], thing["radar_points"]))
                self.assertEqual(box.visibility, {"1": (0, 0.4), "4": (0.8, 1)}[thing["visibility"]])
                near(box.velocity, thing["velocity"], atol=1e-6)
                inside = box.contains(frame["LIDAR_TOP"].points())
                np.testing.assert_array_equal(inside[written["hit"] == thing["id"]], True)
                self.assertEqual(inside[written["hit"] != thing["id"]].sum(), 0)

    def test_boxes_in_pictures(self):
        for frame, written in zip(self.data, self.written):
            seen = {thing["instance"]: thing for thing in written["objects"] if "in_picture" in thing}
            boxes = frame["CAM_FRONT"].boxes
            self.assertEqual({box.instance for box in boxes}, set(seen))
            for box in boxes:
                thing = seen[box.instance]
                self.assertEqual((box.category, list(box.box), box.area, box.mask()), (thing["category"], thing["in_picture"], thing["pixels"], None))
                self.assertIn("bbox_corners", box.extra)
            self.assertEqual(frame["CAM_BACK"].boxes, [])

    def test_frames(self):
        frame = self.data[2]
        for box, own, sees in zip(frame.boxes("global"), frame.boxes(), frame.boxes("CAM_FRONT")):
            near(box.centre, world.to_global(own.centre, 2 * world.STEP), atol=1e-6)
            x, y, z = own.centre - world.CAMERA
            near(sees.centre, (-y, -z, x), atol=1e-6)
            near(sees.corners(), (own.corners() - world.CAMERA)[:, [1, 2, 0]] * (-1, -1, 1), atol=1e-6)
        near(frame.transform("LIDAR_TOP", "CAM_FRONT") @ frame.transform("CAM_FRONT", "LIDAR_TOP"), np.eye(4), atol=1e-12)
        near(frame.transform("LIDAR_TOP", "ego") @ (0, 2, 0, 1), np.add(world.LIDAR, (2, 0, 0)).tolist() + [1], atol=1e-9)
        with self.assertRaisesRegex(rb.UnknownSensor, "no 'CAM_LEFT'; it has CAM_BACK, CAM_FRONT"):
            frame.boxes("CAM_LEFT")

    def test_clouds(self):
        for frame, written in zip(self.data, self.written):
            lidar = frame["LIDAR_TOP"]
            points = lidar.points()
            self.assertEqual((points.dtype, lidar.fields), (np.float32, ("x", "y", "z", "intensity", "ring")))
            near(points[:, :3], written["points"], atol=1e-4)
            near(points[:, 3], written["intensity"])
            np.testing.assert_array_equal(points[:, 4], written["ring"])
            x, y, z = (written["points"] - world.LIDAR).T
            near(lidar.points("sensor")[:, :3], np.stack((-y, x, z), 1), atol=1e-4)
            near(lidar.points("global")[:, :3], world.to_global(written["points"], written["number"] * world.STEP), atol=1e-4)
            names = {0: "flat.driveable_surface", **{id: thing[0] for id, thing in world.OBJECTS.items()}}
            self.assertEqual([self.data.label_names[label] for label in lidar.labels().tolist()], [names[id] for id in written["hit"].tolist()])
            np.testing.assert_array_equal(lidar.instances(), written["hit"])
            np.testing.assert_array_equal(lidar._panoptic() // 1000, lidar.labels())

    def test_a_point_projects_to_what_it_hits(self):
        for frame, written in zip(self.data, self.written):
            camera = frame["CAM_FRONT"]
            cloud = frame["LIDAR_TOP"].points("sensor")[:, :3]
            moved = cloud @ frame.transform("LIDAR_TOP", "CAM_FRONT")[:3, :3].T + frame.transform("LIDAR_TOP", "CAM_FRONT")[:3, 3]
            pixels = camera.project(moved)
            self.assertTrue(np.isnan(pixels[moved[:, 2] <= 0]).all())
            with np.errstate(invalid="ignore"):
                ahead = (moved[:, 2] > 0) & (pixels >= 0).all(1) & (pixels < (camera.width, camera.height)).all(1)
            u, v = pixels[ahead].astype(int).T
            self.assertGreater((written["seen"][v, u] == written["hit"][ahead]).mean(), 0.9)

    def test_radars(self):
        for frame, written in zip(self.data, self.written):
            radar = frame["RADAR_FRONT"]
            echoes, own = radar.points(), radar.points("sensor")
            self.assertEqual(echoes["id"].tolist(), [id for id, _, _ in written["echoes"]])
            for got, raw, (id, place, velocity) in zip(echoes, own, written["echoes"]):
                near([got["x"], got["y"], got["z"]], place, atol=1e-5)
                near([raw["x"], raw["y"], raw["z"]], place - world.RADAR, atol=1e-5)
                near([raw["vx"], raw["vx_comp"], raw["vy_comp"]], [velocity[0] - 5, *velocity[:2]], atol=1e-5)
                self.assertEqual((got["rcs"], got["ambig_state"], got["invalid_state"]), (10, 3, 0))
        over = self.data[1]["RADAR_FRONT"].points("global")
        self.assertEqual((over["x"].dtype, over["vx"].dtype), (np.float64, np.float32))
        near([over["vx_comp"][0], over["vy_comp"][0]], world.OBJECTS[1][4], atol=1e-5)

    def test_pictures(self):
        """Whatever decodes them, the blocks have their colours."""
        frame = self.data[0]
        self.assertEqual((frame["CAM_FRONT"].width, frame["CAM_FRONT"].height), (world.WIDTH, world.HEIGHT))
        near(frame["CAM_FRONT"].intrinsics, [[world.FOCAL, 0, 32], [0, world.FOCAL, 24], [0, 0, 1]])
        self.assertTrue(os.path.isfile(frame["CAM_FRONT"].path))
        hidden = [None, "PIL", "cv2"]
        for k in range(len(hidden)):
            modules = {name: None for name in hidden[1:k + 1]}
            if k > 0:
                modules.update({"PIL.Image": None})
            with self.subTest(without=list(modules)), unittest.mock.patch.dict(sys.modules, modules):
                for channel in ("CAM_FRONT", "CAM_BACK"):
                    image = frame[channel].image()
                    self.assertEqual((image.shape, image.dtype), ((world.HEIGHT, world.WIDTH, 3), np.uint8))
                    near(image.astype(float), self.written[0][channel], atol=2)
                    image[0, 0] = 1  # it is one's own

    def test_it_is_a_sequence(self):
        tokens = [frame.token for frame in self.data]
        self.assertEqual(self.data[-1].token, tokens[-1])
        self.assertEqual(self.data[np.int64(3)].token, tokens[3])
        self.assertEqual([f.token for f in self.data[1:6:2]], tokens[1:6:2])
        self.assertEqual([f.token for f in self.data[2:][1:3]], tokens[3:5])
        self.assertEqual([f.token for f in reversed(self.data[::-1])], tokens)
        self.assertIs(self.data[1:]._source, self.data._source, "a slice has no tables of its own")
        self.assertEqual([f.token for f in self.data.scene("scene-0002")], tokens[4:])
        self.assertEqual([f.token for f in rb.Dataset(self.folder, split="val")], tokens[4:])
        self.assertEqual(len(self.data[8:]), 0)
        for wrong in (8, -9):
            with self.assertRaises(IndexError):
                self.data[wrong]
        with self.assertRaises(TypeError):
            self.data["0"]
        for call, text in ((lambda: self.data.scene("x"), "no scene 'x'; it has scene-0001, scene-0002"), (lambda: rb.Dataset(self.folder, split="x"), "no split 'x'; it has train, val"),
                           (lambda: rb.Dataset(self.folder, version="v2"), "no tables of nuScenes in 'v2'; it has them in v1.0-written")):
            with self.assertRaisesRegex(rb.Error, text):
                call()

    def test_it_can_be_pickled(self):
        copy = pickle.loads(pickle.dumps(self.data[3:5]))
        self.assertEqual([f.token for f in copy], [f.token for f in self.data[3:5]])
        frame = pickle.dumps(self.data[3])
        self.assertLess(len(frame), 20_000, "a key frame takes no tables along")
        near(pickle.loads(frame)["LIDAR_TOP"].points(), self.data[3]["LIDAR_TOP"].points())

    def test_what_is_wrong_is_told(self):
        tables = os.path.join(self.copy(), "v1.0-written")
        place = os.path.dirname(tables)

        def spoil(table, change):
            path = os.path.join(tables, table + ".json")
            with open(path, encoding="utf-8") as f:
                rows = json.load(f)
            change(rows)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(rows, f)

        spoil("ego_pose", lambda rows: rows.clear())
        with self.assertRaisesRegex(rb.Error, "ego_pose.json has no row '"):
            rb.Dataset(place)[0]
        with open(os.path.join(tables, "sensor.json"), "w", encoding="utf-8") as f:
            f.write("[{")
        with self.assertRaisesRegex(rb.Error, "sensor.json: Expecting"):
            rb.Dataset(place)
        with open(os.path.join(tables, "sensor.json"), "w", encoding="utf-8") as f:
            f.write("[" * 1_000_000)
        with self.assertRaisesRegex(rb.Error, "sensor.json: .*recursion"):
            rb.Dataset(place)
        os.remove(os.path.join(tables, "sensor.json"))
        with self.assertRaisesRegex(rb.Error, "sensor.json: No such file"):
            rb.Dataset(place)
        shutil.copytree(tables, os.path.join(place, "v1.0-other"))
        with self.assertRaisesRegex(rb.Error, "has several versions: give version=, one of v1.0-other, v1.0-written"):
            rb.Dataset(place)
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(rb.Error, "is no set: want"):
            rb.Dataset(empty)
        with self.assertRaisesRegex(rb.Error, "no such folder"):
            rb.Dataset(os.path.join(place, "none"))

    def test_a_damaged_file_is_told(self):
        frame = rb.Dataset(self.copy())[0]
        lidar, radar, camera = frame["LIDAR_TOP"], frame["RADAR_FRONT"], frame["CAM_FRONT"]
        with open(lidar.path, "ab") as f:
            f.write(b"\0\0\0")
        with self.assertRaisesRegex(rb.Error, "pcd.bin: .* no multiple of 20"):
            lidar.points()
        with open(radar.path, "r+b") as f:
            f.truncate(400)
        with self.assertRaisesRegex(rb.Error, r"\.pcd: "):
            radar.points()
        with open(camera.path, "wb") as f:
            f.write(b"no picture")
        with self.assertRaisesRegex(rb.Error, "CAM_FRONT"):
            camera.image()
        for capture, read in ((camera, camera.image), (lidar, lidar.points), (radar, radar.points)):
            os.remove(capture.path)
            with self.assertRaisesRegex(rb.Error, "(?i)no such"):
                read()


class TestCoco(Written, unittest.TestCase):
    kind = "coco"

    def test_pictures(self):
        self.assertEqual((self.data.format, len(self.data), self.data.splits), ("coco", 6, ("train", "val")))
        self.assertEqual(self.data.categories, ("car", "person", "barrier", "road", "sky"))
        for frame, written in zip(self.data, self.written):
            self.assertEqual((frame.scene, frame.token, frame.stamp, frame.ego_to_global, frame.boxes()), (written["split"], str(written["id"]), None, None, []))
            np.testing.assert_array_equal(frame["camera"].image(), written["picture"])
            np.testing.assert_array_equal(read_png(frame["camera"].path), written["picture"])
        self.assertEqual([f.number for f in rb.Dataset(self.folder, split="val")], [0, 1])

    def test_boxes_and_masks(self):
        for frame, written in zip(self.data, self.written):
            boxes = frame["camera"].boxes
            self.assertEqual(len(boxes), len(written["objects"]))
            for box, thing in zip(boxes, written["objects"]):
                self.assertEqual((box.category, box.box, box.area, box.crowd), (thing["category"], thing["box"], thing["mask"].sum(), thing["crowd"]))
                mask = box.mask()
                self.assertEqual(mask.dtype, np.bool_)
                np.testing.assert_array_equal(mask, thing["mask"])

    def test_panoptic(self):
        for frame, written in zip(self.data, self.written):
            ids = frame["camera"].panoptic()
            np.testing.assert_array_equal(ids, written["ids"])
            self.assertEqual([(s.id, s.area, s.thing) for s in frame["camera"].segments], [(s["id"], s["area"], s["category_id"] < 10) for s in written["segments"]])
            for segment in frame["camera"].segments:
                self.assertEqual((ids == segment.id).sum(), segment.area)

    def test_without_splits(self):
        """As raybridge lays a set out, with its own fields."""
        place = self.copy()
        annotations = os.path.join(place, "annotations")
        for kind in ("instances", "panoptic"):
            with open(os.path.join(annotations, f"{kind}_train.json"), encoding="utf-8") as f:
                table = json.load(f)
            for image in table["images"]:
                image["camera"] = "front"
            if kind == "instances":
                for row in table["annotations"]:
                    row.update(instance_id=7, truncation=0.25, occlusion=0.5)
            world.save_json(os.path.join(annotations, kind + ".json"), table)
            for split in ("train", "val"):
                os.remove(os.path.join(annotations, f"{kind}_{split}.json"))
        os.rename(os.path.join(place, "train"), os.path.join(place, "images"))
        os.rename(os.path.join(annotations, "panoptic_train"), os.path.join(place, "panoptic"))
        data = rb.Dataset(place)
        self.assertEqual((len(data), data.scenes, data.splits), (4, ("",), ()))
        camera = data[3]["front"]
        np.testing.assert_array_equal(camera.image(), self.written[3]["picture"])
        np.testing.assert_array_equal(camera.panoptic(), self.written[3]["ids"])
        box = camera.boxes[0]
        self.assertEqual((box.instance, box.truncated, box.extra), ("7", 0.25, {"occlusion": 0.5}))

    def test_what_is_not_there(self):
        place = self.copy()
        for split in ("train", "val"):
            os.remove(os.path.join(place, "annotations", f"panoptic_{split}.json"))
        os.rename(os.path.join(place, "train"), os.path.join(place, "images"))
        frame = rb.Dataset(place)[0]
        self.assertIsNone(frame["camera"].panoptic())
        self.assertEqual(os.path.dirname(frame["camera"].path), os.path.join(place, "images"))
        with self.assertRaisesRegex(rb.Error, "no calibration"):
            frame["camera"].project(np.zeros((1, 3)))
        with open(os.path.join(place, "annotations", "instances_val.json"), "w", encoding="utf-8") as f:
            f.write('{"images": [], "categories": []}')
        with self.assertRaisesRegex(rb.Error, "instances_val.json: no 'annotations'"):
            rb.Dataset(place)


class TestMasks(unittest.TestCase):
    def test_run_lengths_of_pycocotools(self):
        """The texts are those that pycocotools wrote for these masks."""
        y, x = np.mgrid[0:480, 0:640]
        for mask, text in (
            (np.pad(np.ones((2, 3)), ((1, 1), (1, 1))), "5220003"), (np.zeros((3, 3)), "9"), (np.ones((3, 3)), "09"), ([[1, 0], [0, 0]], "013"),
            (np.add.outer(range(3), range(4)) % 2, "111000000000"), ((y - 240) ** 2 + (x - 320) ** 2 <= 100, "`aa41k>8J4M2N2O0O2O00000O20N1000001N101N2N3L6Hdc`4"),
        ):
            mask = np.asarray(mask)
            for counts in (text, text.encode(), unpacked(text)):
                np.testing.assert_array_equal(mask_of({"size": list(mask.shape), "counts": counts}, *mask.shape), mask)
            self.assertEqual(world.runs_of(mask == 1)[0], text, "and the writer's")

    def test_long_runs(self):
        random = np.random.default_rng(7)
        for _ in range(50):
            mask = random.random((random.integers(1, 90), random.integers(1, 90))) < random.random()
            np.testing.assert_array_equal(mask_of({"size": list(mask.shape), "counts": world.runs_of(mask)[0]}, *mask.shape), mask)

    def test_polygons(self):
        square, triangle = [1, 1, 4, 1, 4, 3, 1, 3], [5, 0, 9, 0, 5, 4]
        want = np.zeros((5, 10), bool)
        want[1:3, 1:4] = True
        for row in range(4):
            want[row, 5:9 - row] = np.arange(5, 9 - row) + 0.5 < 9 - (row + 0.5)
        np.testing.assert_array_equal(mask_of([square, triangle], 5, 10), want)
        self.assertFalse(mask_of([], 5, 10).any())

    def test_a_mask_of_another_size_is_refused(self):
        for size, counts in (([3, 2], [6]), ([2, 3], [5]), ([2, 3], [7, -1])):
            with self.assertRaisesRegex(rb.Error, "the picture is 3x2"):
                mask_of({"size": size, "counts": counts}, 2, 3)


class TestKitti(Written, unittest.TestCase):
    kind = "kitti"

    def test_frames(self):
        self.assertEqual((self.data.format, len(self.data), self.data.scenes), ("kitti", 5, ("training",)))
        self.assertEqual(self.data.splits, ("test", "train", "trainval", "val"))
        self.assertEqual([f.token for f in rb.Dataset(self.folder, split="val")], ["000001", "000003"])
        for frame, written in zip(self.data, self.written):
            self.assertEqual((frame.token, frame.stamp, frame.ego_to_global), (written["token"], None, None))
            self.assertEqual(list(frame.captures), ["image_2", "image_3", "velodyne"])
            for channel, picture in written["pictures"].items():
                camera = frame[channel]
                self.assertEqual((camera.width, camera.height), (world.WIDTH, world.HEIGHT))
                np.testing.assert_array_equal(camera.image(), picture)
                near(camera.intrinsics, [[world.FOCAL, 0, 32], [0, world.FOCAL, 24], [0, 0, 1]])
                at = np.subtract(world.CAMERA, (0, world.BASELINE * (channel == "image_3"), 0))
                near(camera.to_ego, [[0, 0, 1, at[0]], [-1, 0, 0, at[1]], [0, -1, 0, at[2]], [0, 0, 0, 1]], atol=1e-9)

    def test_labels(self):
        for frame, written in zip(self.data, self.written):
            boxes, flat = frame.boxes(), frame["image_2"].boxes
            self.assertEqual(len(boxes), len(written["objects"]))
            self.assertEqual((len(flat), flat[-1].category, flat[-1].box, flat[-1].truncated), (len(boxes) + 1, "DontCare", (1, 2, 6, 8), None))
            self.assertEqual(frame["image_3"].boxes, [])
            for box, picture, thing in zip(boxes, flat, written["objects"]):
                self.box_is(box, thing, 0.011)  # the labels have two decimals
                self.assertEqual((box.category, box.occluded, box.truncated, box.velocity), (thing["category"], thing["occluded"], 0, None))
                self.assertEqual((picture.category, picture.box, picture.occluded, picture.mask()), (thing["category"], thing["box"], thing["occluded"], None))
                u, v = frame["image_2"].project(frame.boxes("image_2")[0].corners()).T
                left, top, right, bottom = flat[0].box
                self.assertTrue(u.min() <= left + 1 and v.min() <= top + 1 and u.max() >= right - 1 and v.max() >= bottom - 1, "the box seen whole holds what is seen of it")

    def test_clouds(self):
        for frame, written in zip(self.data, self.written):
            lidar = frame["velodyne"]
            near(lidar.points()[:, :3], written["points"], atol=1e-4)
            near(lidar.points("sensor"), np.concatenate((written["points"] - world.LIDAR, written["intensity"][:, None]), 1), atol=1e-4)
            self.assertIsNone(lidar.labels())
            self.assertIsNone(lidar.instances())
            for box, thing in zip(frame.boxes(), written["objects"]):
                on = written["hit"] == thing["id"]
                self.assertGreaterEqual((box.contains(lidar.points()) & on).sum(), 0.7 * on.sum())
            with self.assertRaisesRegex(rb.Error, "the set has no poses"):
                lidar.points("global")
            with self.assertRaisesRegex(rb.Error, "the set has no poses"):
                frame.transform("velodyne", "global")

    def test_a_bad_label_is_told(self):
        place = self.copy()
        path = os.path.join(place, "training", "label_2", "000002.txt")
        with open(path, "w", encoding="ascii") as f:
            f.write("Car 0.00 0.0 -1.69 31.00 24.00 36.00 28.00 1.50 1.90 4.50 0.54 1.60 19.99 -1.66\n")
        data = rb.Dataset(place)
        with self.assertRaisesRegex(rb.Error, "000002.txt: 'Car 0.00 0.0 .*invalid literal for int"):
            data[2]


class TestOdometry(Written, unittest.TestCase):
    kind = "odometry"

    def test_poses_and_labels(self):
        self.assertEqual((self.data.format, len(self.data), self.data.scenes), ("kitti", 5, ("00",)))
        start = None
        for frame, written in zip(self.data, self.written):
            self.assertEqual((frame.stamp, list(frame.captures)), (written["stamp"], ["image_2", "velodyne"]))
            lidar = frame["velodyne"]
            near(lidar.points(), lidar.points("sensor"), atol=1e-5)  # the calibration knows no vehicle: its lidar stands for it
            x, y, yaw = written["ego"]
            there = world.turned(written["points"], yaw) + (x, y, 0) - world.LIDAR
            near(lidar.points("global")[:, :3], there, atol=1e-3)
            self.assertEqual([self.data.label_names[label] for label in lidar.labels().tolist()],
                             [{0: "road", 1: "moving-car", 2: "car", 3: "moving-person", 4: "other-structure"}[id] for id in written["hit"].tolist()])
            np.testing.assert_array_equal(lidar.instances(), written["hit"])
            still = lidar.points("global")[written["hit"] == 2, :3]
            start = still.mean(0) if start is None else start
            near(still.mean(0), start, atol=1.5)

    def test_beside_the_object_benchmark(self):
        """As many frames of training and of sequences are the same."""
        place = self.copy()
        world.kitti(place)
        data = rb.Dataset(place)
        self.assertEqual((len(data), data.scenes, data.splits), (5, ("00",), ("test", "train", "trainval", "val")))
        start = None
        for frame, written in zip(data, self.written):
            self.assertEqual((frame.stamp, list(frame.captures)), (written["stamp"], ["image_2", "image_3", "velodyne"]))
            x, y, yaw = written["ego"]
            near(frame.ego_to_global, [[np.cos(yaw), -np.sin(yaw), 0, x], [np.sin(yaw), np.cos(yaw), 0, y], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-4)
            np.testing.assert_array_equal(frame["velodyne"].instances(), written["hit"])
            still = frame.boxes("global")[1].centre
            start = still if start is None else start
            near(still, start, atol=0.2)  # labels have two decimals, which turn the box by 0.01 rad
        os.remove(os.path.join(place, "training", "calib", "000004.txt"))
        for folder, ending in (("image_2", ".png"), ("image_3", ".png"), ("velodyne", ".bin")):
            os.remove(os.path.join(place, "training", folder, "000004" + ending))
        data = rb.Dataset(place)
        self.assertEqual((len(data), data.scenes, data[0].stamp, data[0]["velodyne"].labels()), (4, ("training",), None, None))

    def test_lines_are_counted(self):
        place = self.copy()
        with open(os.path.join(place, "poses", "00.txt"), "a", encoding="ascii") as f:
            f.write("1 0 0 0 0 1 0 0 0 0 1 0\n")
        with self.assertRaisesRegex(rb.Error, "00.txt: 6 lines, and the sequence has 5 frames"):
            rb.Dataset(place)


class TestPng(unittest.TestCase):
    def test_it_agrees_with_the_writer(self):
        random = np.random.default_rng(3)
        with tempfile.TemporaryDirectory() as folder:
            for shape in ((1, 1, 3), (7, 3, 3), (20, 31, 1), (64, 5, 3)):
                picture = random.integers(0, 256, shape, np.uint8)
                path = os.path.join(folder, "a.png")
                world.save(path, world.png(picture))
                np.testing.assert_array_equal(read_png(path), picture)
                world.save(path, rb.png(picture if shape[2] == 3 else picture[..., 0]))
                np.testing.assert_array_equal(read_png(path), picture)

    def test_what_it_cannot_read_is_told(self):
        good = world.png(np.zeros((4, 4, 3), np.uint8))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.png")
            for data, text in ((b"GIF89a", "not a PNG"), (good[:24] + b"\x10" + good[25:], "16 bits"), (good[:28] + b"\x01" + good[29:], "interlaced"), (good[:60], "a.png: ")):
                world.save(path, data)
                with self.subTest(text), self.assertRaisesRegex(rb.Error, text):
                    read_png(path)


class TestScript(unittest.TestCase):
    def test_its_sets_pass_the_check(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, world.__file__, folder], check=True)
            sets = {name: rb.Dataset(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}
            for name in sets:
                checked = subprocess.run([rb.binary(), "dataset", "check", "--strict", os.path.join(folder, name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(checked.returncode, 0, checked.stdout.decode())
        self.assertEqual({name: len(data) for name, data in sets.items()}, {"coco": 6, "kitti": 5, "nuscenes": 8})


if __name__ == "__main__":
    unittest.main()
