/* SPDX-License-Identifier: MIT
 * credential_aws.c - keys of AWS without its SDK, and a signature for each request. The order is that of AWS's own client: a command of the
 * settings, the environment, the profile (web identity, single sign-on, keys, a command), a web identity of the environment, the container,
 * the instance. The program aws provides what needs more than a file and one request (roles of other profiles, a login that has ended). */
#include "core/credential/credential_int.h"
#include "core/credential/sigv4.h"
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include "lib/base/base64.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/io/url.h"

#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

enum { CHAIN_LIMIT_MS = 60000, INSTANCE_LIMIT_MS = 1000, LARGEST_PROFILES = 1 << 20 };

static void aws_sign(struct credential *c, const struct credential_request *r, struct arena *a, const char **headers)
{
	int64_t now_s = (id_wall_ms() + c->skew_ms) / 1000;
	time_t clock = (time_t)now_s;
	char stamp[20];
	struct tm tm;
	size_t n = str_count(r->headers), count = 0, out = 0;
	const char **to_sign = arena_calloc(a, (n + 6) * sizeof *to_sign);

	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&clock, &tm));
	headers[out++] = arena_printf(a, "x-amz-date: %s", stamp);
	headers[out++] = arena_printf(a, "x-amz-content-sha256: " STR_FMT, STR_ARG(r->body_hash));
	if (c->session)
		headers[out++] = arena_printf(a, "x-amz-security-token: %s", c->session);
	for (size_t i = 0; i < out; i++)
		to_sign[count++] = headers[i];
	/* Host and path as they are sent: the usual port is left out. */
	bool tls = str_starts(str_from(r->url), STR("https://"));
	const char *host = r->url + strlen(tls ? "https://" : "http://"), *path = strchr(host, '/');
	int host_n = (int)(path ? (size_t)(path - host) : strcspn(host, "?"));
	int port_n = (int)strlen(tls ? ":443" : ":80");
	if (host_n > port_n && !memcmp(host + host_n - port_n, tls ? ":443" : ":80", (size_t)port_n))
		host_n -= port_n;
	to_sign[count++] = arena_printf(a, "host: " STR_FMT, host_n, host);
	for (size_t i = 0; i < n; i++) {
		struct str line = str_from(r->headers[i]);
		if (!strncasecmp(line.p, "content-type:", 13) || !strncasecmp(line.p, "x-amz", 5))
			to_sign[count++] = line.p;
	}
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
						       .region = r->region ? r->region : c->options.region,
						       .service = r->service ? r->service : c->options.service,
						       .time = stamp,
						       .kept = &c->signing_key }));
}

static void take_keys(struct credential *c, struct str id, struct str secret, struct str session, int64_t renew_ms,
		      int64_t ends_ms)
{
	credential_put(&c->key_id, id);
	credential_put(&c->secret, secret);
	sigv4_key_clear(&c->signing_key);
	credential_put(&c->session, session);
	/* Without a cache they are valid for the requests that wait. */
	bool cached = !env_is_on(credential_env(c, "CLAUDE_CODE_SKIP_AWS_CRED_CACHE"));
	credential_got(c, cached ? renew_ms : 1, ends_ms);
}

static uint64_t chain_limit_ms(const struct credential *c)
{
	const char *given = credential_env(c, "CLAUDE_CODE_AWS_CHAIN_RESOLVE_TIMEOUT_MS");
	uint64_t ms = 0;

	return given && str_to_u64(str_from(given), &ms) && ms ? ms : CHAIN_LIMIT_MS;
}

enum { AWS_ID, AWS_SECRET, AWS_SESSION, AWS_END, AWS_VALUES };
static const char *const aws_values[AWS_VALUES] = { "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration" };

/* The answer of a command, a container, an instance, STS or single sign-on; awsCredentialExport may put it under Credentials. What a command
 * prints must be valid now, and have Version 1 if a profile names it. */
