// SPDX-License-Identifier: MIT
// sigv4.mjs - 10,000 random requests: our signatures are those of the official signer. Prints TAP.
// usage: node sigv4.mjs SIGV4_LINES
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { SignatureV4 } from "@smithy/signature-v4";
import { Sha256 } from "@aws-crypto/sha256-js";

const COUNT = 10000;
let state = Number(process.env.SEED ?? 18); // SEED=N plays other requests
console.log(`# SEED=${state}`);
const random = (n) => ((state = (state * 48271) % 2147483647), state % n);
const pick = (list) => list[random(list.length)];
const text = (letters, least, most) =>
  Array.from({ length: least + random(most - least + 1) }, () => letters[random(letters.length)]).join("");
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// Names of models as they stand in addresses: profiles, versions, ARNs with escaped slashes, tokens with +/=.
const models = [
  () => `us.anthropic.claude-${text(plain, 3, 9)}-v1:0`,
  () => encodeURIComponent(`arn:aws:bedrock:us-east-1:123456789012:inference-profile/${text(plain + "-.", 1, 20)}`).replace(/%3A/g, ":"),
  () => encodeURIComponent(text(plain + " /:@+=%~!'()*&$,;é", 1, 12)),
];
const services = ["bedrock", "bedrock-mantle", "aws-external-anthropic", "sts"];

function make() {
  const path = pick([() => `/model/${pick(models)()}/invoke-with-response-stream`, () => "/v1/messages", () => "/"])();
  const query = {};
  for (let i = random(4); i > 0; i--) query[text(plain + "-_.~", 1, 6)] = text(plain + " +/=&%:é", 0, 8);
  const headers = { host: `${text("abcdefgh", 1, 8)}.amazonaws.com${random(4) ? "" : ":8443"}`, "content-type": "application/json" };
  for (let i = random(4); i > 0; i--) headers[`x-amzn-${text("abcdef-", 1, 8)}`] = text(plain + "  ,;=\"'", 1, 20).trim() || "x";
  if (random(2)) headers["x-amz-security-token"] = text(plain + "+/=", 20, 400);
  const date = new Date(1700000000000 + random(2000000000) * 100);
  return {
    method: pick(["POST", "GET"]), path, query, headers, date,
    body: text(plain + "é{}\"", 0, 200),
    key: text(plain, 16, 20), secret: text(plain + "+/", 40, 40),
    region: pick(["us-east-1", "eu-central-1", "us-gov-west-1"]), service: pick(services),
  };
}

const time = (date) => date.toISOString().replace(/[-:]|\.\d+/g, "");
const hex = async (data) => {
  const hash = new Sha256();
  hash.update(data);
  return Buffer.from(await hash.digest()).toString("hex");
};
const escaped = (value) => encodeURIComponent(value).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

const ours = spawn(process.argv[2], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: ours.stdout })[Symbol.asyncIterator]();
let wrong = 0;
for (let i = 0; i < COUNT && !wrong; i++) {
  const r = make();
  const hash = await hex(r.body);
  const headers = { ...r.headers, "x-amz-date": time(r.date), "x-amz-content-sha256": hash };
  const signer = new SignatureV4({
    credentials: { accessKeyId: r.key, secretAccessKey: r.secret }, region: r.region, service: r.service, sha256: Sha256,
  });
  const signed = await signer.sign(
    { method: r.method, protocol: "https:", hostname: r.headers.host, path: r.path, query: r.query, headers, body: r.body },
    { signingDate: r.date, unsignableHeaders: new Set() });
  ours.stdin.write(JSON.stringify({
    ...r, date: undefined, body: undefined, hash, time: time(r.date),
    query: Object.entries(r.query).map(([k, v]) => `${escaped(k)}=${escaped(v)}`).join("&"),
    headers: Object.entries(headers).map(([k, v]) => `${k}: ${v}`),
  }) + "\n");
  const { value } = await lines.next();
  if (value !== signed.headers.authorization) {
    wrong++;
    console.log(`# request ${i}: ${JSON.stringify(r)}\n# ours   ${value}\n# theirs ${signed.headers.authorization}`);
  }
}
ours.stdin.end();
console.log(`${wrong ? "not ok" : "ok"} 1 - ${COUNT} random requests have the signature of the official signer`);
console.log("1..1");
process.exit(wrong ? 1 : 0);
