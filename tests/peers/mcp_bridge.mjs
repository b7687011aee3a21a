// SPDX-License-Identifier: MIT
// mcp_bridge.mjs - a server that speaks on standard input and output, behind streamable HTTP: both ends are transports of the MCP
// SDK, one process a session. usage: PORT=N node mcp_bridge.mjs SCRIPT [ARG...]
import { randomUUID } from "node:crypto";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const sessions = new Map();

async function open() {
  const child = new StdioClientTransport({ command: process.execPath, args: process.argv.slice(2), env: process.env });
  const http = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, http),
  });
  // What the server says by itself goes to the stream of a GET; before there is one the SDK would drop it.
  const held = [];
  let listens = false;
  http.listen = () => ((listens = true), held.splice(0).forEach((message) => http.send(message)));
  http.onmessage = (message) => child.send(message);
  child.onmessage = (message) => (message.method && !listens ? held.push(message) : http.send(message));
  http.onclose = () => (sessions.delete(http.sessionId), child.close());
  child.onclose = () => http.close();
  await child.start();
  return http;
}

const app = createMcpExpressApp();
app.all("/mcp", async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const http = id ? sessions.get(id) : await open();
  if (http && request.method === "GET") {
    const { writeHead } = response;
    response.writeHead = (...head) => (setImmediate(http.listen), writeHead.apply(response, head));
  }
  if (http) await http.handleRequest(request, response, request.body);
  else response.status(404).json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } });
});
app.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("listening"));
