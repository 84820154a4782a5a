"""A web application that takes what it needs from its command line."""

import argparse
import signal
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """Keeps the log for what matters."""

    def log_message(self, *_):
        pass


def application(greeting):
    """Answers the two paths that it knows."""
    pages = {"/": greeting, "/healthz": "ok"}

    def answer(environ, start_response):
        page = pages.get(environ["PATH_INFO"])
        status = "404 Not Found" if page is None else "200 OK"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [((page or "there is nothing here") + "\n").encode()]

    return answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--greeting", default="Hello")
    options = parser.parse_args()
    server = make_server("127.0.0.1", options.port, application(options.greeting), handler_class=Quiet)
    stop = threading.Thread(target=server.shutdown)
    signal.signal(signal.SIGTERM, lambda *_: stop.start())
    print(f"listening on port {options.port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    print("goodbye", flush=True)


if __name__ == "__main__":
    main()
