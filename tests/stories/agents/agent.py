"""An agent as its users write one: the official Python client, over HTTP or over standard input and output."""

import os
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, Implementation


class Person:
    """Answers what a client asks its user, and remembers what that was."""

    def __init__(self, agrees=True):
        self.agrees = agrees
        self.asked = []

    async def answer(self, _context, params):
        self.asked.append(params)
        if getattr(params, "url", None):
            return ElicitResult(action="accept" if self.agrees else "decline")
        if not self.agrees:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"agree": True})


@asynccontextmanager
async def connected(way, person=None, mode="auto", token=None):
    """A client that is connected: `way` is `http` or `stdio`."""
    token = token or os.environ["TERRACE_TOKEN"]
    more = {
        "mode": mode,
        "client_info": Implementation(name="story", version="1"),
        "elicitation_callback": person.answer if person else None,
        "read_timeout_seconds": 60,
    }
    if way == "stdio":
        environment = {**os.environ, "TERRACE_TOKEN": token}
        server = StdioServerParameters(command=os.environ["TERRACE"], args=["mcp"], env=environment)
        async with Client(server, **more) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(os.environ["TERRACE_MCP"], http_client=http)
        async with Client(transport, **more) as client:
            yield client


# The tools that have answered.
CALLED = set()


class Refused(Exception):
    """What a tool answered instead."""


async def call(client, tool, **arguments):
    """The structured answer of a tool; it is the same as its text, and as its schema has it."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(block.text for block in result.content if block.type == "text")
    if result.is_error:
        raise Refused(text)
    assert result.structured_content is not None, (tool, text)
    CALLED.add(tool)
    return result.structured_content
