// Lenses: where on a camera's picture a point appears, by its CameraInfo.

// lensOf returns the function from a point of the camera's frame (x forward, y left, z up) to its place on the picture, in pixels
// from the upper left corner; null for a point that appears nowhere. For a lens that CameraInfo doesn't describe it returns null.
// CameraInfo itself counts from the first pixel's centre, or, where its sensor says so, from the corner.
export function lensOf(info, fromCorner) {
  const [fx, , kx, , fy, ky] = info.k;
  if (fx === 0) return null; // uncalibrated
  const [cx, cy] = fromCorner ? [kx, ky] : [kx + 0.5, ky + 0.5];
  if (straight(info)) return ([x, y, z]) => [cx - (fx * y) / x, cy - (fy * z) / x];
  if (info.distortion_model !== 'plumb_bob') return null;
  const [k1, k2, p1, p2, k3 = 0] = info.d;
  return ([x, y, z]) => {
    const [a, b] = [-y / x, -z / x];
    const s = a * a + b * b;
    if (1 + s * (3 * k1 + s * (5 * k2 + s * 7 * k3)) <= 0) return null; // the polynomial turns back before
    const g = 1 + s * (k1 + s * (k2 + s * k3));
    return [cx + fx * (a * g + 2 * p1 * a * b + p2 * (s + 2 * a * a)), cy + fy * (b * g + p1 * (s + 2 * b * b) + 2 * p2 * a * b)];
  };
}

// straight tells whether edges are straight in the picture.
export const straight = (info) => info.d.every((d) => d === 0);
