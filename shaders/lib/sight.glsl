// Where points are seen from that have times of their own (lib/shutter.glsl). Needs lib/lens.glsl,
// lib/camera.glsl and lib/motion.glsl, whose sensor is the optical frame; declares no bindings.
//
// Directions and normals are along the world's axes here, and the camera is in the world. The
// optical frame turns from line to line, and in it the light would too.

// Sight is when a point is seen, and from where.
struct Sight {
    float seconds;
    Moment when;
    RigidPose camera;
};

Sight sightOf(ivec2 at) {
    float seconds = secondsOf(at);
    Moment when = momentAt(seconds);
    return Sight(seconds, when, sensorPose(when));
}

// turned returns what a pixel of the optical frame sees along, along the world's axes.
PixelRay turned(PixelRay p, Sight s) {
    vec4 q = s.camera.rotation;
    return PixelRay(rotate(q, p.direction), rotate(q, p.right), rotate(q, p.down), p.seeing);
}

// frameThen returns frame i as frameAt does, at a sight's time, for directions along the world's axes.
Frame frameThen(int i, Sight s) {
    Frame f = Frame(vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0), vec3(0.0, 0.0, 1.0), s.camera.position);
    for (bool moving = i > 0; moving; moving = false) {
        MoverFrame g = moverFrame(moverRecord(texelFetch(motion, 1), i - 1), s.when);
        mat3 rows = transpose(g.linear);
        f = Frame(rows[0], rows[1], rows[2], g.linear * (s.camera.position - g.position));
    }
    return f;
}
