// SPDX-License-Identifier: MIT
// mcp_http.mjs - servers of the tests behind streamable HTTP on PORT: a transport of the MCP SDK for each session.
import { randomUUID } from "node:crypto";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export const sessions = new Map();

// connect: gives a new transport its server. `transport.listen` is called when somebody reads the stream of a GET: what a server
// says by itself before that, the SDK drops.
export function listen(connect) {
  const open = async () => {
    const http = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, http),
    });
    await connect(http);
    return http;
  };
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
}
