// SPDX-License-Identifier: MIT
// mcp_auth_server.mjs - a protected MCP server and its authorisation server, both made of the MCP SDK's own handlers. Tokens live
// as long as a test says, and it can be told to stop believing in them. Nobody has to agree: the authorisation is redirected.
import { randomUUID, webcrypto } from "node:crypto";
import { DemoInMemoryAuthProvider } from "@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js";
import { InvalidGrantError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

globalThis.crypto ??= webcrypto; // Node 18 has it behind a switch, and the SDK needs it

const LONG_S = 3600;

// The SDK's provider, with tokens that end and can be renewed once each.
class Provider extends DemoInMemoryAuthProvider {
  constructor(first_s) {
    super();
    Object.assign(this, { first_s, refreshes: new Map(), authorised: 0, renewed: 0, refused: 0 });
  }

  issue(client, resource, seconds) {
    const [token, refresh] = [randomUUID(), randomUUID()];
    const expiresAt = Date.now() + seconds * 1000;
    this.tokens.set(token, { token, clientId: client.client_id, scopes: [], expiresAt, resource });
    this.refreshes.set(refresh, { client: client.client_id, resource });
    return { access_token: token, token_type: "bearer", expires_in: seconds, refresh_token: refresh };
  }

  async exchangeAuthorizationCode(client, code, ...rest) {
    const { resource } = this.codes.get(code).params;
    const { access_token } = await super.exchangeAuthorizationCode(client, code, ...rest);
    this.tokens.delete(access_token);
    this.authorised++;
    return this.issue(client, resource, this.first_s);
  }

  async exchangeRefreshToken(client, refresh) {
    const known = this.refreshes.get(refresh);
    if (known?.client !== client.client_id) {
      this.refused++;
      throw new InvalidGrantError("the refresh token is not known");
    }
    this.refreshes.delete(refresh);
    this.renewed++;
    return this.issue(client, known.resource, LONG_S);
  }

  async verifyAccessToken(token) {
    return super.verifyAccessToken(token).catch(() => {
      throw new InvalidTokenError("the token is not valid");
    });
  }
}

const say = (text) => ({ content: [{ type: "text", text }] });

function register(server, provider) {
  const tool = (name, run) => server.registerTool(name, { description: name }, run);
  tool("work", async () => say("worked"));
  // Answers when the token that it was called with has ended.
  tool("outlive", async ({ authInfo }) => {
    const { expiresAt } = provider.tokens.get(authInfo.token);
    await new Promise((resolve) => setTimeout(resolve, expiresAt - Date.now() + 10));
    return say("the token has ended");
  });
  tool("revoke", async () => (provider.tokens.clear(), say("no token counts any more")));
  tool("revoke_all", async () => (provider.tokens.clear(), provider.refreshes.clear(), say("nothing counts any more")));
}

// Resolves to { url, provider, close }.
export async function startAuthServer({ first_s = LONG_S } = {}) {
  const provider = new Provider(first_s);
  const sessions = new Map();
  const app = createMcpExpressApp();
  const listener = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => listener.on("listening", resolve));
  const issuer = new URL(`http://127.0.0.1:${listener.address().port}`);
  const url = new URL("/mcp", issuer);
  const rates = Object.fromEntries(
    ["authorizationOptions", "clientRegistrationOptions", "tokenOptions"].map((name) => [name, { rateLimit: false }]),
  );
  const guard = requireBearerAuth({ verifier: provider, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url) });

  app.use(mcpAuthRouter({ provider, issuerUrl: issuer, resourceServerUrl: url, ...rates }));
  app.all("/mcp", guard, async (request, response) => {
    let http = sessions.get(request.headers["mcp-session-id"]);
    if (!http) {
      http = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => sessions.set(id, http),
      });
      const server = new McpServer({ name: "protected", version: "1" });
      register(server, provider);
      await server.connect(http);
    }
    await http.handleRequest(request, response, request.body);
  });
  return { url: url.href, provider, close: () => (listener.closeAllConnections(), listener.close()) };
}
