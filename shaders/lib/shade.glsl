// Light and colour of a camera's pixels: sun, sky, the surface's answer to
// them, the tone curve and sRGB. Directions are unit vectors in one frame, which
// the caller chooses; colours are linear RGB. WEATHER says that there is air that isn't clear, water or snow.
// Declares no bindings.

#if WEATHER
// Air is that of a weather, and what lies on flat ground. Light that goes x metres keeps exp2(-extinction x).
struct Air {
    vec4 beyond; // irradiance of a surface that faces the sun, above the air
    vec4 low;    // radiance of endless air towards the horizon,
    vec4 high;   // and upwards
    float extinction;
    float depth;   // extinction times the way straight up
    float wetness; // 1 is a closed film of water
    float snow;    // share of flat ground under snow
};
#endif

struct Light {
    vec3 up;      // away from the ground
    vec3 toSun;
    vec3 sun;     // irradiance of a surface that faces the sun
    vec3 zenith;  // radiance of the sky overhead,
    vec3 horizon; // at the horizon,
    vec3 ground;  // and of what lies below it
    vec3 around;  // irradiance of an upward surface by sky and surroundings, over pi
#if WEATHER
    Air air;
#endif
};

struct Surface {
    vec3 normal; // on the side of the eye
    vec3 base;
    vec3 emission;
    float metallic;
    float roughness;
    float open; // how much of the light of sky and ground reaches it, 0..1
#if WEATHER
    bool soaks; // water goes into it and stands on it as no film
#endif
};

#if WEATHER
// airlight returns what endless air shows in a direction whose height over the horizon is a sine.
vec3 airlight(Air a, float height) { return mix(a.low.rgb, a.high.rgb, 1.0 - exp2(-4.5 * max(height, 0.0))); }

// throughAir returns what the air leaves of light from beyond it. It is a layer, so that the way is 1/height of that
// straight up. If no surface is below, it goes down as far.
float throughAir(Air a, float height) { return exp2(-a.depth / max(abs(height), 1e-6)); }
#endif

// skyRadiance returns what an eye sees in a direction that meets no surface.
vec3 skyRadiance(Light l, vec3 direction) {
    float height = dot(direction, l.up);
    vec3 sky = mix(l.horizon, l.zenith, 1.0 - exp2(-4.5 * max(height, 0.0)));
    vec3 below = mix(l.horizon, l.ground, clamp(-10.0 * height, 0.0, 1.0));
    vec3 color = height < 0.0 ? below : sky;
    float toward = max(dot(direction, l.toSun), 0.0);
    float t8 = toward * toward;
    t8 *= t8;
    t8 *= t8;
    float t64 = t8 * t8;
    t64 *= t64;
    t64 *= t64;
    float disc = smoothstep(0.99996, 0.99998, toward);
    float around = 0.012 * t8 + 0.05 * t64 + 8.0 * disc;
#if WEATHER
    return mix(airlight(l.air, height), color + l.air.beyond.rgb * around, throughAir(l.air, height));
#else
    return color + l.sun * around;
#endif
}

// skyIrradiance returns the light of sky and ground on a surface, divided by pi. It is a
// hemisphere each, weighted by how much of it the normal sees.
vec3 skyIrradiance(Light l, vec3 normal) {
    return mix(l.ground, l.around, 0.5 + 0.5 * dot(normal, l.up));
}

// skyReflection returns the sky in a mirror of some roughness: rough ones blur
// the horizon.
vec3 skyReflection(Light l, vec3 direction, float roughness) {
    float height = dot(direction, l.up);
    vec3 sky = mix(l.horizon, l.zenith, 1.0 - exp2(-4.5 * max(height, 0.0)));
#if WEATHER
    sky = mix(airlight(l.air, height), sky, throughAir(l.air, height));
#endif
    float edge = 0.03 + 0.5 * roughness;
    return mix(l.ground, sky, smoothstep(-edge, edge, height));
}

#if WEATHER
// The albedo of fresh snow, from 0.8 to 0.9 (Wiscombe and Warren, A Model for the Spectral Albedo of Snow, 1980).
const float SNOW = 0.85;

// The shares that a film of water mirrors of diffuse light from above, and of that from below (Lekner and Dorf, Why some things
// are darker when wet, 1988; n is 1.33).
const float FILM_ABOVE = 0.066, FILM_BELOW = 0.472;
const float WATER = 0.02, WATER_ROUGHNESS = 0.08; // seen from straight above; and of its ripples

// waterMirrors returns which part of unpolarized light a surface of water mirrors (Fresnel; n squared is 1.7689). c is the
// cosine at its normal.
float waterMirrors(float c) {
    float g = sqrt(0.7689 + c * c);
    float s = (g - c) / (g + c), p = (c * (g + c) - 1.0) / (c * (g - c) + 1.0);
    return 0.5 * s * s * (1.0 + p * p);
}

