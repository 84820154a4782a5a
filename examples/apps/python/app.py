"""A web application with nothing but Python's own library."""

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = {
    "/": "Hello from Python\n",
    "/healthz": "ok\n",
}


class Handler(BaseHTTPRequestHandler):
    """Answers with one of the pages."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        page = PAGES.get(self.path.split("?")[0])
        self.answer(404 if page is None else 200, page or "there is nothing here\n")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Waits for requests that are under way before it ends."""

    daemon_threads = False


def main():
    port = int(os.environ.get("PORT", "8080"))
    server = Server(("127.0.0.1", port), Handler)
    # shutdown() waits for the loop to end, so it must not run in the loop's own thread.
    stop = threading.Thread(target=server.shutdown)
    signal.signal(signal.SIGTERM, lambda *_: stop.start())
    print(f"listening on port {port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    print("goodbye", flush=True)


if __name__ == "__main__":
    main()
