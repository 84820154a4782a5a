"""Notes in PostgreSQL: POST /notes keeps one, GET /notes lists them all."""

import os
import signal
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from database import Database, Unreachable

UNBOUND = "no database is bound to this application: DATABASE_URL is not set\n"
# A longer note is refused.
LONGEST = 64 * 1024

# The token makes a note that is kept twice one note: whoever asks again because an answer was lost loses nothing.
KEEP = "insert into notes (token, body) values (:token, :body) on conflict (token) do nothing"
LIST = """select coalesce(json_agg(json_build_object('id', id, 'text', body) order by id), '[]')::text from notes"""

url = os.environ.get("DATABASE_URL")
database = Database(url) if url else None


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/":
            self.answer(200, "Hello from Python with a database\n")
        elif path == "/healthz":
            # Of the program alone: one whose database is away is not mended by a restart.
            self.answer(200, "ok\n")
        elif path == "/notes":
            self.ask(lambda: (200, database.run(LIST)[0][0] + "\n"), "application/json")
        else:
            self.answer(404, "there is nothing here\n")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if self.path.split("?")[0] != "/notes" or length > LONGEST:
            self.close_connection = True
            refused = (404, "there is nothing here\n") if length <= LONGEST else (413, "the note is too long\n")
            return self.answer(*refused)
        body = self.rfile.read(length).decode("utf-8", "replace").replace("\0", "")
        token = str(uuid.uuid4())
        self.ask(lambda: (201, kept(token, body)), "text/plain")

    def ask(self, question, kind):
        if database is None:
            return self.answer(503, UNBOUND)
        try:
            status, text = question()
        except Unreachable as error:
            return self.answer(503, f"{error}\n")
        self.answer(status, text, kind)

    def answer(self, status, text, kind="text/plain"):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def kept(token, body):
    database.run(KEEP, token=token, body=body)
    return "kept\n"


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
