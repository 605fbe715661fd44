"""A service that is busy for a while: it answers 503 with Retry-After, and then passes requests on."""

import http.client
import http.server
import threading
import time

# More than the 1 and 2 seconds that the programs wait when they are not asked to.
BUSY_SECONDS = 4


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.is_busy():
            self.send_response(503)
            self.send_header("Retry-After", str(BUSY_SECONDS))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        licd = http.client.HTTPConnection("127.0.0.1", self.server.licd_port, timeout=10)
        licd.request("POST", self.path, body, dict(self.headers))
        answer = licd.getresponse()
        text = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class BusyServer(http.server.ThreadingHTTPServer):
    """In front of the licd at this port."""

    def __init__(self, licd_port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.licd_port = licd_port
        self.ready_at = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def start_being_busy(self):
        """From the next request on."""
        self.ready_at = None

    def is_busy(self):
        now = time.monotonic()
        if self.ready_at is None:
            # A little less than announced, as timers may fire early.
            self.ready_at = now + BUSY_SECONDS - 0.5
        return now < self.ready_at
