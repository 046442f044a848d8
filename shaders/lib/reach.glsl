// Where the ray through a pixel's centre meets the triangle that covers it. Needs
// lib/lens.glsl and lib/camera.glsl; declares no bindings.

// reachOf returns the factor of a pixel's direction that reaches what it sees. id is that
// of visible: the triangle plus one, and its frame. f is the frame's entry, and ray the
// direction in it.
float reachOf(uvec2 id, Frame f, vec3 ray) {
    int triangle = int(max(id.x, 1u)) - 1;
    vec3 plane = texelFetch(triangles, 3 * triangle).xyz;
    vec3 corner = vertexPosition(3 * triangle);
    float reach = -dot(plane, f.camera - corner) * (1.0 / dot(plane, ray));
#if LENS < LENS_SVL_FISHEYE && !ROLLING
    // A triangle seen on its edge covers pixels by the rasteriser's rounding
    // alone, whose rays may meet its plane anywhere: not beyond its corners.
    vec3 depths = vec3(depthIn(id.y, corner), depthIn(id.y, vertexPosition(3 * triangle + 1)),
        depthIn(id.y, vertexPosition(3 * triangle + 2)));
    float nearest = min(min(depths.x, depths.y), depths.z), farthest = max(max(depths.x, depths.y), depths.z);
    float slack = 1e-4 + 1e-5 * farthest;
    reach = clamp(reach, max(nearest - slack, 0.0), farthest + slack);
#endif
    return reach;
}
