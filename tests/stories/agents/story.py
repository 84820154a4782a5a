"""An agent's whole work: an app with a database, from nothing to nothing.

    story.py WAY MODE          WAY: http or stdio; MODE: auto (the newest protocol) or legacy
"""

import asyncio
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from agent import Person, Refused, call, connected

WAY, MODE = sys.argv[1], sys.argv[2]
SOURCE = Path(os.environ["TERRACE_EXAMPLES"]) / "python-db"
PATIENCE = 120


async def until(what, ask, wanted):
    """Asks again and again, as the answer itself says how."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = await ask()
        if wanted(answer):
            return answer
        assert answer.get("phase") != "Failed", (what, answer)
        assert time.monotonic() < end, (what, answer)
        # A person's agent would wait for as long as it is told; a test looks sooner.
        await asyncio.sleep(min(answer.get("poll_seconds", 1), 0.3))


def ask_app(url, path, data=None):
    """What the app answers, through the platform's door."""
    host = url.split("//")[1].rstrip("/")
    name, port = host.split(":")
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data, headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


async def until_app(url, path, wanted, data=None):
    end = time.monotonic() + PATIENCE
    while True:
        answer = await asyncio.to_thread(ask_app, url, path, data)
        if wanted(answer):
            return answer
        assert time.monotonic() < end, answer
        await asyncio.sleep(0.2)


async def main():
    person = Person()
    async with connected(WAY, person, MODE) as client:
        wanted = "2025-11-25" if MODE == "legacy" else "2026-07-28"
        assert client.protocol_version == wanted, client.protocol_version
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == [tool.name for tool in (await client.list_tools()).tools], "the order is always the same"
        assert tools[:3] == ["register", "unregister", "push_code"], tools
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["deploy-guide", "services-guide", "language-guide"], prompts
        guide = await client.get_prompt("deploy-guide")
        assert "provision_service" in guide.messages[0].content.text

        session = (await call(client, "register", name="a story"))["session_id"]
        files = [
            {"path": str(path.relative_to(SOURCE)), "content": path.read_text()}
            for path in sorted(SOURCE.rglob("*"))
            if path.is_file()
        ]
        pushed = await call(client, "push_code", session_id=session, name="notes", files=files)
        assert pushed["name"] == "notes", pushed

        made = await call(
            client, "provision_service", session_id=session, name="db", type="postgres", plan="micro"
        )
        assert made["name"] == "db" and "service_status" in made["message"], made
        running = await until(
            "notes runs",
            lambda: call(client, "app_status", session_id=session, name="notes"),
            lambda status: status["phase"] == "Running",
        )
        status, text = await until_app(running["url"], "/notes", lambda answer: answer[0] == 503)
        assert "no database is bound" in text, text
        ready = await until(
            "db is ready",
            lambda: call(client, "service_status", session_id=session, name="db"),
            lambda status: status["phase"] == "Ready",
        )
        assert ready["connectionEnvVars"][0] == "DATABASE_URL", ready
        bound = await call(client, "bind_service", session_id=session, service_name="db", app_name="notes")
        assert bound["bound"] is True and "PGPASSWORD" in bound["injectedEnvVars"], bound

        await until_app(running["url"], "/notes", lambda answer: answer[0] == 201, data=b"from a story")
        status, text = await until_app(running["url"], "/notes", lambda answer: answer[0] == 200)
        assert [note["text"] for note in json.loads(text)] == ["from a story"], text

        logs = await call(client, "app_logs", session_id=session, name="notes")
        assert "listening on port" in logs["text"], logs
        uri = f"iaf://app/iaf-{session}/notes"
        seen = json.loads((await client.read_resource(uri)).contents[0].text)
        assert seen["phase"] == "Running", seen
        listed = await call(client, "list_services", session_id=session)
        assert listed["services"] == [
            {"name": "db", "type": "postgres", "plan": "micro", "phase": "Ready", "boundApps": ["notes"]}
        ], listed

        try:
            await call(client, "deprovision_service", session_id=session, name="db")
            raise AssertionError("a database that is in use was deleted")
        except Refused as refused:
            assert "notes" in str(refused), refused
        assert person.asked == [], "nobody is asked about what cannot be"
        await call(client, "unbind_service", session_id=session, service_name="db", app_name="notes")

        person.agrees = False
        try:
            await call(client, "deprovision_service", session_id=session, name="db")
            raise AssertionError("a database was deleted although nobody agreed")
        except Refused as refused:
            assert "nothing was changed" in str(refused), refused
        assert len(person.asked) == 1 and "db" in person.asked[0].message, person.asked
        assert (await call(client, "service_status", session_id=session, name="db"))["phase"] == "Ready"
        person.agrees = True
        await call(client, "deprovision_service", session_id=session, name="db")
        assert len(person.asked) == 2, person.asked
        await until(
            "db is gone",
            lambda: call(client, "list_services", session_id=session),
            lambda listed: listed["services"] == [],
        )

        ended = await until(
            "the session is over",
            lambda: call(client, "unregister", session_id=session),
            lambda answer: answer["phase"] == "Deleted",
        )
        assert ended["phase"] == "Deleted", ended
        assert len(person.asked) == 3, "a person is asked once about the end of a session"
        try:
            await call(client, "list_apps", session_id=session)
            raise AssertionError("a session went on after its end")
        except Refused as refused:
            assert "no session" in str(refused), refused
    print(f"iaf-{session}")


asyncio.run(main())