static void read_keys(struct credential *c, const char *failed, struct str output, bool of_command)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = NULL;
	int64_t ends_ms = 0, version = 0;

	if (failed) {
		credential_failed(c, "no AWS credentials: %s", failed);
		return;
	}
	(void)json_parse(&reader, output.p, output.n, &root, NULL);
	(void)json_i64(json_get(root, "Version"), &version);
	if (json_get(root, "Credentials"))
		root = json_get(root, "Credentials");
	else if (json_get(root, "roleCredentials"))
		root = json_get(root, "roleCredentials");
	struct str values[AWS_VALUES];
	for (size_t i = 0; i < AWS_VALUES; i++) { /* STS answers in XML, single sign-on with small letters */
		const char *name = aws_values[i];
		char small[32];
		snprintf(small, sizeof small, "%c%s", name[0] | 32, name + 1);
		values[i] = json_str(json_get(root, json_get(root, name) ? name : small), &a);
		if (!root)
			values[i] = credential_xml_text(output, name);
	}
	if (!values[AWS_SESSION].n)
		values[AWS_SESSION] = json_str(json_get(root, "Token"), &a);
	if (!values[AWS_ID].n || !values[AWS_SECRET].n) {
		credential_failed(c, "no AWS credentials: the answer has no AccessKeyId and SecretAccessKey");
		return;
	}
	if (!json_i64(json_get(root, "expiration"), &ends_ms))
		(void)id_parse_time(arena_str(&a, values[AWS_END]).p, &ends_ms);
	if (of_command && !c->options.export_command && version != 1)
		credential_failed(c, "no AWS credentials: the output of credential_process is not of Version 1");
	else if (of_command && ends_ms && ends_ms <= id_wall_ms())
		credential_failed(c, "no AWS credentials: those that the command printed ended at " STR_FMT,
				  STR_ARG(values[AWS_END]));
	else
		take_keys(c, values[AWS_ID], values[AWS_SECRET], values[AWS_SESSION],
			  ends_ms ? credential_renewal_ms(ends_ms) : id_wall_ms() + USUAL_LIFE_MS, ends_ms);
}

static void after_keys(struct credential *c, const char *failed, struct str output)
{
	read_keys(c, failed, output, false);
}

static void after_command(struct credential *c, const char *failed, struct str output)
{
	read_keys(c, failed, output, true);
}

/* [profile NAME] in the config file, with or without quotes, [NAME] in the other one; [default] in both */
static bool is_section(struct str line, const char *prefix, const char *profile)
{
	struct str rest = str_tail(line, 1), name = str_trim(str_cut(&rest, ']'));
	size_t n = strlen(prefix);
	if (n && str_starts(name, str_from(prefix)) && name.n > n && char_in(name.p[n], " \t"))
		name = str_trim(str_tail(name, n));
	else if (n && !str_is(name, "default"))
		return false;
	if (name.n > 1 && char_in(name.p[0], "\"'") && name.p[name.n - 1] == name.p[0])
		name = (struct str){ name.p + 1, name.n - 2 };
	return str_is(name, profile);
}

/* A comment begins a line, or stands behind a blank. */
static struct str without_comment(struct str line)
{
	for (size_t i = 0; i < line.n; i++)
		if (char_in(line.p[i], "#;") && (!i || char_in(line.p[i - 1], " \t")))
			line.n = i;
	return str_trim(line);
}

const char *credential_aws_profile_value(struct arena *a, const struct variables *v, const char *key)
{
	static const struct {
		const char *variable, *file, *prefix;
	} files[] = {
		{ "AWS_SHARED_CREDENTIALS_FILE", "credentials", "" },
		{ "AWS_CONFIG_FILE", "config", "profile" },
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
		struct str rest = buf_str(&text);
		bool in = false;
		bool nested = false; /* below "s3 =" are settings of something else */
		while (rest.p) {
			struct str line = str_cut(&rest, '\n'), value = without_comment(line);
			if (value.n && value.p[0] == '[') {
				in = is_section(value, files[i].prefix, profile);
				nested = false;
				continue;
			}
			struct str name = str_trim(str_cut(&value, '='));
			if (!value.p)
				continue;
			value = str_trim(value);
			nested = !value.n || (nested && char_in(line.p[0], " \t"));
			if (in && !nested && str_is(name, key))
				return arena_str(a, value).p;
		}
	}
	return NULL;
}

static void ask_instance(struct credential *c, const char *method, const char *path, const char *header,
			 credential_step_fn *step)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *host = credential_env(c, "AWS_EC2_METADATA_SERVICE_ENDPOINT");

	credential_ask(c, method, arena_printf(&a, "%s%s", host ? host : "http://169.254.169.254", path),
		       (const char *const[]){ header, NULL }, NULL, INSTANCE_LIMIT_MS, step);
}

