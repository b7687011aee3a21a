// SPDX-License-Identifier: MIT
// mcp_auth.mjs - tokens that end in the middle of a session, against the authorisation server of the MCP SDK. Prints TAP.
// usage: node mcp_auth.mjs CADRE
import assert from "node:assert/strict";
import { startAuthServer } from "./mcp_auth_server.mjs";
import { cadre, play, run, textOf } from "./mcp_lab.mjs";

async function begin(lab, options) {
  const server = await startAuthServer(options);
  lab.ends.push(() => server.close());
  lab.servers.safe = { type: "http", url: server.url };
  return server.provider;
}

const tools = (...names) => names.map((name) => [`mcp__safe__${name}`, {}]);

// Signs in, and leaves a home where nobody can be asked any more.
async function signIn(lab) {
  const done = await run(cadre, ["mcp", "login", "--url", lab.servers.safe.url], { cwd: lab.work, env: lab.env });
  assert.equal(done.code, 0, done.err + done.out);
  delete lab.env.CADRE_MCP_AUTH_FOLLOW;
}

await play({
  async "MCP authorisation: a token that ends by the clock is renewed, and the next call goes on"(lab) {
    const provider = await begin(lab, { first_s: 3 });
    const results = await lab.calls(tools("outlive", "work"));
    assert.deepEqual(results.map(textOf), ["the token has ended", "worked"]);
    assert.deepEqual([provider.authorised, provider.renewed, provider.refused], [1, 1, 0]);
  },

  async "MCP authorisation: a token that the server refuses is renewed, and the same call goes on"(lab) {
    const provider = await begin(lab);
    await signIn(lab);
    const results = await lab.calls(tools("work", "revoke", "work"));
    assert.deepEqual(results.map(textOf), ["worked", "no token counts any more", "worked"]);
    assert.deepEqual([provider.authorised, provider.renewed, provider.refused], [1, 1, 0]);
  },

  async "MCP authorisation: the renewed token is what the next run begins with"(lab) {
    const provider = await begin(lab);
    await signIn(lab);
    await lab.calls(tools("revoke", "work"));
    const [again] = await lab.calls(tools("work"));
    assert.equal(textOf(again), "worked");
    assert.deepEqual([provider.authorised, provider.renewed, provider.refused], [1, 1, 0]);
  },

  async "MCP authorisation: where the refresh is refused and nobody is there, the call fails and the server needs a person"(lab) {
    const provider = await begin(lab);
    await signIn(lab);
    const results = await lab.calls(tools("revoke_all", "work"));
    assert.equal(results[1].is_error, true);
    assert.match(textOf(results[1]), /cadre mcp login|sign in/i);
    assert.equal(provider.renewed, 0);
    assert.ok(provider.refused >= 1);
    const next = await lab.play("rule answer\n  text Done.\n");
    assert.equal(next.init.mcp_servers.find((server) => server.name === "safe").status, "needs-auth");
  },

  async "MCP authorisation: where the refresh is refused and somebody is there, they sign in again and the call goes on"(lab) {
    const provider = await begin(lab);
    const results = await lab.calls(tools("revoke_all", "work"));
    assert.equal(textOf(results[1]), "worked");
    assert.deepEqual([provider.authorised, provider.renewed], [2, 0]);
  },
});
