"""Tests of what is read from messages, against bytes that are written here."""
import copy
import os
import pickle
import struct
import sys
import unittest
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import raybridge as rb  # noqa: E402
from raybridge._messages import Decoder, Info, _noted  # noqa: E402
from raybridge._sim import _visible  # noqa: E402
from raybridge._wire import Stream, proto_fields, varint  # noqa: E402

RULE = "=" * 80 + "\n"


def read_png(file):
    """Return the type of colour and the pixels of a PNG file whose rows have no filter."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, _, kind = struct.unpack(">IIBB", file[16:26])
    begin = file.index(b"IDAT")
    length = struct.unpack(">I", file[begin - 4:begin])[0]
    rows = np.frombuffer(zlib.decompress(file[begin + 4:begin + 4 + length]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any() and (rows.shape[1] - 1) % width == 0
    return kind, rows[:, 1:].tobytes()


def stream(message, definition, encoding="cdr", language="ros2msg"):
    return Stream(1, 0, 0, ["/t", "s", "sensor.x", message, encoding, language], definition)


def message(body, stamp=5, frame=b"cam"):
    head = struct.pack("<QQqq7dHH", 3, 9, stamp, stamp + 1, 1, 2, 3, 0, 0, 0, 1, 1, len(frame))
    return np.frombuffer(bytearray(head + frame.ljust(-(-len(frame) // 8) * 8, b"\0") + b"\0\1\0\0" + body), np.uint8)


class TestDecoder(unittest.TestCase):
    def test_fields_of_all_kinds(self):
        definition = ("bool b\nfloat64 d # a comment\nint8 KIND=3\nstring s\nuint16[] list\nfloat32[2] pair\npkg/Part[] parts\nNone nothing\nbyte last\n"
                      + RULE + "MSG: pkg/Part\nuint8 x\nOther other\n" + RULE + "MSG: pkg/Other\nint64 y\n" + RULE + "MSG: pkg/None\n")
        body = (b"\1" + bytes(7) + struct.pack("<d", 2.5) + struct.pack("<I", 3) + b"hi\0" + b"\0" + struct.pack("<I2H", 2, 7, 8)
                + struct.pack("<2f", 1, 2) + struct.pack("<I", 2) + b"\x05" + bytes(3) + struct.pack("<q", -1) + b"\x06" + bytes(7) + struct.pack("<q", -2)
                + b"\0" + b"\x09")
        sample = Decoder(stream("pkg/msg/Whole", definition), "s/o")(message(body))
        self.assertEqual((sample.b, sample.d, sample.s, list(sample.list), list(sample.pair)), (True, 2.5, "hi", [7, 8], [1, 2]))
        self.assertEqual([(p.x, p.other.y) for p in sample.parts], [(5, -1), (6, -2)])
        self.assertEqual(sample.last, 9)
        self.assertEqual((sample.stamp, sample.info.sequence, sample.info.frame, sample.info.published), (5, 3, 9, 6))
        self.assertEqual((sample.info.frame_id, sample.info.position, sample.info.orientation), ("cam", (1, 2, 3), (0, 0, 0, 1)))

    def picture(self, encoding, step, data, width=2, height=2):
        definition = "uint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n"
        body = struct.pack("<III", height, width, len(encoding) + 1) + encoding + b"\0"
        body += b"\0"
        body = body.ljust(-(-len(body) // 4) * 4, b"\0") + struct.pack("<II", step, len(data)) + data
        return Decoder(stream("sensor_msgs/msg/Image", definition), "c/image")(message(body))

    def test_pictures(self):
        rgb = self.picture(b"rgb8", 6, bytes(range(12)))
        self.assertEqual(rgb.tolist(), [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]])
        self.assertEqual((rgb.stamp, rgb.info.fields["encoding"]), (5, "rgb8"))
        self.assertIsNotNone(rgb.base, "it is a view of what was received")
        padded = self.picture(b"mono8", 4, bytes(range(8)))
        self.assertEqual(padded.tolist(), [[0, 1], [4, 5]])
        depth = self.picture(b"32FC1", 8, struct.pack("<4f", 1, 2, 3, float("inf")))
        self.assertEqual(depth.tolist(), [[1, 2], [3, float("inf")]])
        for encoding, step, data in ((b"bayer", 2, bytes(4)), (b"rgb8", 6, bytes(11)), (b"rgb8", 3, bytes(6))):
            with self.assertRaisesRegex(rb.Error, "c/image: a malformed message"):
                self.picture(encoding, step, data)

    def test_clouds(self):
        definition = ("uint32 height\nuint32 width\nF[] fields\nbool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n"
                      + RULE + "MSG: sensor_msgs/F\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n")
        body = struct.pack("<III", 1, 2, 2)
        for name, offset, kind in ((b"x\0\0\0", 0, 7), (b"id\0\0", 4, 4)):
            text = name.rstrip(b"\0") + b"\0"
            body += struct.pack("<I", len(text)) + text
            body = body.ljust(-(-len(body) // 4) * 4, b"\0") + struct.pack("<IB3xI", offset, kind, 1)
        points = struct.pack("<fH2x", 1.5, 7) + struct.pack("<fH2x", 2.5, 8)
        body += struct.pack("<B3xIII", 0, 8, 16, len(points)) + points + b"\1"
        cloud = Decoder(stream("sensor_msgs/msg/PointCloud2", definition), "l/points")(message(body))
        self.assertEqual((cloud["x"].tolist(), cloud["id"].tolist(), cloud.shape), ([1.5, 2.5], [7, 8], (2,)))

    def test_copies_and_pickles_keep_what_is_known(self):
        picture = self.picture(b"rgb8", 6, bytes(range(12)))
        cloud = _noted(np.zeros(3, [("x", "<f4"), ("id", "<u2")]), picture.info)
        record = Decoder(stream("pkg/msg/A", "string s\n"), "s/a")(message(struct.pack("<I", 3) + b"hi\0"))
        for sample in (picture, picture[::2], cloud, cloud[1:], cloud["x"], record):
            ways = [copy.copy, copy.deepcopy] + [lambda s, p=p: pickle.loads(pickle.dumps(s, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
            if sample is not record:
                ways.append(np.ndarray.copy)
            for way in ways:
                again = way(sample)
                self.assertIs(type(again), type(sample))
                self.assertEqual((again.stamp, again.info.frame_id, again.info.sequence, again.info.fields),
                                 (sample.stamp, sample.info.frame_id, sample.info.sequence, sample.info.fields))
                self.assertEqual((sample.stamp, sample.info.frame_id), (5, "cam"))
                if sample is not record:
                    self.assertEqual((again.tolist(), again.dtype, again.shape), (sample.tolist(), sample.dtype, sample.shape))

    def test_half_a_message_is_an_error(self):
        decoder = Decoder(stream("pkg/msg/A", "string s\nfloat64[] v\n"), "s/a")
        body = struct.pack("<I", 3) + b"hi\0\0" + struct.pack("<I4xd", 1, 2)
        whole = message(body)
        self.assertEqual(decoder(whole).v.tolist(), [2])
        for cut in range(len(whole)):
            with self.assertRaises(rb.Error):
                decoder(whole[:cut])
        with self.assertRaises(rb.Error):
            decoder(message(struct.pack("<I", 1 << 31)))

    def test_other_encodings_are_bytes(self):
        self.assertEqual(Decoder(stream("x", "", "protobuf", "protobuf"), "s/x")(message(b"abc"))[-3:].tobytes(), b"abc")


class TestWire(unittest.TestCase):
    def test_protobuf(self):
        for n in (0, 1, 127, 128, 300, 1 << 40):
            self.assertEqual(list(proto_fields(b"\x08" + varint(n))), [(1, n)])
        whole = b"\x12\x03abc" + b"\x1d" + bytes(4) + b"\x21" + bytes(8) + b"\xf8\x07\x05"
        self.assertEqual([f for f, _ in proto_fields(whole)], [2, 3, 4, 127])
        for cut in range(1, len(b"\x12\x03abc")):
            with self.assertRaises(rb.Error):
                list(proto_fields(whole[:cut]))
        with self.assertRaises(rb.Error):
            list(proto_fields(b"\x0b"))

    def test_png_takes_bytes_alone(self):
        for picture in (np.array([[1.5, np.inf]], np.float32), np.array([[300, 2]], np.uint16), np.array([[1, 2]])):
            with self.subTest(picture.dtype), self.assertRaisesRegex(rb.Refused, f"picture of {picture.dtype}: want uint8") as caught:
                rb.png(picture)
            self.assertEqual(caught.exception.kind, "value")
        rb.png(np.array([[True, False]]))

    def test_png(self):
        for shape, kind in (((2, 3, 3), 2), ((2, 3, 4), 6), ((2, 3), 0)):
            picture = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
            self.assertEqual(read_png(rb.png(picture)), (kind, picture.tobytes()))

    def test_what_a_notebook_shows(self):
        def visible(array, encoding, like=rb.Array):
            array = np.asarray(array).view(like)
            if like is rb.Array:
                array.info = Info("k", "m", (0,) * 13, "")
                array.info.fields = {"encoding": encoding} if encoding else {}
            return _visible(array)

        rgb, bgra = [[[1, 2, 3]]], [[[3, 2, 1, 255]]]
        self.assertEqual(visible(np.uint8(rgb), "rgb8").tolist(), rgb)
        self.assertEqual(visible(np.uint8(rgb), "bgr8").tolist(), [[[3, 2, 1]]])
        self.assertEqual(visible(np.uint8(bgra), "bgra8").tolist(), [[[1, 2, 3, 255]]])
        self.assertEqual(visible(np.float32([[0, 5, 10, np.inf, np.nan, -1]]), "32FC1").tolist(), [[0, 127, 255, 0, 0, 0]])
        self.assertEqual(visible(np.uint16([[0, 300]]), "16UC1").tolist(), [[0, 255]])
        self.assertEqual(visible(np.uint8([[0, 0]]), "mono8").tolist(), [[0, 0]])
        for other in (np.float32(rgb), np.zeros((1, 1, 2), np.float32)):
            self.assertIsNone(visible(other, "32FC3"))
        self.assertIsNone(visible(np.zeros((2, 2), [("x", "<f4")]), ""), "a cloud of rows")
        self.assertIsNone(visible(np.uint8(rgb), "rgb8", np.ndarray))
        self.assertIsNone(_visible(None))

    def test_quaternions(self):
        for pose in (rb.Pose(0, 0, yaw=0.3), rb.Pose(0, 0, yaw=0.3, pitch=-0.2, roll=0.1)):
            x, y, z, w = pose.quaternion
            forward = (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y))
            want = (np.cos(pose.yaw) * np.cos(pose.pitch), np.sin(pose.yaw) * np.cos(pose.pitch), -np.sin(pose.pitch))
            np.testing.assert_allclose(forward, want, atol=1e-12)
        self.assertAlmostEqual(rb.Ego((), (0, 0, np.sin(0.2), np.cos(0.2)), (), ()).yaw, 0.4)


if __name__ == "__main__":
    unittest.main()
