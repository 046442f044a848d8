"""OpenCV's and the papers' word on lenses, for lens_peers_test.go.

usage: opencv.py project FOLDER
       opencv.py write FOLDER

project reads lenses.json, a list of lenses, and points.f64, as many points x, y, z of each,
and writes pixels.f64, where each point appears: u, v. Pixel centres are at integers.

write reads lenses.json and writes a calibration file of each, NUMBER.yml, NUMBER.json and
NUMBER.xml.

OpenCV projects all that it has a model for. The rest is written here in numpy from the papers:
equidistant behind the camera, where cv2.fisheye answers with a mirrored pixel; double_sphere
(V. Usenko, N. Demmel, D. Cremers, The Double Sphere Camera Model, 2018, equations 40 to 42);
f_theta (NVIDIA DriveWorks, camera model ftheta).
"""

import json
import pathlib
import sys

import cv2
import numpy as np

ORIGIN = np.zeros(3)


def pinhole(points, lens, matrix):
    """cv2.projectPoints has no skew: with one it gives the point of the plane, and K follows."""
    d = np.array(lens["D"] or [0.0] * 4)
    if matrix[0, 1] == 0:
        return cv2.projectPoints(points, ORIGIN, ORIGIN, matrix, d)[0]
    plane = cv2.projectPoints(points, ORIGIN, ORIGIN, np.eye(3), d)[0].reshape(-1, 2)
    return plane @ matrix[:2, :2].T + matrix[:2, 2]


def equidistant(points, lens, matrix):
    k = np.array(lens["D"])
    side = np.hypot(points[:, 0], points[:, 1])
    theta = np.arctan2(side, points[:, 2])
    radius = theta * (1 + k[0] * theta**2 + k[1] * theta**4 + k[2] * theta**6 + k[3] * theta**8)
    plane = points[:, :2] * np.divide(radius, side, out=np.zeros_like(side), where=side > 0)[:, None]
    pixels = plane @ matrix[:2, :2].T + matrix[:2, 2]
    ahead = points[:, 2] > 0
    pixels[ahead] = cv2.fisheye.projectPoints(
        points[ahead].reshape(-1, 1, 3), ORIGIN, ORIGIN, matrix, k, alpha=matrix[0, 1] / matrix[0, 0]
    )[0].reshape(-1, 2)
    return pixels


def mei(points, lens, matrix):
    d = np.array(lens["D"])
    return cv2.omnidir.projectPoints(points.reshape(-1, 1, 3), ORIGIN, ORIGIN, matrix, lens["Xi"], d)[0]


def double_sphere(points, lens, matrix):
    x, y, z = points.T
    d1 = np.sqrt(x**2 + y**2 + z**2)
    shifted = lens["Xi"] * d1 + z
    d2 = np.sqrt(x**2 + y**2 + shifted**2)
    scale = lens["Alpha"] * d2 + (1 - lens["Alpha"]) * shifted
    return np.stack([x / scale, y / scale], 1) @ matrix[:2, :2].T + matrix[:2, 2]


def f_theta(points, lens, matrix):
    polynomial = np.polynomial.Polynomial(lens["Polynomial"])
    theta = np.arctan2(np.hypot(points[:, 0], points[:, 1]), points[:, 2])
    if lens["ToAngle"]:
        radius = first_root(polynomial, theta, 5000)
    else:
        radius = polynomial(theta)
    towards = np.arctan2(points[:, 1], points[:, 0])
    c, d, e = lens["Linear"]
    plane = radius[:, None] * np.stack([np.cos(towards), np.sin(towards)], 1)
    return plane @ np.array([[c, d], [e, 1]]).T + matrix[:2, 2]


def first_root(polynomial, values, end):
    """Where a polynomial that rises from 0 first has each value: on a grid, and then by halves."""
    grid = np.linspace(0, end, 100_001)
    reached = np.searchsorted(np.maximum.accumulate(polynomial(grid)), values)
    low, high = grid[np.maximum(reached - 1, 0)], grid[reached]
    for _ in range(60):
        middle = (low + high) / 2
        below = polynomial(middle) < values
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


MODELS = {
    "pinhole": pinhole,
    "plumb_bob": pinhole,
    "rational": pinhole,
    "thin_prism": pinhole,
    "equidistant": equidistant,
    "mei": mei,
    "double_sphere": double_sphere,
    "f_theta": f_theta,
}


def project(folder, lenses):
    points = np.fromfile(folder / "points.f64").reshape(len(lenses), -1, 3)
    with open(folder / "pixels.f64", "wb") as out:
        for lens, seen in zip(lenses, points):
            matrix = np.array(lens["K"], dtype=float).reshape(3, 3)
            pixels = MODELS[lens["Model"]](seen, lens, matrix)
            out.write(pixels.reshape(-1, 2).astype(np.float64).tobytes())


def write(folder, lenses):
    for number, lens in enumerate(lenses):
        for form in ["yml", "json", "xml"]:
            file = cv2.FileStorage(str(folder / f"{number}.{form}"), cv2.FILE_STORAGE_WRITE)
            file.write("image_width", lens["Width"])
            file.write("image_height", lens["Height"])
            file.write("camera_matrix", np.array(lens["K"], dtype=float).reshape(3, 3))
            if lens["D"]:
                # calibrateCamera returns a row, and cv2.fisheye's a column.
                file.write("distortion_coefficients", np.array(lens["D"]).reshape((-1, 1) if number % 2 else (1, -1)))
            if lens["Model"] == "equidistant":
                file.write("fisheye_model", 1)
            if lens["Model"] == "mei":
                file.write("xi", np.array([[lens["Xi"]]]))
            file.release()


folder = pathlib.Path(sys.argv[2])
{"project": project, "write": write}[sys.argv[1]](folder, json.loads((folder / "lenses.json").read_text()))
