"""HTTP servers of tests, for nrdctl: they record what it asks, or change what nrd answers."""

import contextlib
import http.server
import json
import socketserver
import threading


class UnixServer(socketserver.ThreadingUnixStreamServer):
    """Gives http.server's handlers a client address, which Unix sockets lack."""

    def get_request(self):
        connection, _ = super().get_request()
        return connection, ("local", 0)


class Handler(http.server.BaseHTTPRequestHandler):
    """Calls its answer() for each request whose method is in `methods`; its `body` is what came as JSON, or None."""

    methods = ("GET",)

    def forward(self):
        """Status and text of nrd's own answer; `node` is an attribute of the server."""
        return self.server.node.request(self.command, self.path, self.body)[:2]

    def reply(self, status, content):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(content if isinstance(content, bytes) else content.encode())

    def do_GET(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.body = json.loads(text) if text else None
        self.answer() if self.command in self.methods else self.send_error(501)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(server, **attributes):
    """The server, with these attributes for its handlers, while the block runs."""
    vars(server).update(attributes)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
