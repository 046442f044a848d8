// Random numbers without a state: the same key and counter give the same number,
// on any driver and in any order of work.

// pcg4d mixes four words (Jarzynski and Olano, "Hash Functions for GPU
// Rendering", JCGT 9(3), 2020).
uvec4 pcg4d(uvec4 v) {
    v = v * 1664525u + 1013904223u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    v ^= v >> 16u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    return v;
}

// gaussian returns a normally distributed number, mean 0 and deviation 1 (Box and
// Muller, 1958).
float gaussian(uvec2 key, uvec2 counter) {
    uvec4 bits = pcg4d(uvec4(key, counter));
    float u = (float(bits.x >> 8) + 1.0) * (1.0 / 16777216.0);
    float v = float(bits.y >> 8) * (1.0 / 16777216.0);
    return sqrt(-2.0 * log(u)) * cos(6.2831853 * v);
}
