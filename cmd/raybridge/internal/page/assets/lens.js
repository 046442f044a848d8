// Lenses: where on a camera's picture a point appears, by its CameraInfo.

// lensOf returns a camera's lens: at is the function from a point of the camera's frame (x forward, y left, z up) to its place on the
// picture, in pixels from the upper left corner, null for a point that appears nowhere; fisheye tells that it may see beside and behind
// itself; straight, that edges are straight in the picture. For a lens that CameraInfo doesn't describe it returns null. CameraInfo itself
// counts from the first pixel's centre, or, where its sensor says so, from the corner.
export function lensOf(info, fromCorner) {
  const [fx, skew, kx, , fy, ky] = info.k;
  const bend = fx === 0 ? null : bends[info.distortion_model]?.(info.d); // no focal length: uncalibrated
  if (!bend) return null;
  const [cx, cy] = fromCorner ? [kx, ky] : [kx + 0.5, ky + 0.5];
  const fisheye = info.distortion_model === 'equidistant';
  const at = ([x, y, z]) => {
    const p = fisheye || x > 0 ? bend(-y, -z, x) : null;
    return p && [cx + fx * p[0] + skew * p[1], cy + fy * p[1]];
  };
  return { at, fisheye, straight: !fisheye && info.d.every((d) => d === 0) };
}

// bends has for each model what makes, of its numbers, the function from a point of the optical frame to the plane at the focal
// length 1. Beyond where a model turns back a point appears nowhere.
const bends = { plumb_bob: rational, rational_polynomial: rational, equidistant };

// rational is OpenCV's, with 5, 8 or 12 numbers, or 4.
function rational([k1 = 0, k2 = 0, p1 = 0, p2 = 0, k3 = 0, k4 = 0, k5 = 0, k6 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0]) {
  const under = (s) => 1 + s * (k4 + s * (k5 + s * k6));
  const radial = (s) => (1 + s * (k1 + s * (k2 + s * k3))) / under(s);
  const end = endOf((angle) => {
    const r = Math.tan(angle);
    return under(r * r) > 0 ? r * radial(r * r) : -1;
  }, Math.PI / 2);
  return (x, y, z) => {
    const [a, b] = [x / z, y / z];
    const s = a * a + b * b;
    if (Math.atan(Math.sqrt(s)) > end) return null;
    const g = radial(s);
    return [a * g + 2 * p1 * a * b + p2 * (s + 2 * a * a) + s * (s1 + s * s2), b * g + p1 * (s + 2 * b * b) + 2 * p2 * a * b + s * (s3 + s * s4)];
  };
}

// equidistant is OpenCV's fisheye, with the angle from the axis up to 180 degrees.
function equidistant([k1 = 0, k2 = 0, k3 = 0, k4 = 0]) {
  const radius = (a) => a * (1 + a * a * (k1 + a * a * (k2 + a * a * (k3 + a * a * k4))));
  const end = endOf(radius, Math.PI);
  return (x, y, z) => {
    const side = Math.hypot(x, y);
    const angle = Math.atan2(side, z);
    if (angle > end) return null;
    const share = side === 0 ? 0 : radius(angle) / side;
    return [share * x, share * y];
  };
}

// endOf returns the first angle, up to most, at which a radius no longer grows.
function endOf(radius, most) {
  const steps = 2000;
  for (let i = 0; i + 1 < steps; i++) {
    if (!(radius((most * (i + 1)) / steps) > radius((most * i) / steps))) return (most * i) / steps;
  }
  return most;
}
