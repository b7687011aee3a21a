// SPDX-License-Identifier: MIT
// modeld_sdk.mjs - the official client against modeld, so that modeld is not a dialect of our own. Prints TAP.
// usage: node modeld_sdk.mjs MODELD
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { base, checkTalk, talk } from "./messages_talk.mjs";
import { play } from "./peer.mjs";

await play((address) => new Anthropic({ baseURL: address, apiKey: "key", maxRetries: 2 }), {
  async "a streamed conversation with tools, thinking and a retry comes to its end"(client) {
    checkTalk(await talk(client, "the weather, please"));
  },
  async "a message without stream has its content and usage"(client) {
    const message = await client.messages.create({ ...base, messages: [{ role: "user", content: "hello" }] });
    assert.equal(message.content[0].text, "You said: hello");
    assert.equal(message.stop_reason, "end_turn");
    assert.ok(message.id.startsWith("msg_"));
  },
  async "an error status becomes the client's error with type and request id"(client) {
    const asked = client.messages.create({ ...base, messages: [{ role: "user", content: "forbidden" }] });
    await assert.rejects(asked, (error) => {
      assert.ok(error instanceof Anthropic.PermissionDeniedError);
      assert.equal(error.error.error.type, "permission_error");
      assert.ok(error.requestID.startsWith("req_"));
      return true;
    });
  },
  async "an invalid request is a bad request that says where"(client) {
    const messages = [
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ];
    await assert.rejects(client.messages.create({ ...base, messages }), (error) => {
      assert.ok(error instanceof Anthropic.BadRequestError);
      assert.match(error.message, /messages\.1: role/);
      return true;
    });
  },
  async "an error event in the stream reaches the caller"(client) {
    const stream = client.messages.stream({ ...base, messages: [{ role: "user", content: "broken" }] });
    await assert.rejects(stream.finalMessage(), /busy now/);
  },
  async "tokens are counted and models are listed"(client) {
    const { model } = base;
    const count = await client.messages.countTokens({ model, messages: [{ role: "user", content: "x".repeat(400) }] });
    assert.ok(count.input_tokens >= 100 && count.input_tokens < 120);
    const ids = [];
    for await (const found of client.models.list()) ids.push(found.id);
    assert.ok(ids.includes(model));
  },
});
