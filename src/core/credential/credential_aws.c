/* SPDX-License-Identifier: MIT
 * credential_aws.c - keys of AWS without its SDK, and a signature for each request. The order is that of the AWS CLI: a command of the
 * settings, the environment, the profile, the container, the instance. The program aws provides what needs more than a file or
 * one request (single sign-on, roles). */
#include "core/credential/credential_int.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/io/url.h"

#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

enum { CHAIN_LIMIT_MS = 60000, INSTANCE_LIMIT_MS = 1000, LARGEST_PROFILES = 1 << 20 };

/* ---- signing --------------------------------------------------------------------------------------------------- */

static void aws_sign(const struct credential *c, const struct credential_request *r, struct arena *a,
		     const char **headers)
{
	int64_t now_s = id_wall_ms() / 1000;
	time_t clock = (time_t)now_s;
	char stamp[20];
	struct tm tm;
	struct url url;
	struct err err = { 0 };
	size_t n = str_count(r->headers), count = 0, out = 0;
	const char **to_sign = arena_calloc(a, (n + 6) * sizeof *to_sign);

	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&clock, &tm));
	if (url_parse(a, r->url, &url, &err) < 0)
		return;
	headers[out++] = arena_printf(a, "x-amz-date: %s", stamp);
	headers[out++] = arena_printf(a, "x-amz-content-sha256: " STR_FMT, STR_ARG(r->body_hash));
	if (c->session)
		headers[out++] = arena_printf(a, "x-amz-security-token: %s", c->session);
	for (size_t i = 0; i < out; i++)
		to_sign[count++] = headers[i];
	to_sign[count++] = url.usual_port ? arena_printf(a, "host: %s", url.host)
					  : arena_printf(a, "host: %s:%s", url.host, url.port);
	for (size_t i = 0; i < n; i++) {
		struct str line = str_from(r->headers[i]);
		if (!strncasecmp(line.p, "content-type:", 13) || !strncasecmp(line.p, "x-amz", 5))
			to_sign[count++] = line.p;
	}
	/* The path as it is sent: url_parse may have rewritten it. */
	const char *from = strstr(r->url, "://");
	const char *path = from ? strchr(from + 3, '/') : NULL;
	const char *query = path ? strchr(path, '?') : NULL;
	headers[out++] = arena_printf(
		a, "authorization: %s",
		sigv4_sign(a, &(struct sigv4_request){ .method = r->method,
						       .path = !path   ? "/"
							       : query ? arena_dup(a, path, (size_t)(query - path))
								       : path,
						       .query = query ? query + 1 : NULL,
						       .headers = to_sign,
						       .body_hash = r->body_hash,
						       .key_id = c->key_id,
						       .secret = c->secret,
						       .region = c->options.region,
						       .service = c->options.service,
						       .time = stamp }));
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static void take_keys(struct credential *c, struct str id, struct str secret, struct str session, int64_t expires_ms)
{
	credential_put(&c->key_id, id);
	credential_put(&c->secret, secret);
	credential_put(&c->session, session);
	credential_got(c, expires_ms);
}

/* The JSON of a command, a container or an instance; awsCredentialExport may put it under Credentials. */
static void after_keys(struct credential *c, const char *failed, struct str output)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = NULL;
	struct tm tm = { 0 };

	if (failed) {
		credential_failed(c, "no AWS credentials: %s", failed);
		return;
	}
	(void)json_parse(&reader, output.p, output.n, &root, NULL);
	if (json_get(root, "Credentials"))
		root = json_get(root, "Credentials");
	struct str id = json_str(json_get(root, "AccessKeyId"), &a);
	struct str secret = json_str(json_get(root, "SecretAccessKey"), &a);
	struct str session = json_str(json_get(root, json_get(root, "SessionToken") ? "SessionToken" : "Token"), &a);
	const char *expiration = json_cstr(json_get(root, "Expiration"), &a);
	if (!id.n || !secret.n) {
		credential_failed(c, "no AWS credentials: the answer has no AccessKeyId and SecretAccessKey");
		return;
	}
	bool ends = expiration && strptime(expiration, "%Y-%m-%dT%H:%M:%S", &tm);
	take_keys(c, id, secret, session,
		  ends ? (int64_t)timegm(&tm) * 1000 - REFRESH_BEFORE_MS : id_wall_ms() + USUAL_LIFE_MS);
}

/* ---- profiles -------------------------------------------------------------------------------------------------- */

const char *credential_aws_profile_value(struct arena *a, const struct variables *v, const char *key)
{
	static const struct {
		const char *variable, *file, *prefix;
	} files[] = {
		{ "AWS_SHARED_CREDENTIALS_FILE", "credentials", "" },
		{ "AWS_CONFIG_FILE", "config", "profile " },
	};
	const char *profile = variables_get(v, "AWS_PROFILE"), *home = variables_get(v, "HOME");

	profile = profile ? profile : "default";
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		AUTO_BUF struct buf text = { 0 };
		const char *path = variables_get(v, files[i].variable);
		struct err err = { 0 };
		if (!path)
			path = arena_printf(a, "%s/.aws/%s", home ? home : "", files[i].file);
		if (file_read(path, LARGEST_PROFILES, &text, &err) < 0)
			continue;
		const char *wanted = strcmp(profile, "default") != 0
					     ? arena_printf(a, "[%s%s]", files[i].prefix, profile)
					     : "[default]";
		struct str rest = buf_str(&text);
		bool in = false;
		while (rest.p) {
			struct str value = str_trim(str_cut(&rest, '\n'));
			if (value.n && value.p[0] == '[') {
				in = str_is(value, wanted);
				continue;
			}
			struct str name = str_trim(str_cut(&value, '='));
			if (in && value.p && str_is(name, key))
				return arena_str(a, str_trim(value)).p;
		}
	}
	return NULL;
}

