"""Every tool once: the client holds each answer against the schema that the tool promised.

    every_tool.py WAY MODE
"""

import asyncio
import json
import sys
import time
import urllib.parse
import urllib.request

import agent
from agent import Person, call, connected

WAY, MODE = sys.argv[1], sys.argv[2]
PATIENCE = 120
CANARY = "a-secret-that-only-the-person-knows"


class Typist(Person):
    """A person who follows the link they are shown, and enters the secret there."""

    async def answer(self, context, params):
        url = getattr(params, "url", None)
        if url:
            await asyncio.to_thread(self.enter, url)
        return await super().answer(context, params)

    def enter(self, url):
        with urllib.request.urlopen(url, timeout=30) as page:
            text = page.read().decode()
        assert "<form" in text and "https://git.example.com" in text, text
        body = urllib.parse.urlencode({"username": "me", "secret": CANARY}).encode()
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
        request = urllib.request.Request(url, data=body, headers={"Origin": origin})
        with urllib.request.urlopen(request, timeout=30) as page:
            assert page.status == 200


async def running(client, session, name):
    end = time.monotonic() + PATIENCE
    while True:
        status = await call(client, "app_status", session_id=session, name=name)
        if status["phase"] == "Running":
            return status
        assert status["phase"] != "Failed" and time.monotonic() < end, status
        await asyncio.sleep(0.2)


def site(text):
    return [{"path": "index.html", "content": text}]


def manifest(replicas):
    return json.dumps({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": {"name": "planned"},
        "spec": {"image": "registry.example.com/planned:1", "replicas": replicas},
    })


async def main():
    person = Typist()
    async with connected(WAY, person, MODE) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        listed = (await client.list_tools()).tools
        size = len(json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in listed], separators=(",", ":")))
        assert size < 24_000, f"tools/list has {size} bytes"
        for tool in listed:
            assert tool.title and tool.description and tool.output_schema["type"] == "object", tool
            hints = tool.annotations
            assert None not in (
                hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint
            ), tool.name

        session = (await call(client, "register"))["session_id"]
        s = {"session_id": session}
        await call(client, "push_code", **s, name="site", files=site("one"))
        await running(client, session, "site")
        await call(client, "push_code", **s, name="site", files=site("two"))
        await running(client, session, "site")
        back = await call(client, "rollback_app", **s, name="site")
        assert back["revision"] == 1, back
        await running(client, session, "site")
        built = await call(client, "app_logs", **s, name="site", build=True)
        assert "UNTRUSTED" in built["text"], built
        await call(client, "deploy_app", **s, name="image", image="registry.example.com/none:1", replicas=0)
        apps = await call(client, "list_apps", **s)
        assert [app["name"] for app in apps["apps"]] == ["image", "site"], apps

        added = await call(client, "add_git_credential", **s, name="forge", host="https://git.example.com")
        assert added["status"] == "stored", added
        held = await call(client, "list_git_credentials", **s)
        assert [one["name"] for one in held["credentials"]] == ["forge"] and CANARY not in json.dumps(held), held
        await call(client, "delete_git_credential", **s, name="forge")

        sources = await call(client, "list_data_sources")
        assert "stock" in json.dumps(sources), sources
        source = await call(client, "get_data_source", name="stock")
        assert "STOCK_URL" in json.dumps(source) and CANARY not in json.dumps(source), source
        attached = await call(client, "attach_data_source", **s, app_name="image", data_source_name="stock")
        assert attached["attached"] is True, attached
        asked = len(person.asked)
        await call(client, "delete_app", **s, name="site")
        assert len(person.asked) == asked, "nobody is asked about an app without data"
        await call(client, "delete_app", **s, name="image")
        assert len(person.asked) == asked + 1, "its data is asked about"

        plan = await call(client, "plan", **s, manifests=manifest(0))
        assert plan["objects"][0]["action"] == "create", plan
        done = await call(client, "apply_plan", **s, hash=plan["hash"])
        assert "planned" in json.dumps(done), done
        changed = await call(client, "plan", **s, manifests=manifest(2))
        assert any(change["path"] == "spec.replicas" for change in changed["objects"][0]["changes"]), changed
        gone = await call(client, "plan", **s, delete=["Application/planned"])
        await call(client, "apply_plan", **s, hash=gone["hash"])
        assert len(person.asked) == asked + 2, "a plan that deletes is asked about"

        await call(client, "provision_service", **s, name="db", type="postgres", plan="micro")
        end = time.monotonic() + PATIENCE
        while (await call(client, "service_status", **s, name="db"))["phase"] != "Ready":
            assert time.monotonic() < end
            await asyncio.sleep(0.2)
        await call(client, "push_code", **s, name="user", files=site("user"))
        await call(client, "bind_service", **s, service_name="db", app_name="user")
        await call(client, "list_services", **s)
        await call(client, "unbind_service", **s, service_name="db", app_name="user")
        await call(client, "deprovision_service", **s, name="db")
        while (await call(client, "unregister", **s))["phase"] != "Deleted":
            await asyncio.sleep(0.2)
        assert agent.CALLED == set(tools), set(tools) ^ agent.CALLED


asyncio.run(main())
