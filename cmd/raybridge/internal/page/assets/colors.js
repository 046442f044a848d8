// Colours for what has none of its own: tags as CityScapes colours them, ids, heights, intensities, depths.
// They are those of the program's window and report.

// Tags in the order of their numbers, CARLA's: name and colour.
export const tags = [
  ['unlabeled', 0, 0, 0], ['roads', 128, 64, 128], ['sidewalks', 244, 35, 232], ['building', 70, 70, 70], ['wall', 102, 102, 156],
  ['fence', 190, 153, 153], ['pole', 153, 153, 153], ['traffic_light', 250, 170, 30], ['traffic_sign', 220, 220, 0],
  ['vegetation', 107, 142, 35], ['terrain', 152, 251, 152], ['sky', 70, 130, 180], ['pedestrian', 220, 20, 60], ['rider', 255, 0, 0],
  ['car', 0, 0, 142], ['truck', 0, 0, 70], ['bus', 0, 60, 100], ['train', 0, 80, 100], ['motorcycle', 0, 0, 230], ['bicycle', 119, 11, 32],
  ['static', 110, 190, 160], ['dynamic', 170, 120, 50], ['other', 55, 90, 80], ['water', 45, 60, 150], ['road_line', 157, 234, 50],
  ['ground', 81, 0, 81], ['bridge', 150, 100, 100], ['rail_track', 230, 150, 140], ['guard_rail', 180, 165, 180],
];

export function tagName(tag) {
  return tags[tag]?.[0] ?? `tag ${tag}`;
}

// ramp returns a function from 0..1 to a colour, spread evenly over some.
function ramp(...hex) {
  const stops = hex.map((h) => [1, 3, 5].map((i) => parseInt(h.slice(i, i + 2), 16)));
  return (value) => {
    const at = Math.min(Math.max(value, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((from, i) => from + (stops[k + 1][i] - from) * (at - k));
  };
}

export const heightRamp = ramp('#344bb8', '#2c8fdd', '#2cc6b8', '#8ad94e', '#f3d03c', '#f07b32', '#dc3f48');
export const intensityRamp = ramp('#46328c', '#8c3697', '#d04777', '#f38253', '#fbcf62', '#fdfbd6');
export const depthRamp = ramp('#fdeea8', '#f6b05b', '#e06a5c', '#9b4586', '#513886', '#1c234d');

// hue returns the pure colour, 0..1 a channel, of a place on the wheel: 0..1 from red over green.
export function hue(turn) {
  const h = 6 * turn;
  return [Math.abs(h - 3) - 1, 2 - Math.abs(h - 2), 2 - Math.abs(h - 4)].map((x) => Math.min(Math.max(x, 0), 1));
}

// idColor gives neighbouring ids hues far apart: the golden ratio's multiples spread evenly for any count.
export function idColor(id) {
  if (id === 0) return [0, 0, 0];
  const value = 0.65 + 0.35 * ((id * 0.7548776662466927) % 1);
  return hue((id * 0.6180339887498949) % 1).map((x) => value * (0.15 + 0.85 * x) * 255);
}
