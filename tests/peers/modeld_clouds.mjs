// SPDX-License-Identifier: MIT
// modeld_clouds.mjs - the official clients of clouds against modeld: Bedrock with its frames and Mantle, Claude Platform on AWS, Vertex,
// Claude on Google Cloud, Foundry. Prints TAP.
// usage: node modeld_clouds.mjs MODELD
import assert from "node:assert/strict";
import { AnthropicAws } from "@anthropic-ai/aws-sdk";
import AnthropicBedrock, { AnthropicBedrockMantle } from "@anthropic-ai/bedrock-sdk";
import AnthropicFoundry from "@anthropic-ai/foundry-sdk";
import { AnthropicGoogleCloud } from "@anthropic-ai/google-cloud-sdk";
import AnthropicVertex from "@anthropic-ai/vertex-sdk";
import { base, checkTalk, talk } from "./messages_talk.mjs";
import { play } from "./peer.mjs";

const authClient = { getRequestHeaders: async () => new Headers({ authorization: "Bearer token" }) };
const clients = {
  Bedrock: (address) => new AnthropicBedrock({ baseURL: address, awsRegion: "us-east-1", skipAuth: true, maxRetries: 2 }),
  "Bedrock, signed": (address) =>
    new AnthropicBedrock({ baseURL: address, awsRegion: "us-east-1", awsAccessKey: "AKID", awsSecretKey: "secret", maxRetries: 2 }),
  Mantle: (address) =>
    new AnthropicBedrockMantle({ baseURL: `${address}/anthropic`, awsRegion: "us-east-1", awsAccessKey: "AKID", awsSecretAccessKey: "secret", maxRetries: 2 }),
  "Claude Platform on AWS": (address) =>
    new AnthropicAws({ baseURL: address, awsRegion: "us-east-1", workspaceId: "wrkspc_1", awsAccessKey: "AKID", awsSecretAccessKey: "secret", maxRetries: 2 }),
  "Google Cloud": (address) =>
    new AnthropicGoogleCloud({ baseURL: `${address}/v1/projects/p1/locations/global/workspaces/w1/invoke`, bearerTokenProvider: async () => "token", maxRetries: 2 }),
  Vertex: (address) =>
    new AnthropicVertex({ baseURL: `${address}/v1`, region: "us-east5", projectId: "p1", authClient, maxRetries: 2 }),
  Foundry: (address) => new AnthropicFoundry({ baseURL: `${address}/anthropic/`, apiKey: "key", maxRetries: 2 }),
};
const said = (content) => ({ ...base, messages: [{ role: "user", content }] });
const tests = {};

for (const [name, connect] of Object.entries(clients)) {
  tests[`${name}: a streamed conversation with tools, thinking and a retry comes to its end`] = async (address) => {
    await fetch(`${address}/reset`, { method: "POST" });
    checkTalk(await talk(connect(address), "the weather, please"));
  };
  tests[`${name}: a message without stream has its content`] = async (address) => {
    const message = await connect(address).messages.create(said("hello"));
    assert.equal(message.content[0].text, "You said: hello");
  };
  tests[`${name}: an error status and an error in the stream reach the caller`] = async (address) => {
    await assert.rejects(connect(address).messages.create(said("forbidden")), (error) => {
      assert.equal(error.status, 403);
      assert.match(error.message, /not for you/);
      return true;
    });
    await assert.rejects(connect(address).messages.stream(said("broken")).finalMessage(), /busy now/);
  };
}

await play((address) => address, tests);
