"""A mount's control socket, as far as hints go: a server that keeps the lists."""

import http.server
import json
import os
import socketserver
import tempfile
import threading
from urllib.parse import parse_qs, urlsplit

import forebay


class Socket:
    """Takes hints at a unix socket. `lists` are those that were told."""

    def __init__(self):
        self.lists = {}
        self.sizes = []
        self.refuses = False
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "control.sock")

    def __enter__(self):
        told = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                told.sizes.append(len(body))
                url = urlsplit(self.path)
                query = {name: value for name, [value] in parse_qs(url.query).items()}
                assert url.path == "/.well-known/forebay/hint" and query.keys() == {"list", "mode"}
                if told.refuses:
                    return self.answer(400, b"there is no such list")
                wants = [json.loads(line) for line in body.splitlines()]
                if query["mode"] in ("replace", "clear"):
                    told.lists.pop(query["list"], None)
                if query["mode"] != "clear":
                    told.lists.setdefault(query["list"], []).extend(wants)
                self.answer(202, json.dumps({"accepted": len(wants), "missing": []}).encode())

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def address_string(self):
                return "unix"

            def log_message(self, *_):
                pass

        self.server = socketserver.ThreadingUnixStreamServer(self.path, Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.folder.cleanup()


class FakeMount(forebay.Mount):
    """A mount whose root names a socket of the tests."""

    def __init__(self, monkeypatch, control):
        super().__init__("/mnt/not-there", None, None)
        real = os.getxattr

        def getxattr(path, name):
            if path != self.path:
                return real(path, name)
            assert name == "user.forebay.socket"
            return control.path.encode()

        monkeypatch.setattr(os, "getxattr", getxattr)
