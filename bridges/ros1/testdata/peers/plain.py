"""Messages as plain values that JSON has: floats by their bits, bytes as base64."""
import base64
import math
import struct

import genpy


def plain(v):
    if isinstance(v, genpy.Message):
        return {name: plain(getattr(v, name)) for name in v.__slots__}
    if isinstance(v, genpy.rostime.TVal):
        return {"secs": v.secs, "nsecs": v.nsecs}
    if isinstance(v, bytes):
        return {"base64": base64.b64encode(v).decode()}
    if isinstance(v, (list, tuple)):
        return [plain(e) for e in v]
    if isinstance(v, float):
        return {"bits": "nan" if math.isnan(v) else struct.pack(">d", v).hex()}
    return v


def decoder(typ, md5, definition):
    """The class of a type: Debian's, or one that genpy makes of the definition.

    Its md5 sum is genpy's, so that ours is held against it.
    """
    import genpy.dynamic
    import roslib.message

    known = roslib.message.get_message_class(typ)
    made = genpy.dynamic.generate_dynamic(typ, definition)[typ]
    if known is not None:
        assert known._md5sum == md5, (typ, md5, known._md5sum)
    assert made._md5sum == md5, (typ, md5, made._md5sum)
    return known or made, known is not None
