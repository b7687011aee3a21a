// SPDX-License-Identifier: MIT
// modeld_sdk.mjs - the official client against modeld, so that modeld is not a dialect of our own. Prints TAP.
// usage: node modeld_sdk.mjs MODELD
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { play } from "./peer.mjs";

const tools = [
  {
    name: "get_weather",
    description: "The weather of a town",
    input_schema: { type: "object", properties: { town: { type: "string" }, days: { type: "number" } } },
  },
];
const base = { model: "claude-sonnet-5-5", max_tokens: 4096, thinking: { type: "adaptive" } };

// The tool loop as a user of the client writes it: the answer goes back as it came.
async function talk(client, prompt) {
  const messages = [{ role: "user", content: prompt }];
  const events = [];
  for (;;) {
    const stream = client.messages.stream({ ...base, tools, messages });
    stream.on("streamEvent", (event) => events.push(event.type));
    const message = await stream.finalMessage();
    messages.push({ role: "assistant", content: message.content });
    if (message.stop_reason !== "tool_use") return { message, messages, events };
    const calls = message.content.filter((block) => block.type === "tool_use");
    const content = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: `${call.input.town} is "dry"`,
    }));
    messages.push({ role: "user", content });
  }
}

await play((address) => new Anthropic({ baseURL: address, apiKey: "key", maxRetries: 2 }), {
  async "a streamed conversation with tools, thinking and a retry comes to its end"(client) {
    const { message, messages, events } = await talk(client, "the weather, please");
    assert.equal(message.stop_reason, "end_turn");
    assert.equal(
      message.content[0].text,
      'The weather: Ulm is "dry", Köln "am Rhein" is "dry", Köln "am Rhein" is "dry" is "dry".',
    );
    assert.deepEqual(messages[1].content.map((b) => b.type), ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]);
    assert.deepEqual(messages[1].content[4].input, { town: 'Köln "am Rhein"' });
    assert.equal(messages[3].content[1].input.days, 3);
    assert.ok(events.includes("content_block_delta") && events.includes("message_stop"));
    assert.ok(message.usage.output_tokens > 0 && message.usage.input_tokens > 0);
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
