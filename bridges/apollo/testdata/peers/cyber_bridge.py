#!/usr/bin/env python3
"""A server that follows the rules of Apollo's cyber_bridge, with python3-protobuf.

    cyber_bridge.py PORT CONTROL FOLDER

It decodes messages with the descriptors that it was sent, and with nothing else. A
message on /probe/NAME must be what messages.py of FOLDER says of NAME: that is printed as
"same NAME", or as "differs NAME: ..." . Who reads /apollo/control is sent messages.py's
command at once. Each request on the port CONTROL is answered with the state, a line of JSON:

    state                     nothing more
    rubbish                   all clients are sent what is none of the protocol
    send CHANNEL THROTTLE     a ControlCommand of so many percent is published
    unreadable CHANNEL        what is not a message is published
"""

import collections
import json
import selectors
import socket
import struct
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

sys.path.insert(0, sys.argv[3])
sys.dont_write_bytecode = True
import messages  # noqa: E402
import schema  # noqa: E402

PENDING = 1 << 30
CONTROL_COMMAND = schema.load()["apollo.control.ControlCommand"]
COMMAND = messages.fill(CONTROL_COMMAND(), messages.COMMAND).SerializeToString()


class Types:
    """What clients have described."""

    def __init__(self):
        self.pool, self.files, self.classes = descriptor_pool.DescriptorPool(), set(), {}

    def register(self, data):
        file = descriptor_pb2.FileDescriptorProto.FromString(data)
        missing = [name for name in file.dependency if name not in self.files]
        if missing:
            print("missing %s for %s" % (missing, file.name))
        elif file.name not in self.files:
            self.pool.Add(file)
            self.files.add(file.name)

    def find(self, name):
        if name not in self.classes:
            try:
                described = self.pool.FindMessageTypeByName(name)
            except KeyError:
                print("no descriptor of %s" % name)
                return None
            self.classes[name] = message_factory.MessageFactory(self.pool).GetPrototype(described)
        return self.classes[name]


def cut(data, at):
    """Returns a field and where the next begins, or None if it isn't whole."""
    if len(data) < at + 4:
        return None
    (length,) = struct.unpack_from("<I", data, at)
    if len(data) < at + 4 + length:
        return None
    return bytes(data[at + 4:at + 4 + length]), at + 4 + length


def field(data):
    return struct.pack("<I", len(data)) + data


class Client:
    def __init__(self, bridge, sock):
        self.bridge, self.sock = bridge, sock
        self.data, self.out, self.readers, self.writers = bytearray(), bytearray(), collections.Counter(), {}

    def post(self, data):
        if len(self.out) < PENDING:
            self.out += data

    def step(self):
        """Does the first op; False if it isn't whole."""
        if not self.data:
            return False
        code, at = self.data[0], 1
        if code == 1:
            if len(self.data) < 5:
                return False
            (count,), at, files = struct.unpack_from("<I", self.data, 1), 5, []
            for _ in range(count):
                found = cut(self.data, at)
                if not found:
                    return False
                files.append(found[0])
                at = found[1]
            for file in files:
                self.bridge.types.register(file)
        elif code in (2, 3, 4):
            channel = cut(self.data, at)
            body = channel and cut(self.data, channel[1])
            if not body:
                return False
            at = body[1]
            self.do(code, channel[0].decode(), body[0])
        else:
            print("unknown op %d" % code)
            raise ConnectionError
        del self.data[:at]
        return True

    def do(self, code, channel, body):
        if code == 2:
            self.readers[channel] += 1
            if channel == "/apollo/control":
                self.post(b"\x04" + field(channel.encode()) + field(COMMAND))
        elif code == 3:
            found = self.bridge.types.find(body.decode())
            if found:
                self.writers[channel] = found
        else:
            self.bridge.take(channel, body)


class Bridge:
    def __init__(self, port):
        self.types, self.clients, self.received, self.seen = Types(), [], {}, set()
        self.select = selectors.DefaultSelector()
        self.listen(port, lambda sock: self.clients.append(Client(self, sock)))

    def listen(self, port, accepted):
        sock = socket.create_server(("127.0.0.1", port))
        self.select.register(sock, selectors.EVENT_READ, accepted)

    def take(self, channel, body):
        writer = next((c.writers[channel] for c in self.clients if channel in c.writers), None)
        if writer is None:
            return print("no writer of %s" % channel)
        self.received[channel] = self.received.get(channel, 0) + 1
        name = channel.rpartition("/")[2]
        if channel.startswith("/probe/") and name in messages.EXPECTED and channel not in self.seen:
            self.seen.add(channel)
            typ, fields = messages.EXPECTED[name]
            decoded = writer.FromString(body)
            found = messages.differences(decoded, fields)
            if decoded.DESCRIPTOR.full_name != typ:
                found.insert(0, "it is a %s, not a %s" % (decoded.DESCRIPTOR.full_name, typ))
            print("differs %s: %s" % (name, "; ".join(found)) if found else "same %s" % name)
        self.forward(channel, body)

    def forward(self, channel, body):
        for c in self.clients:
            if channel in c.readers:
                c.post(b"\x04" + field(channel.encode()) + field(body))

    def state(self):
        return dict(received=self.received, writers=sorted(w for c in self.clients for w in c.writers),
                    readers=dict(sum((c.readers for c in self.clients), collections.Counter())))

    def control(self, sock):
        """Answers one request."""
        with sock:
            sock.settimeout(5)
            request, *arguments = sock.recv(200).decode().split()
            if request == "rubbish":
                for c in self.clients:
                    c.post(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            elif request == "send":
                self.forward(arguments[0], CONTROL_COMMAND(throttle=float(arguments[1])).SerializeToString())
            elif request == "unreadable":
                self.forward(arguments[0], b"\xff")
            sock.sendall(json.dumps(self.state()).encode() + b"\n")

    def drop(self, client):
        self.clients.remove(client)
        self.select.unregister(client.sock)
        client.sock.close()

    def serve(self, client, mask):
        try:
            if mask & selectors.EVENT_READ:
                data = client.sock.recv(1 << 20)
                client.data += data
                while client.step():
                    pass
                if not data:
                    raise ConnectionError
            if mask & selectors.EVENT_WRITE and client.out:
                del client.out[:client.sock.send(client.out)]
        except BlockingIOError:
            pass
        except OSError:
            self.drop(client)

    def run(self):
        while True:
            for key, mask in self.select.select():
                if callable(key.data):
                    sock, _ = key.fileobj.accept()
                    key.data(sock)
                elif key.data in self.clients:
                    self.serve(key.data, mask)
            for c in self.clients:
                c.sock.setblocking(False)
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if c.out else 0)
                try:
                    self.select.modify(c.sock, wanted, c)
                except KeyError:
                    self.select.register(c.sock, wanted, c)


bridge = Bridge(int(sys.argv[1]))
bridge.listen(int(sys.argv[2]), bridge.control)
print("listening")
bridge.run()
