// When each point of a picture is seen that isn't of one instant. A point is one of a square of
// them that its pixel has. Seconds are after the start of the motion table's window.

layout(std140, binding = SLOT_SHUTTER) uniform Shutter {
    vec4 lines;     // seconds from a pixel to the next, along x and along y, and those of pixel (0, 0); points across a pixel
    vec4 points[4]; // seconds that each of a pixel's points adds, row by row
};

// secondsOf returns when a point is seen.
float secondsOf(ivec2 at) {
    int across = int(lines.w);
    ivec2 pixel = at / across, part = at - across * pixel;
    int k = across * part.y + part.x;
    return lines.x * float(pixel.x) + lines.y * float(pixel.y) + lines.z + points[k >> 2][k & 3];
}
