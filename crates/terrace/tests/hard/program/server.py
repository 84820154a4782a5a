"""A program that tells what it sees, and misbehaves when its variables ask for it."""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

VERSION = "one"


def look(path):
    """What the system says when the program opens a file or a directory."""
    try:
        if os.path.isdir(path):
            return {"names": os.listdir(path)}
        with open(path, "rb") as file:
            return {"text": file.read(1 << 16).decode("utf-8", "replace")}
    except OSError as error:
        return {"error": error.strerror}


class Handler(BaseHTTPRequestHandler):
    """Answers in JSON."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        first, _, rest = self.path[1:].partition("/")
        if first == "env":
            self.answer({"value": os.environ.get(rest)})
        elif first == "slow":
            self.slowly()
        elif first == "look":
            self.answer(look(unquote(rest)))
        else:
            self.answer({
                "version": VERSION,
                "greeting": os.environ.get("GREETING", ""),
                "pod": os.environ.get("HOSTNAME", ""),
                "pid": os.getpid(),
                "uid": os.getuid(),
            })

    def slowly(self):
        """An answer of which the second half takes its time."""
        body = json.dumps({"version": VERSION, "greeting": "", "padding": "x" * 100_000}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:50_000])
        time.sleep(1)
        self.wfile.write(body[50_000:])

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.answer({"version": VERSION, "greeting": os.environ.get("GREETING", ""), "bytes": len(body)})

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Waits for requests that are under way before it ends."""

    daemon_threads = False
    request_queue_size = 128


def stray():
    """Leaves a process behind that hides: another session, another parent, no environment, another directory."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.chdir("/")
            os.execve("/bin/sleep", ["sleep", "3600"], {})
        os._exit(0)
    os.wait()


def chatter(how):
    """Prints without end: lines, or one line of a gibibyte."""
    piece = b"x" * (1 << 20)
    if how == "lines":
        number = 0
        while True:
            number += 1
            os.write(1, b"line %d %s\n" % (number, b"y" * 1000))
    for _ in range(1024):
        left = piece
        while left:
            left = left[os.write(1, left):]
    os.write(1, b"\nafter the long line\n")


def main():
    misbehave = os.environ.get("MISBEHAVE", "")
    if misbehave == "crash":
        print("I cannot go on", flush=True)
        sys.exit(3)
    if misbehave == "stray":
        stray()
    while misbehave == "forks":
        try:
            os.fork()
        except OSError:
            pass
    if misbehave in ("lines", "line"):
        threading.Thread(target=chatter, args=(misbehave,), daemon=True).start()
    server = Server(("127.0.0.1", int(os.environ["PORT"])), Handler)
    # shutdown() waits for the loop to end, so it must not run in the loop's own thread.
    stop = threading.Thread(target=server.shutdown)
    deaf = misbehave in ("deaf", "stray")
    signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else lambda *_: stop.start())
    print("listening", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()


if __name__ == "__main__":
    main()
