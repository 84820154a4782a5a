import { createServer } from "node:http";

const port = Number(process.env.PORT ?? 8080);

const pages = new Map([
  ["/", "Hello from Node.js\n"],
  ["/healthz", "ok\n"],
]);

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  const page = pages.get(pathname);
  response.writeHead(page ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
  response.end(page ?? "there is nothing here\n");
});

server.listen(port, "127.0.0.1", () => console.log(`listening on port ${port}`));

process.on("SIGTERM", () => {
  // Requests that are under way are answered; connections that wait for another are closed.
  server.close(() => console.log("goodbye"));
  server.closeIdleConnections();
});
