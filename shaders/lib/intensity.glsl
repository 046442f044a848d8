// How strong a lidar's return is, as its scale has it. SCALE is a constant: one of those below. Needs
// lib/trace.glsl; declares no bindings.

#define SCALE_NONE 0
#define SCALE_SURFACE 1
#define SCALE_TRANSMISSION 2
#define SCALE_COLOR 3

// reflectance returns a surface's diffuse reflectance at the laser's wavelength.
float reflectance(Material m, int triangle, vec2 barycentric) {
    if (m.reflectance >= 0.0) return m.reflectance;
    vec3 color = surfaceColor(m, triangle, barycentric, beamAt(textureCoordinates(triangle, barycentric))).rgb;
    return dot(color, vec3(0.2126, 0.7152, 0.0722));
}

// intensity returns a hit's intensity.
//   surface:      0..100 for diffuse surfaces (Lambert, weakened by the way), 101..255
//                 for retroreflectors, which send the light back at any angle
//   transmission: what the air lets through, CARLA's
//   color:        SVL Simulator's, the metallic factor of a material that has a texture
//                 of them, the mean of the base colour of the others
float intensity(Hit hit, float cosine, float transmission) {
#if SCALE == SCALE_SURFACE
    Material m = painted(materialAt(triangleMaterial(hit.triangle)), hit.mover);
    float rho = clamp(reflectance(m, hit.triangle, hit.barycentric), 0.0, 1.0);
    return m.retro ? 101.0 + 154.0 * rho * transmission : 100.0 * rho * cosine * transmission;
#elif SCALE == SCALE_TRANSMISSION
    return transmission;
#elif SCALE == SCALE_COLOR
    Material m = painted(materialAt(triangleMaterial(hit.triangle)), hit.mover);
    vec2 uv = textureCoordinates(hit.triangle, hit.barycentric);
    float mean = dot(surfaceColor(m, hit.triangle, hit.barycentric, beamAt(uv)).rgb, vec3(1.0 / 3.0));
    return clamp(m.metalRoughPicture >= 0 ? metallicRoughness(m, beamAt(uv)).x : mean, 0.0, 1.0);
#else
    return 0.0;
#endif
}
