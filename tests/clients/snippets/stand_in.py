"""A server in the place of licd: it is busy for a while, or gives every request the same response."""

import http.client
import http.server
import threading
import time

# More than the 1 and 2 seconds that the programs wait when they are not asked to.
BUSY_SECONDS = 4


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.respond(*self.server.response(self.path, body, dict(self.headers)))

    def do_GET(self):
        """What a redirect may make of a request: the key must not come along."""
        self.server.leaked = self.server.leaked or "Authorization" in self.headers
        self.respond(200, None, b"{}")

    def respond(self, status, retry_after, text):
        self.send_response(status)
        if status in (302, 307):
            self.send_header("Location", self.server.elsewhere)
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class StandIn(http.server.ThreadingHTTPServer):
    """In front of the licd at this port."""

    def __init__(self, licd_port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.licd_port = licd_port
        self.requests = 0
        self.fixed = None
        self.ready_at = None
        self.leaked = False
        # The same server under another name, to which no key belongs.
        self.elsewhere = f"http://localhost:{self.server_port}/elsewhere"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def start_being_busy(self):
        """From the next request on: 503 for a while, then what licd says."""
        self.fixed = self.ready_at = None

    def always(self, status, retry_after, text):
        """From now on: this status, Retry-After or None, and body, for all requests, which are counted."""
        self.requests = 0
        self.fixed = (status, retry_after, text.encode())

    def response(self, path, body, headers):
        self.requests += 1
        if path == "/elsewhere":
            self.leaked = self.leaked or "Authorization" in headers
            return 200, None, b"{}"
        if self.fixed:
            return self.fixed
        now = time.monotonic()
        if self.ready_at is None:
            # A little less than announced, as timers may fire early.
            self.ready_at = now + BUSY_SECONDS - 0.5
        if now < self.ready_at:
            return 503, BUSY_SECONDS, b""
        licd = http.client.HTTPConnection("127.0.0.1", self.licd_port, timeout=10)
        licd.request("POST", path, body, headers)
        response = licd.getresponse()
        return response.status, None, response.read()