/* ---- the chain ------------------------------------------------------------------------------------------------- */

static void ask_instance(struct credential *c, const char *method, const char *path, const char *header,
			 credential_step_fn *step)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *host = credential_env(c, "AWS_EC2_METADATA_SERVICE_ENDPOINT");

	credential_ask(c, method, arena_printf(&a, "%s%s", host ? host : "http://169.254.169.254", path),
		       (const char *const[]){ header, NULL }, NULL, INSTANCE_LIMIT_MS, step);
}

static void after_role(struct credential *c, const char *failed, struct str output)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str role = str_trim(str_cut(&output, '\n'));

	if (failed)
		credential_failed(c, "no AWS credentials: none in the environment, in the profile or of the instance");
	else
		ask_instance(c, "GET", arena_printf(&a, ROLES_PATH STR_FMT, STR_ARG(role)),
			     arena_printf(&a, "X-aws-ec2-metadata-token: %s", c->extra ? c->extra : ""), after_keys);
}

static void after_instance_token(struct credential *c, const char *failed, struct str output)
{
	AUTO_ARENA struct arena a = { 0 };

	if (failed) {
		credential_failed(c, "no AWS credentials: none in the environment, in the profile or of the instance "
				     "(AWS_ACCESS_KEY_ID, AWS_PROFILE, aws configure)");
		return;
	}
	credential_put(&c->extra, output);
	ask_instance(c, "GET", ROLES_PATH, arena_printf(&a, "X-aws-ec2-metadata-token: %s", c->extra ? c->extra : ""),
		     after_role);
}

static bool ask_container(struct credential *c)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf token = { 0 };
	const char *full = credential_env(c, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *relative = credential_env(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *file = credential_env(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *given = credential_env(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
	/* Plain http only to the hosts that containers have: a token must not leave the machine in the clear. */
	static const char *const hosts[] = { "https://",
					     "http://127.",
					     "http://localhost",
					     "http://[::1]",
					     "http://169.254.170.2",
					     "http://169.254.170.23",
					     "http://[fd00:ec2::23]" };
	struct err err = { 0 };
	bool allowed = false;

	if (!full && !relative)
		return false;
	const char *url = relative ? arena_printf(&a, "http://169.254.170.2%s", relative) : full;
	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		allowed = allowed || str_starts(str_from(url), str_from(hosts[i]));
	if (!allowed) {
		credential_failed(
			c,
			"AWS_CONTAINER_CREDENTIALS_FULL_URI may use http only for loopback and the container's host");
		return true;
	}
	if (file)
		(void)file_read(file, LARGEST_OUTPUT, &token, &err);
	else if (given)
		buf_addstr(&token, given);
	struct str value = str_trim(buf_str(&token));
	const char *header = value.n ? arena_printf(&a, "authorization: " STR_FMT, STR_ARG(value)) : NULL;
	credential_ask(c, "GET", url, (const char *const[]){ header, NULL }, NULL, CHAIN_LIMIT_MS, after_keys);
	return true;
}

static void aws_fetch(struct credential *c)
{
	static const char *const program_keys[] = { "sso_session", "sso_start_url", "role_arn", "login_session" };
	const struct variables *v = &c->options.variables;
	AUTO_ARENA struct arena a = { 0 };
	const char *id = credential_env(c, "AWS_ACCESS_KEY_ID"), *secret = credential_env(c, "AWS_SECRET_ACCESS_KEY");
	const char *session = credential_env(c, "AWS_SESSION_TOKEN"),
		   *off = credential_env(c, "AWS_EC2_METADATA_DISABLED");

	if (c->options.export_command) {
		credential_run(c, c->options.export_command, CHAIN_LIMIT_MS, after_keys);
		return;
	}
	if (id && secret) {
		take_keys(c, str_from(id), str_from(secret), session ? str_from(session) : STR(""), 0);
		return;
	}
	id = credential_aws_profile_value(&a, v, "aws_access_key_id");
	secret = credential_aws_profile_value(&a, v, "aws_secret_access_key");
	session = credential_aws_profile_value(&a, v, "aws_session_token");
	const char *process = credential_aws_profile_value(&a, v, "credential_process");
	bool needs_program = credential_env(c, "AWS_WEB_IDENTITY_TOKEN_FILE");
	for (size_t i = 0; i < COUNT_OF(program_keys); i++)
		needs_program = needs_program || credential_aws_profile_value(&a, v, program_keys[i]);
	if (needs_program && credential_runs_program(c, "aws")) {
		credential_run(c, "aws configure export-credentials --format process", CHAIN_LIMIT_MS, after_keys);
	} else if (needs_program) {
		credential_failed(c,
				  "the AWS profile needs the program aws (single sign-on, roles): install it, or set "
				  "awsCredentialExport");
	} else if (id && secret) {
		take_keys(c, str_from(id), str_from(secret), session ? str_from(session) : STR(""),
			  id_wall_ms() + USUAL_LIFE_MS);
	} else if (process) {
		credential_run(c, process, CHAIN_LIMIT_MS, after_keys);
	} else if (ask_container(c)) {
		return;
	} else if (off && !strcasecmp(off, "true")) {
		credential_failed(c,
				  "no AWS credentials: none in the environment or in the profile (AWS_ACCESS_KEY_ID, "
				  "AWS_PROFILE, aws configure)");
	} else {
		ask_instance(c, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600",
			     after_instance_token);
	}
}

const struct credential_ops credential_aws_ops = { .fetch = aws_fetch, .sign = aws_sign, .needs_hash = true };
