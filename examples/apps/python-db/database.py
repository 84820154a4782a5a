"""One connection to PostgreSQL that comes back by itself."""

import ssl
import threading
import time
from urllib.parse import parse_qs, unquote, urlsplit

import pg8000.exceptions
import pg8000.native

# How long a request waits for a server that is being replaced; a failover takes a few seconds.
PATIENCE = 20.0
# How long one attempt to connect, or one statement, may take.
TIMEOUT = 5.0
# What a server answers while it starts, stops, or is no longer the one that takes writes. The last two are what two
# processes tell each other that make the same table at one moment.
PASSING = ("08", "57P", "25006", "53300", "23505", "42P07")

TABLE = """create table if not exists notes (
    id bigint generated always as identity, token text primary key, body text not null)"""


class Unreachable(Exception):
    """The database did not answer in time."""


class Database:
    """Runs statements one after the other, on a new connection whenever the old one is lost.

    A statement may run twice: when its answer is lost nobody knows whether it was carried out.
    """

    def __init__(self, url):
        self.settings = settings(url)
        self.connection = None
        self.lock = threading.Lock()

    def run(self, statement, **values):
        deadline = time.monotonic() + PATIENCE
        pause = 0.05
        while True:
            try:
                return self.attempt(statement, values)
            except (OSError, pg8000.exceptions.Error) as error:
                if not passing(error):
                    raise
                if time.monotonic() + pause > deadline:
                    raise Unreachable("the database does not answer") from error
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    def attempt(self, statement, values):
        """Tries once. A connection that failed is not used again."""
        with self.lock:
            connection, self.connection = self.connection, None
            try:
                if connection is None:
                    connection = pg8000.native.Connection(timeout=TIMEOUT, **self.settings)
                    connection.run(TABLE)
                rows = connection.run(statement, **values)
            except Exception:
                close(connection)
                raise
            self.connection = connection
            return rows


def close(connection):
    try:
        if connection is not None:
            connection.close()
    except (OSError, pg8000.exceptions.Error):
        pass  # It was lost already.


def passing(error):
    """Whether it may go well on the next try."""
    if not isinstance(error, pg8000.exceptions.DatabaseError):
        return True
    told = error.args[0] if error.args else {}
    return isinstance(told, dict) and told.get("C", "").startswith(PASSING)


def settings(url):
    """What the driver needs, from a URL as PostgreSQL writes it."""
    parts = urlsplit(url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    found = {
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "host": parts.hostname or "127.0.0.1",
        "port": parts.port or 5432,
        "database": unquote(parts.path.lstrip("/")) or None,
        "application_name": "python-db",
    }
    mode = options.get("sslmode", "prefer")
    if mode in ("require", "verify-ca", "verify-full"):
        context = ssl.create_default_context(cafile=options.get("sslrootcert"))
        context.check_hostname = mode == "verify-full"
        if mode == "require":
            context.verify_mode = ssl.CERT_NONE
        found["ssl_context"] = context
    return found
