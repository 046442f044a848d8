"""Reads lines "TYPE HEX" of serialised messages, has genpy's classes deserialise and
serialise them, and prints what became of each: "HEX" in the same order. "GENMSG TYPE
JSON" prints the md5 sum and the definition that genmsg has for a message made of the
definitions in JSON, {"pkg/Type": text}, as JSON."""
import importlib
import io
import json
import sys

import genmsg
from genmsg import gentools, msg_loader

for line in sys.stdin:
    words = line.rstrip("\n").split(" ", 2)
    if words[0] == "GENMSG":
        context = genmsg.MsgContext.create_default()
        parts = json.loads(words[2])
        for name, text in parts.items():
            context.register(name, msg_loader.load_msg_from_string(context, text, name))
        for name in parts:
            msg_loader.load_depends(context, context.get_registered(name), {})
        spec = context.get_registered(words[1])
        print(json.dumps([gentools.compute_md5(context, spec), gentools.compute_full_text(context, spec)]), flush=True)
        continue
    pkg, name = words[0].split("/")
    folder = "srv" if pkg == "std_srvs" else "msg"
    m = getattr(importlib.import_module(pkg + "." + folder), name)()
    m.deserialize(bytes.fromhex(words[1] if len(words) > 1 else ""))
    out = io.BytesIO()
    m.serialize(out)
    print(out.getvalue().hex(), flush=True)
