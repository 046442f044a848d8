// How light becomes colour where a camera's settings differ from the usual: white
// balance, Unreal Engine's film curve, and another display's gamma. Package
// camera computes the numbers. Declares no bindings.

struct Grade {
    vec4 balance[3]; // rows of the colours' matrix
    float slope, toe, shoulder, gamma; // heights of the curve's ends; gamma is an exponent before sRGB
    float straight, toeEnd, shoulderStart, blackClip; // log10: offset of the straight part, its ends
    float whiteClip;
};

// balanced returns a linear colour under the camera's white balance.
vec3 balanced(Grade g, vec3 c) {
    return max(vec3(dot(g.balance[0].rgb, c), dot(g.balance[1].rgb, c), dot(g.balance[2].rgb, c)), 0.0);
}

// filmCurve maps linear light to what a display shows, 0..1: a straight line of
// light's logarithm between a toe and a shoulder, which are sigmoids.
vec3 filmCurve(Grade g, vec3 c) {
    vec3 x = log(max(c, 1e-8)) * 0.43429448;
    vec3 line = g.slope * (x + g.straight);
    vec3 low = 2.0 * g.toe / (1.0 + exp(-2.0 * g.slope / g.toe * (x - g.toeEnd))) - g.blackClip;
    vec3 high = 1.0 + g.whiteClip - 2.0 * g.shoulder / (1.0 + exp(2.0 * g.slope / g.shoulder * (x - g.shoulderStart)));
    low = mix(line, low, lessThan(x, vec3(g.toeEnd)));
    high = mix(line, high, greaterThan(x, vec3(g.shoulderStart)));
    vec3 t = clamp((x - g.toeEnd) / (g.shoulderStart - g.toeEnd), 0.0, 1.0);
    t = g.shoulderStart < g.toeEnd ? 1.0 - t : t;
    return clamp(mix(low, high, t * t * (3.0 - 2.0 * t)), 0.0, 1.0);
}
