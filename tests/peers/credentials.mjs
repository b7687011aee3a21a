// SPDX-License-Identifier: MIT
// credentials.mjs - the same environment and the same servers give cadre and the credential chain of AWS's own client the same keys:
// profiles, a process, a web identity, single sign-on, a container, an instance. Prints TAP.
// usage: node credentials.mjs CADRE
import assert from "node:assert";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve as absolute } from "node:path";

const here = new URL("credentials_chain.mjs", import.meta.url).pathname;
const end = new Date(Date.now() + 3600e3).toISOString();
const keys = (name) => ({ AccessKeyId: `AK${name}`, SecretAccessKey: "s", Token: `token-${name}`, Expiration: end });
const cadre = absolute(process.argv[2]); // it runs in another folder
const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.endsWith("SAN_OPTIONS")));
const signed = []; // headers of requests to Bedrock

// STS, the portal of single sign-on, a container, an instance, and Bedrock, which refuses
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    const answer = (status, text) => response.writeHead(status).end(text);
    const { url, headers } = request;
    if (url.startsWith("/model/")) {
      signed.push(headers);
      answer(400, '{"message":"no"}');
    } else if (body.includes("AssumeRoleWithWebIdentity")) {
      const good = new URLSearchParams(body).get("WebIdentityToken") === "ey.token" && body.includes(encodeURIComponent("arn:aws:iam::1:role/r"));
      answer(good ? 200 : 403, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
        <AccessKeyId>AKsts</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>token-sts</SessionToken><Expiration>${end}</Expiration>
        </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`);
    } else if (url.startsWith("/federation/credentials")) {
      const role = new URL(url, "http://x").searchParams.get("role_name");
      const good = headers["x-amz-sso_bearer_token"] === "access";
      answer(good ? 200 : 401, JSON.stringify({ roleCredentials: { accessKeyId: `AK${role}`, secretAccessKey: "s", sessionToken: `token-${role}`, expiration: Date.parse(end) } }));
    } else if (url === "/container") {
      answer(headers.authorization === "secret" ? 200 : 401, JSON.stringify(keys("container")));
    } else if (url === "/latest/api/token") {
      answer(request.method === "PUT" ? 200 : 405, "imds-token");
    } else if (url.startsWith("/latest/meta-data/iam/security-credentials/")) {
      const role = url.split("/").pop();
      answer(headers["x-aws-ec2-metadata-token"] === "imds-token" ? 200 : 401, role ? JSON.stringify({ Code: "Success", ...keys(role) }) : "instance-role");
    } else {
      answer(404, "");
    }
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}`;
// An instance that gives no tokens
const old = createServer(({ url, method, headers }, response) => {
  const token = method === "PUT" || "x-aws-ec2-metadata-token" in headers;
  response.writeHead(token ? 403 : 200).end(token ? "" : url.endsWith("/") ? "role" : JSON.stringify({ Code: "Success", ...keys("old-instance") }));
});
await new Promise((resolve) => old.listen(0, "127.0.0.1", resolve));
const home = mkdtempSync(join(tmpdir(), "credentials-"));
mkdirSync(join(home, ".aws", "sso", "cache"), { recursive: true });
writeFileSync(join(home, "token"), "ey.token");
writeFileSync(join(home, "keys.sh"), `echo '${JSON.stringify({ Version: 1, ...keys("process"), SessionToken: "token-process" })}'\n`);
writeFileSync(join(home, ".aws", "credentials"), "[default]\naws_access_key_id = AKfile\naws_secret_access_key = s\naws_session_token = token-file\n");
writeFileSync(join(home, ".aws", "config"), `[profile process]
credential_process = sh ${join(home, "keys.sh")}
[profile session]
sso_session = corp
sso_account_id = 1
sso_role_name = SessionRole
[sso-session corp]
sso_region = us-east-1
sso_start_url = https://d-1.example/start
[profile old]
sso_start_url = https://d-2.example/start
sso_region = us-east-1
sso_account_id = 1
sso_role_name = OldRole
[profile identity]
role_arn = arn:aws:iam::1:role/r
web_identity_token_file = ${join(home, "token")}
[profile noted] # of the team
s3 =
  aws_access_key_id = AKnested
 ; aws_access_key_id = AKcommented
aws_access_key_id = AKnoted\t# its name
aws_secret_access_key = s ; its secret
aws_session_token = token-noted
[profile empty]
region = us-west-2
`);
for (const [name, startUrl] of [["corp", "https://d-1.example/start"], ["https://d-2.example/start", "https://d-2.example/start"]])
  writeFileSync(join(home, ".aws", "sso", "cache", createHash("sha1").update(name).digest("hex") + ".json"),
    JSON.stringify({ startUrl, region: "us-east-1", accessToken: "access", expiresAt: end }));

const usual = { ...kept, HOME: home, PATH: "/usr/bin:/bin", AWS_REGION: "us-west-2", AWS_ENDPOINT_URL_STS: base, AWS_ENDPOINT_URL_SSO: base,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: base, CLAUDE_CODE_USE_BEDROCK: "1", ANTHROPIC_BEDROCK_BASE_URL: base, CLAUDE_CODE_MAX_RETRIES: "0" };
const none = { AWS_SHARED_CREDENTIALS_FILE: join(home, "none"), AWS_CONFIG_FILE: join(home, "none") };
const cases = {
  "the environment": [{ AWS_ACCESS_KEY_ID: "AKenv", AWS_SECRET_ACCESS_KEY: "s", AWS_SESSION_TOKEN: "token-env" }, "AKenv"],
  "the default profile": [{}, "AKfile"],
  "a process": [{ AWS_PROFILE: "process" }, "AKprocess"],
  "single sign-on with a session": [{ AWS_PROFILE: "session" }, "AKSessionRole"],
  "single sign-on without one": [{ AWS_PROFILE: "old" }, "AKOldRole"],
  "a web identity of the profile": [{ AWS_PROFILE: "identity" }, "AKsts"],
  "a web identity of the environment": [{ ...none, AWS_WEB_IDENTITY_TOKEN_FILE: join(home, "token"), AWS_ROLE_ARN: "arn:aws:iam::1:role/r" }, "AKsts"],
  "a profile beside a web identity of the environment": [{ AWS_WEB_IDENTITY_TOKEN_FILE: join(home, "token"), AWS_ROLE_ARN: "arn:aws:iam::1:role/r" }, "AKfile"],
  "a container": [{ ...none, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${base}/container`, AWS_CONTAINER_AUTHORIZATION_TOKEN: "secret" }, "AKcontainer"],
  "an instance": [none, "AKinstance-role"],
  "an instance without tokens": [{ ...none, AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://127.0.0.1:${old.address().port}` }, "AKold-instance"],
  "a profile with comments and nested settings": [{ AWS_PROFILE: "noted" }, "AKnoted"],
};

const run = (program, args, env) => new Promise((resolve) => {
  const child = execFile(program, args, { env, cwd: home }, (error, out, err) => resolve({ error, out, err }));
  child.stdin.end();
});

let number = 0, failed = 0;
for (const [name, [env, id]] of Object.entries(cases)) {
  number++;
  try {
    const theirs = JSON.parse((await run(process.execPath, [here], { ...usual, ...env })).out || "null");
    signed.length = 0;
    const ours = await run(cadre, ["-p", "--model", "claude-opus-5-5", "hi"], { ...usual, ...env });
    assert.equal(signed.length, 1, ours.out + ours.err);
    assert.equal(/Credential=([^/]+)/.exec(signed[0].authorization)[1], id);
    assert.deepEqual({ id: theirs?.accessKeyId, token: theirs?.sessionToken }, { id, token: signed[0]["x-amz-security-token"] });
    console.log(`ok ${number} - both take the keys of ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${number} - both take the keys of ${name}`);
    console.log(String(error.stack).replace(/^/gm, "# "));
  }
}
console.log(`1..${number}`);
rmSync(home, { recursive: true });
process.exit(failed ? 1 : 0);
