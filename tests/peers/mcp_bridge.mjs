// SPDX-License-Identifier: MIT
// mcp_bridge.mjs - a server that speaks on standard input and output, behind streamable HTTP: both ends are transports of the MCP
// SDK, one process a session. usage: PORT=N node mcp_bridge.mjs SCRIPT [ARG...]
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { listen, sessions } from "./mcp_http.mjs";

listen(async (http) => {
  const child = new StdioClientTransport({ command: process.execPath, args: process.argv.slice(2), env: process.env });
  const held = [];
  let listens = false;
  http.listen = () => ((listens = true), held.splice(0).forEach((message) => http.send(message)));
  http.onmessage = (message) => child.send(message);
  child.onmessage = (message) => (message.method && !listens ? held.push(message) : http.send(message));
  http.onclose = () => (sessions.delete(http.sessionId), child.close());
  child.onclose = () => http.close();
  await child.start();
});