// weathered returns a surface under snow, as dark as water makes it. They lie where it is flat, snow on slopes up to 50 degrees,
// too. film is the share under a film of water, and what that mirrors is told apart. Surfaces that soak water up have none.
Surface weathered(Surface s, Light l, float ne, out float film, out float mirrors) {
    float up = dot(s.normal, l.up);
    float snow = l.air.snow * smoothstep(0.64, 0.87, up);
    float wet = l.air.wetness * smoothstep(0.87, 0.97, up) * (1.0 - snow);
    film = s.soaks ? 0.0 : wet;
    mirrors = s.soaks ? WATER : waterMirrors(ne);
    vec3 below = (1.0 - FILM_ABOVE) * (1.0 - FILM_BELOW) * s.base / (1.0 - FILM_BELOW * s.base) * ((1.0 - mirrors) / (1.0 - WATER));
    s.base = mix(mix(s.base, below, wet * (1.0 - s.metallic)), vec3(SNOW), snow);
    s.metallic *= 1.0 - snow;
    s.roughness = mix(s.roughness, 1.0, snow);
    return s;
}
#endif

// radiance returns the light that leaves a surface towards the eye, under a fraction sunlight
// of the sun. It is Lambert and GGX with a Schlick-Smith visibility. The sources are Walter et
// al., Microfacet Models for Refraction, EGSR 2007, and Karis, Real Shading in Unreal Engine 4, 2013.
// The sky is by its split-sum fit (Karis, Physically Based Shading on Mobile, 2014).
vec3 radiance(Surface s, Light l, vec3 toEye, float sunlight) {
    float ne = max(dot(s.normal, toEye), 1e-3);
#if WEATHER
    float film, mirrors;
    s = weathered(s, l, ne, film, mirrors);
#endif
    float own = clamp(s.roughness, 0.06, 1.0), roughness = own;
    vec3 diffuse = s.base * (1.0 - s.metallic);
    vec3 bare = mix(vec3(0.04), s.base, s.metallic), specular = bare;

#if WEATHER
    // Sun and horizon are mirrored by one surface, which is between ground and film.
    roughness = mix(own, WATER_ROUGHNESS, film);
    specular = mix(bare, vec3(WATER), film);
#endif
    float alpha = roughness * roughness;

    vec3 between = normalize(l.toSun + toEye);
    float ns = max(dot(s.normal, l.toSun), 0.0);
    float nb = max(dot(s.normal, between), 0.0);
    float eb = max(dot(toEye, between), 0.0);
    float a2 = alpha * alpha;
    float q = nb * nb * (a2 - 1.0) + 1.0;
    float k = 0.5 * alpha;
    float lobe = a2 / (12.566371 * q * q * (ne * (1.0 - k) + k) * (ns * (1.0 - k) + k));
    float f = 1.0 - eb;
    float f2 = f * f;
    vec3 fresnel = specular + (1.0 - specular) * (f2 * f2 * f);
    vec3 direct = (diffuse * 0.31830989 + min(lobe, 60.0) * fresnel) * l.sun * (ns * sunlight);

    vec4 r = own * vec4(-1.0, -0.0275, -0.572, 0.022) + vec4(1.0, 0.0425, 1.04, -0.04);
    float a = min(r.x * r.x, exp2(-9.28 * ne)) * r.x + r.y;
    vec2 split = vec2(-1.04, 1.04) * a + r.zw;
    vec3 mirrored = skyReflection(l, reflect(-toEye, s.normal), roughness);
    vec3 gloss = bare * split.x + split.y;
#if WEATHER
    gloss = mix(gloss, vec3(mirrors), film);
#endif
    vec3 around = diffuse * skyIrradiance(l, s.normal) + gloss * mirrored;
    return direct + s.open * around + s.emission;
}

// toneCurve maps radiance times exposure to what a display shows, 0..1: the
// rational form that fits the ACES reference curve (K. Narkowicz, ACES Filmic Tone
// Mapping Curve, 2016), with the shadows lifted, since a camera looks into them. It is 1
// long before the square of x would be too large a number.
vec3 toneCurve(vec3 x) {
    x = min(x, 1e6);
    return clamp(x * (2.51 * x + 0.09) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

// encodeSrgb applies the sRGB transfer function (IEC 61966-2-1).
vec3 encodeSrgb(vec3 c) {
    vec3 low = 12.92 * c;
    vec3 high = 1.055 * pow(max(c, vec3(1e-6)), vec3(1.0 / 2.4)) - 0.055;
    return mix(high, low, lessThanEqual(c, vec3(0.0031308)));
}
