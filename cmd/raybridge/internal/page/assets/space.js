// Vectors, quaternions (x, y, z, w), poses and 4 x 4 matrices in columns, as WebGL takes them.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = (a) => Math.hypot(a[0], a[1], a[2]);
export const unit = (a) => scale(a, 1 / (length(a) || 1));

export const radians = Math.PI / 180;

// rotate turns a vector by a quaternion.
export function rotate(q, v) {
  const u = [q[0], q[1], q[2]];
  const t = scale(cross(u, v), 2);
  return add(add(v, scale(t, q[3])), cross(u, t));
}

// unrotate is rotate backwards.
export const unrotate = (q, v) => rotate([-q[0], -q[1], -q[2], q[3]], v);

export function compose(a, b) {
  const [ax, ay, az, aw] = a;
  const [bx, by, bz, bw] = b;
  return [
    aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz,
  ];
}

// A pose is {position, orientation}. at returns a point of the posed frame in the frame that the pose is in.
export const at = (pose, p) => add(pose.position, rotate(pose.orientation, p));

// within returns a point in the posed frame.
export const within = (pose, p) => unrotate(pose.orientation, subtract(p, pose.position));

// carried returns a pose that is given in another posed frame.
export function carried(pose, inner) {
  return { position: at(pose, inner.position), orientation: compose(pose.orientation, inner.orientation) };
}

// poseOf reads a geometry_msgs/Pose.
export function poseOf({ position: p, orientation: q }) {
  return { position: [p.x, p.y, p.z], orientation: [q.x, q.y, q.z, q.w] };
}

// mounted reads a rig's pose: metres and degrees, turned by yaw, then pitch, then roll.
export function mounted({ x = 0, y = 0, z = 0, roll = 0, pitch = 0, yaw = 0 }) {
  const about = (axis, degrees) => {
    const half = (degrees * radians) / 2;
    return [...axis.map((a) => a * Math.sin(half)), Math.cos(half)];
  };
  const orientation = compose(compose(about([0, 0, 1], yaw), about([0, 1, 0], pitch)), about([1, 0, 0], roll));
  return { position: [x, y, z], orientation };
}

// heading is the angle about z of a quaternion's x axis, radians.
export function heading(q) {
  const x = rotate(q, [1, 0, 0]);
  return Math.atan2(x[1], x[0]);
}

// corners returns the 8 corners of a box, x fastest, about its centre in a posed frame.
export function corners(pose, centre, half) {
  return Array.from({ length: 8 }, (_, i) => at(pose, [0, 1, 2].map((k) => centre[k] + ((i >> k) & 1 ? half[k] : -half[k]))));
}

// edges are pairs of the corners that a box's edges join, faces triples that fill it.
export const edges = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];
export const faces = [
  [0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4],
  [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 3, 7], [1, 7, 5],
];

// Matrices.

export function multiply(a, b) {
  const m = new Float64Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      for (let k = 0; k < 4; k++) m[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    }
  }
  return m;
}

// placing returns the matrix of a pose whose position counts from an origin. Far from the map's own origin, single precision
// would shake; differences are small.
export function placing(pose, origin) {
  const columns = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => rotate(pose.orientation, axis));
  return new Float64Array([...columns.flatMap((c) => [...c, 0]), ...subtract(pose.position, origin), 1]);
}

export function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  return new Float64Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0]);
}

// looking returns the matrix of an eye's frame, which looks along a direction.
export function looking(eye, forward, up) {
  const z = scale(forward, -1);
  const x = unit(cross(up, z));
  const y = cross(z, x);
  return new Float64Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
}

// project returns where a point comes to lie: x and y from -1 to 1, and w, which is above 0 before the eye.
export function project(m, p) {
  const row = (r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r];
  const w = row(3);
  return [row(0) / w, row(1) / w, w];
}
