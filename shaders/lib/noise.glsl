// Random numbers without a state: the same key and counter give the same number in any
// order of work. Words and uniform numbers are integers' arithmetic, the same wherever
// OpenGL 4.5 is. Normal numbers go through log, sqrt and cos, which GLSL doesn't round alike
// everywhere: they are the same on one driver.

// pcg4d mixes four words (Jarzynski and Olano, "Hash Functions for GPU
// Rendering", JCGT 9(3), 2020).
uvec4 pcg4d(uvec4 v) {
    v = v * 1664525u + 1013904223u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    v ^= v >> 16u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    return v;
}

// uniformOf returns a word as a number from 0 to below 1, in steps of 2^-24.
float uniformOf(uint bits) { return float(bits >> 8) * (1.0 / 16777216.0); }

// gaussianOf turns two words into a normally distributed number, mean 0 and
// deviation 1 (Box and Muller, 1958), and gaussiansOf into two that are independent: the first is the same.
float radiusOf(uint bits) { return sqrt(-2.0 * log((float(bits >> 8) + 1.0) * (1.0 / 16777216.0))); }
float gaussianOf(uvec2 bits) { return radiusOf(bits.x) * cos(6.2831853 * uniformOf(bits.y)); }
vec2 gaussiansOf(uvec2 bits) {
    float angle = 6.2831853 * uniformOf(bits.y);
    return radiusOf(bits.x) * vec2(cos(angle), sin(angle));
}

// gaussian returns the normally distributed number of a counter under a key.
float gaussian(uvec2 key, uvec2 counter) { return gaussianOf(pcg4d(uvec4(key, counter)).xy); }
