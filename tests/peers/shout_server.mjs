// SPDX-License-Identifier: MIT
// shout_server.mjs - an MCP server on standard input and output with one tool.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "shout", version: "1.0.0" });
server.registerTool("shout", { description: "Shouts a text", inputSchema: { text: z.string() } }, async ({ text }) => ({
  content: [{ type: "text", text: text.toUpperCase() }],
}));
await server.connect(new StdioServerTransport());