/* None in the environment, in the profile or of the machine */
static void aws_missing(struct credential *c)
{
	const char *profile = credential_env(c, "AWS_PROFILE");

	if (credential_env(c, "AWS_ACCESS_KEY_ID"))
		credential_failed(c, "no AWS credentials: AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
	else if (profile)
		credential_failed(c,
				  "no AWS credentials: the profile '%s' of AWS_PROFILE has none, or there is no such "
				  "profile (aws configure --profile %s)",
				  profile, profile);
	else
		credential_failed(c,
				  "no AWS credentials: none in the environment or in the profile (AWS_ACCESS_KEY_ID, "
				  "AWS_PROFILE, aws configure)");
}

/* NULL: the instance gave no token, and may answer without one. */
static const char *instance_token(const struct credential *c, struct arena *a)
{
	return c->extra ? arena_printf(a, "X-aws-ec2-metadata-token: %s", c->extra) : NULL;
}

static void after_role(struct credential *c, const char *failed, struct str output)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str role = str_trim(str_cut(&output, '\n'));

	if (failed)
		aws_missing(c);
	else
		ask_instance(c, "GET", arena_printf(&a, ROLES_PATH STR_FMT, STR_ARG(role)), instance_token(c, &a),
			     after_keys);
}

static void after_instance_token(struct credential *c, const char *failed, struct str output)
{
	AUTO_ARENA struct arena a = { 0 };

	/* Its answer does not reach a container behind one hop more, and some stand-ins do not have it. */
	if (failed && env_is_on(credential_env(c, "AWS_EC2_METADATA_V1_DISABLED"))) {
		aws_missing(c);
		return;
	}
	credential_put(&c->extra, failed ? STR("") : output);
	ask_instance(c, "GET", ROLES_PATH, instance_token(c, &a), after_role);
}

static bool ask_container(struct credential *c)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf token = { 0 };
	const char *full = credential_env(c, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *relative = credential_env(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *file = credential_env(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *given = credential_env(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct err err = { 0 };
	struct url parts;

	if (!full && !relative)
		return false;
	const char *url = relative ? arena_printf(&a, "http://169.254.170.2%s", relative) : full;
	if (url_parse(&a, url, &parts, &err) < 0) {
		credential_failed(c, "AWS_CONTAINER_CREDENTIALS_FULL_URI: %s", err.text);
		return true;
	}
	/* Plain http only to the hosts that containers have: a token must not leave the machine in the clear. */
	if (strcmp(parts.scheme, "https") != 0 && !url_is_loopback(url) &&
	    !str_is_one_of(str_from(parts.host), "169.254.170.2|169.254.170.23|[fd00:ec2::23]")) {
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
	credential_ask(c, "GET", url, (const char *const[]){ header, NULL }, NULL, chain_limit_ms(c), after_keys);
	return true;
}

static const char *aws_address(struct credential *c, struct arena *a, const char *variable, const char *host,
			       const char *region)
{
	const char *given = credential_env(c, variable);

	return given ? given : arena_printf(a, "https://%s.%s.amazonaws.com", host, region);
}

/* A token in a file, as Kubernetes gives it, for the keys of a role. False: there is none. */
static bool ask_web_identity(struct credential *c, struct arena *a, const char *file, const char *role,
			     const char *name)
{
	AUTO_BUF struct buf token = { 0 }, form = { 0 };
	struct err err = { 0 };

	if (!file || !role)
		return false;
	if (file_read(file, LARGEST_OUTPUT, &token, &err) < 0) {
		credential_failed(c, "the web identity of AWS cannot be read: %s", err.text);
		return true;
	}
	const struct {
		const char *name;
		struct str value;
	} members[] = { { "RoleArn", str_from(role) },
			{ "RoleSessionName", str_from(name ? name : "cadre") },
			{ "WebIdentityToken", str_trim(buf_str(&token)) } };
	buf_addstr(&form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		buf_addf(&form, "&%s=", members[i].name);
		percent_encode(&form, members[i].value, "");
	}
	const char *url = aws_address(c, a, "AWS_ENDPOINT_URL_STS", "sts", c->options.region);
	credential_ask(c, "POST", arena_printf(a, "%s/", url),
		       (const char *const[]){ "content-type: application/x-www-form-urlencoded", NULL }, form.p,
		       chain_limit_ms(c), after_keys);
	OPENSSL_cleanse(token.p, token.n);
	OPENSSL_cleanse(form.p, form.n);
	return true;
}

/* The token that `aws sso login` left in a file, for the keys of the profile's role. False: there is none that is valid. */
static bool ask_single_sign_on(struct credential *c, struct arena *a)
{
	const struct variables *v = &c->options.variables;
	const char *home = credential_env(c, "HOME"), *session = credential_aws_profile_value(a, v, "sso_session");
	const char *account = credential_aws_profile_value(a, v, "sso_account_id");
	const char *role = credential_aws_profile_value(a, v, "sso_role_name");
	const char *start = session ? session : credential_aws_profile_value(a, v, "sso_start_url");
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 }, url = { 0 };
	const struct json *root = NULL;
	unsigned char digest[SHA_DIGEST_LENGTH];
	char hex[2 * SHA_DIGEST_LENGTH + 1];
	int64_t ends_ms;
	struct err err = { 0 };

	if (!start || !account || !role)
		return false;
	(void)SHA1((const unsigned char *)start, strlen(start), digest);
	hex_encode(digest, sizeof digest, hex);
	if (file_read(arena_printf(a, "%s/.aws/sso/cache/%s.json", home ? home : "", hex), LARGEST_OUTPUT, &text,
		      &err) < 0 ||
	    json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return false;
	const char *token = json_cstr(json_get(root, "accessToken"), a),
		   *end = json_cstr(json_get(root, "expiresAt"), a);
	const char *region = json_cstr(json_get(root, "region"), a);
	if (!token || !id_parse_time(end, &ends_ms) || ends_ms < id_wall_ms())
		return false;
	if (!region)
		region = credential_aws_profile_value(a, v, "sso_region");
	buf_addf(&url, "%s/federation/credentials?role_name=",
		 aws_address(c, a, "AWS_ENDPOINT_URL_SSO", "portal.sso", region ? region : c->options.region));
	percent_encode(&url, str_from(role), "");
	buf_addstr(&url, "&account_id=");
	percent_encode(&url, str_from(account), "");
	const char *header = arena_printf(a, "x-amz-sso_bearer_token: %s", token);
	credential_ask(c, "GET", url.p, (const char *const[]){ header, NULL }, NULL, chain_limit_ms(c), after_keys);
	OPENSSL_cleanse(text.p, text.n);
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
		credential_run(c, c->options.export_command, chain_limit_ms(c), after_command);
		return;
	}
	if (id && secret) {
		take_keys(c, str_from(id), str_from(secret), session ? str_from(session) : STR(""), 0, 0);
		return;
	}
	id = credential_aws_profile_value(&a, v, "aws_access_key_id");
	secret = credential_aws_profile_value(&a, v, "aws_secret_access_key");
	session = credential_aws_profile_value(&a, v, "aws_session_token");
	const char *process = credential_aws_profile_value(&a, v, "credential_process");
	bool needs_program = false;
	for (size_t i = 0; i < COUNT_OF(program_keys); i++)
		needs_program = needs_program || credential_aws_profile_value(&a, v, program_keys[i]);
	if (ask_web_identity(c, &a, credential_aws_profile_value(&a, v, "web_identity_token_file"),
			     credential_aws_profile_value(&a, v, "role_arn"),
			     credential_aws_profile_value(&a, v, "role_session_name")) ||
	    ask_single_sign_on(c, &a))
		return;
	if (needs_program && credential_runs_program(c, "aws")) {
		credential_run(c, "aws configure export-credentials --format process", chain_limit_ms(c),
			       after_command);
	} else if (needs_program) {
		credential_failed(c, "the AWS profile needs the program aws (aws sso login, roles): install it, or set "
				     "awsCredentialExport");
	} else if (id && secret) {
		take_keys(c, str_from(id), str_from(secret), session ? str_from(session) : STR(""),
			  id_wall_ms() + USUAL_LIFE_MS, 0);
	} else if (process) {
		credential_run(c, process, chain_limit_ms(c), after_command);
	} else if (ask_web_identity(c, &a, credential_env(c, "AWS_WEB_IDENTITY_TOKEN_FILE"),
				    credential_env(c, "AWS_ROLE_ARN"), credential_env(c, "AWS_ROLE_SESSION_NAME")) ||
		   ask_container(c)) {
		return;
	} else if (off && !strcasecmp(off, "true")) {
		aws_missing(c);
	} else {
		ask_instance(c, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600",
			     after_instance_token);
	}
}

const struct credential_ops credential_aws_ops = { .fetch = aws_fetch, .sign = aws_sign, .needs_hash = true };

/* Canonical request, text to sign, signature. */

/* Without empty segments, "." and "..", each segment encoded. */
static void add_path(struct arena *a, struct buf *out, const char *path, bool raw)
{
	struct str rest = str_from(path);
	struct str *segments = arena_alloc(a, (rest.n + 1) * sizeof *segments);
	size_t count = 0, start = out->n;

	if (raw) {
		percent_encode(out, rest, "/");
		return;
	}
	while (rest.p) {
		struct str segment = str_cut(&rest, '/');
		if (str_is(segment, "..")) {
			count -= count > 0;
		} else if (segment.n && !str_is(segment, ".")) {
			segments[count++] = segment;
		}
	}
	for (size_t i = 0; i < count; i++) {
		buf_addch(out, '/');
		percent_encode(out, segments[i], "");
	}
	size_t n = strlen(path);
	if (out->n == start || (n && path[n - 1] == '/'))
		buf_addch(out, '/');
}

/* Sorted by name, position and value. Parameters of a query have no position, headers of one name keep theirs. */
struct pair {
	struct str name, value;
	size_t at;
};

static int compare_texts(struct str a, struct str b)
{
	int order = memcmp(a.n ? a.p : "", b.n ? b.p : "", MIN(a.n, b.n));

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = compare_texts(x->name, y->name);

	if (!order)
		order = (x->at > y->at) - (x->at < y->at);
	return order ? order : compare_texts(x->value, y->value);
}

/* Decodes first, so that text which is encoded already is not encoded twice. */
static struct str reencoded(struct arena *a, struct str text)
{
	AUTO_BUF struct buf plain = { 0 }, out = { 0 };

	percent_decode(&plain, text);
	percent_encode(&out, buf_str(&plain), "");
	return arena_str(a, buf_str(&out));
}

/* Names in lower case and sorted; values trimmed, blanks inside folded, those of equal names joined. *ret_names: the list. */
static void add_headers(struct arena *a, struct buf *out, const char *const *headers, struct buf *ret_names)
{
	size_t count = str_count(headers);
	struct pair *pairs = arena_alloc(a, (count + 1) * sizeof *pairs);

	for (size_t i = 0; i < count; i++) {
		struct str value = str_from(headers[i]);
		struct str name = str_trim(str_cut(&value, ':'));
		pairs[i] = (struct pair){ arena_lower(a, name), str_trim(value.p ? value : STR("")), i };
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	for (size_t i = 0; i < count; i++) {
		bool same = i && str_eq(pairs[i].name, pairs[i - 1].name);
		if (!same) {
			buf_addstr(out, i ? "\n" : "");
			buf_append(out, pairs[i].name);
			buf_addstr(ret_names, i ? ";" : "");
			buf_append(ret_names, pairs[i].name);
		}
		buf_addch(out, same ? ',' : ':');
		for (struct str rest = pairs[i].value; rest.n;) {
			size_t n = MIN(strcspn(rest.p, " \t"), rest.n), blanks = strspn(rest.p + n, " \t");
			buf_add(out, rest.p, n);
			if (n == rest.n)
				break;
			buf_addch(out, ' ');
			rest = (struct str){ rest.p + n + blanks, rest.n - n - blanks };
		}
	}
	buf_addch(out, '\n');
}

static void hmac_init(struct sigv4_key *k, const void *key, size_t n)
{
	unsigned char block[SHA256_CBLOCK] = { 0 };

	if (n > sizeof block)
		(void)SHA256(key, n, block);
	else
		memcpy(block, key, n);
	for (size_t i = 0; i < sizeof block; i++)
		block[i] ^= 0x36;
	(void)SHA256_Init(&k->inner);
	(void)SHA256_Update(&k->inner, block, sizeof block);
	for (size_t i = 0; i < sizeof block; i++)
		block[i] ^= 0x36 ^ 0x5c;
	(void)SHA256_Init(&k->outer);
	(void)SHA256_Update(&k->outer, block, sizeof block);
	OPENSSL_cleanse(block, sizeof block);
}

static void hmac(const struct sigv4_key *k, const char *text, unsigned char out[SHA256_DIGEST_LENGTH])
{
	SHA256_CTX state = k->inner;

	(void)SHA256_Update(&state, text, strlen(text));
	(void)SHA256_Final(out, &state);
	state = k->outer;
	(void)SHA256_Update(&state, out, SHA256_DIGEST_LENGTH);
	(void)SHA256_Final(out, &state);
	OPENSSL_cleanse(&state, sizeof state);
}

void sigv4_key_clear(struct sigv4_key *k)
{
	if (k->of.p)
		OPENSSL_cleanse(k->of.p, k->of.cap);
	buf_release(&k->of);
	OPENSSL_cleanse(k, sizeof *k);
}

/* Its description begins with the key of the first HMAC. */
static void sigv4_key_fit(struct sigv4_key *k, const struct sigv4_request *r, const char *date)
{
	const char *const steps[] = { date, r->region, r->service, "aws4_request" };
	struct sigv4_key fresh = { 0 };
	unsigned char next[SHA256_DIGEST_LENGTH];

	buf_addf(&fresh.of, "AWS4%s%c%s%c%s%c%s", r->secret, 0, date, 0, r->region, 0, r->service);
	if (str_eq(buf_str(&fresh.of), buf_str(&k->of))) {
		sigv4_key_clear(&fresh);
		return;
	}
	hmac_init(&fresh, fresh.of.p, strlen(fresh.of.p));
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		hmac(&fresh, steps[i], next);
		hmac_init(&fresh, next, sizeof next);
	}
	OPENSSL_cleanse(next, sizeof next);
	sigv4_key_clear(k);
	*k = fresh;
}

const char *sigv4_sign(struct arena *a, const struct sigv4_request *r)
{
	struct sigv4_key own = { 0 }, *signing = r->kept ? r->kept : &own;
	AUTO_BUF struct buf request = { 0 }, names = { 0 }, text = { 0 }, out = { 0 };
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char hex[SHA256_HEX + 1];
	char date[9];

	snprintf(date, sizeof date, "%.8s", r->time);
	buf_addf(&request, "%s\n", r->method);
	add_path(a, &request, r->path, r->raw_path);
	buf_addch(&request, '\n');
	struct str rest = str_from(r->query ? r->query : "");
	struct pair *pairs = arena_alloc(a, (rest.n + 1) * sizeof *pairs);
	size_t count = 0;

	while (rest.p) {
		struct str value = str_cut(&rest, '&');
		if (!value.n)
			continue;
		struct str name = str_cut(&value, '=');
		pairs[count++] = (struct pair){ reencoded(a, name), reencoded(a, value.p ? value : STR("")), 0 };
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	for (size_t i = 0; i < count; i++)
		buf_addf(&request, "%s" STR_FMT "=" STR_FMT, i ? "&" : "", STR_ARG(pairs[i].name),
			 STR_ARG(pairs[i].value));
	buf_addch(&request, '\n');
	add_headers(a, &request, r->headers, &names);
	buf_addf(&request, "\n%s\n" STR_FMT, names.p ? names.p : "", STR_ARG(r->body_hash));
	(void)SHA256((const unsigned char *)request.p, request.n, digest);
	buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n", r->time, date, r->region, r->service);
	hex_encode(digest, sizeof digest, hex);
	buf_addstr(&text, hex);
	sigv4_key_fit(signing, r, date);
	hmac(signing, text.p, digest);
	sigv4_key_clear(&own);
	buf_addf(&out, "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, SignedHeaders=%s, Signature=", r->key_id,
		 date, r->region, r->service, names.p ? names.p : "");
	hex_encode(digest, sizeof digest, hex);
	buf_addstr(&out, hex);
	return arena_dup(a, out.p, out.n);
}
