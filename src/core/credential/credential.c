/* SPDX-License-Identifier: MIT
 * credential.c - states of a credential, its waiting requests, and the commands and HTTP requests of a fetch. */
#include "core/credential/credential_int.h"
#include <openssl/crypto.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/base/base64.h"
#include "lib/base/id.h"
#include "lib/base/library.h"
#include "lib/base/list.h"

enum {
	MOST_REFUSALS = 2,
	LONGEST_KEY = 16384,
	HELPER_LIMIT_MS = 60000,
	REFRESH_LIMIT_MS = 180000,
	RENEW_AGAIN_MS = 30000,
	LEAST_SKEW_MS = 60000,
	LONGEST_REASON = 140,
	SHORTEST_SECRET = 8, /* what is shorter may be a word */
	SHORTEST_BEGINNING = 12
};

const char *variables_get(const struct variables *v, const char *name)
{
	const char *value = v->find ? v->find(v->data, name) : getenv(name);

	return value && value[0] ? value : NULL;
}

const char *credential_env(const struct credential *c, const char *name)
{
	return variables_get(&c->options.variables, name);
}

void credential_put(char **slot, struct str value)
{
	if (*slot)
		OPENSSL_cleanse(*slot, strlen(*slot));
	free(*slot);
	*slot = value.n ? xstrndup(value.p, value.n) : NULL;
}

static void on_kick(struct kick *kick)
{
	struct credential *c = CONTAINER_OF(kick, struct credential, kick);
	struct err failure = c->failure;
	struct credential_wait *w;

	while ((w = c->waiting) && !c->fetching) {
		credential_cancel(c, w);
		w->on_ready(w, c->valid ? NULL : &failure);
	}
}

void credential_cancel(struct credential *c, struct credential_wait *w)
{
	if (!w->prev)
		return;
	list_remove(w);
	w->prev = NULL;
}

bool credential_ready(const struct credential *c)
{
	if (!c->ops->fetch)
		return true;
	return c->valid && !c->fetching && (!c->renew_ms || id_wall_ms() < c->renew_ms);
}

enum credential_kind credential_kind_of(const struct credential *c)
{
	return c->kind;
}

bool credential_needs_hash(const struct credential *c)
{
	return c->ops->needs_hash;
}

static void after_refresh(struct credential *c, const char *failed, struct str output)
{
	c->shows = false;
	if (failed)
		credential_failed(c, "the refresh command failed: %s", failed);
	else
		c->ops->fetch(c);
}

static void start_refresh(struct credential *c)
{
	c->refreshed = c->shows = true;
	credential_run(c, c->options.refresh_command, REFRESH_LIMIT_MS, after_refresh);
}

void credential_want(struct credential *c, struct credential_wait *w)
{
	list_push(&c->waiting, w);
	if (c->fetching)
		return;
	if (credential_ready(c)) {
		loop_kick(c->options.loop, &c->kick);
		return;
	}
	c->fetching = true;
	c->kept = c->valid;
	c->valid = c->refreshed = false;
	/* Keys that were refused are fetched again, the second time behind the refresh command. */
	if (c->refusals > 1 && c->options.refresh_command)
		start_refresh(c);
	else
		c->ops->fetch(c);
}

static void fetch_end(struct credential *c, bool valid)
{
	c->fetching = false;
	c->valid = valid;
	loop_kick(c->options.loop, &c->kick);
}

void credential_got(struct credential *c, int64_t renew_ms, int64_t ends_ms)
{
	c->renew_ms = renew_ms;
	c->ends_ms = ends_ms;
	c->generation++;
	fetch_end(c, true);
}

/* Keys that live shorter than the usual margin are renewed after half of their life, not with every request. */
int64_t credential_renewal_ms(int64_t ends_ms)
{
	int64_t now_ms = id_wall_ms();

	ends_ms = MAX(ends_ms, (int64_t)0);
	return MAX(ends_ms - RENEW_BEFORE_MS, now_ms + (ends_ms - now_ms) / 2);
}

/* A refresh command may help: once per fetch. What is renewed before its end is good until then. */
void credential_failed(struct credential *c, const char *fmt, ...)
{
	char text[sizeof c->failure.text];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (c->options.refresh_command && !c->refreshed) {
		start_refresh(c);
		return;
	}
	(void)err_set(&c->failure, ERR_USAGE, "%s", text);
	int64_t now_ms = id_wall_ms();
	bool good = c->kept && (!c->ends_ms || now_ms < c->ends_ms);
	if (good) {
		char note[sizeof text + 80];
		c->renew_ms = now_ms + MIN(RENEW_AGAIN_MS, c->ends_ms ? (c->ends_ms - now_ms) / 2 : RENEW_AGAIN_MS);
		snprintf(note, sizeof note, "the credential cannot be renewed, the present one is used: %s", text);
		if (c->waiting && c->waiting->on_line)
			c->waiting->on_line(c->waiting, str_from(note));
	} else {
		c->generation++;
	}
	fetch_end(c, good);
}

bool credential_refused(struct credential *c, unsigned generation)
{
	if (!c->ops->fetch)
		return false;
	if (generation == c->generation)
		c->kept = false;
	if (generation != c->generation || !c->valid)
		return true; /* there is a newer one, or will be: another request was refused before */
	if (c->refusals++ >= MOST_REFUSALS)
		return false;
	c->valid = false;
	return true;
}

bool credential_note_time(struct credential *c, int64_t server_ms)
{
	int64_t skew_ms = server_ms - id_wall_ms();

	if (!c->ops->needs_hash || !server_ms || llabs(skew_ms - c->skew_ms) < LEAST_SKEW_MS)
		return false;
	c->skew_ms = skew_ms;
	return true;
}

void credential_accepted(struct credential *c)
{
	c->refusals = 0;
}

void credential_sign(struct credential *c, const struct credential_request *r, struct arena *a,
		     const char *ret_headers[CREDENTIAL_MOST_HEADERS + 1], unsigned *ret_generation)
{
	memset(ret_headers, 0, (CREDENTIAL_MOST_HEADERS + 1) * sizeof *ret_headers);
	*ret_generation = c->generation;
	c->ops->sign(c, r, a, ret_headers);
}

/* Also its beginning, where the text was cut */
static void hide_value(struct str value, char *said)
{
	for (size_t i = 0; value.n >= SHORTEST_SECRET && said[i]; i++) {
		size_t same = 0;
		while (same < value.n && said[i + same] == value.p[same])
			same++;
		if (same == value.n || same >= SHORTEST_BEGINNING)
			memset(said + i, '*', same);
	}
}

void credential_hide_header(const char *line, char *said)
{
	struct str value = str_from(line);

	(void)str_cut(&value, ':');
	value = str_trim(value);
	hide_value(str_starts(value, STR("Bearer ")) ? str_tail(value, 7) : value, said);
}

void credential_hide(const struct credential *c, char *said)
{
	const char *const values[] = { c->token, c->secret, c->session };

	for (size_t i = 0; i < COUNT_OF(values); i++)
		hide_value(str_from(values[i] ? values[i] : ""), said);
	for (size_t i = 0; c->options.headers && c->options.headers[i]; i++)
		credential_hide_header(c->options.headers[i], said);
}

static void fetch_step_end(struct credential *c, const char *failed)
{
	credential_step_fn *step = c->step;
	struct buf output = c->output;

	timer_stop(c->options.loop, &c->limit);
	c->output = (struct buf){ 0 };
	c->child = NULL;
	c->request = NULL;
	if (!c->stopped)
		step(c, failed, failed ? STR("") : str_trim(buf_str(&output)));
	if (output.p)
		OPENSSL_cleanse(output.p, output.n);
	buf_release(&output);
}

static void on_output(struct child *child, bool is_stderr, const char *p, size_t n)
{
	struct credential *c = child_data(child);
	struct buf *to = is_stderr ? &c->errors : &c->output;

	if (to->n + n <= LARGEST_OUTPUT)
		buf_add(to, p, n);
	if (!c->shows || c->shown.n + n > LARGEST_OUTPUT)
		return;
	buf_add(&c->shown, p, n);
	struct str all = buf_str(&c->shown);
	while (memchr(all.n ? all.p : "", '\n', all.n)) {
		struct str line = str_trim(str_cut(&all, '\n'));
		if (line.n && c->waiting && c->waiting->on_line)
			c->waiting->on_line(c->waiting, line);
	}
	buf_drop(&c->shown, c->shown.n - all.n);
}

/* The telling part of what a command said, as one line: from the first line with "error" on, else the end. */
static struct str command_reason(struct buf *errors)
{
	enum { LONGEST = 120 };
	struct str said = str_trim(buf_str(errors));
	const char *mark = said.n ? strcasestr(said.p, "error") : NULL;
	const char *line = mark ? memrchr(said.p, '\n', (size_t)(mark - said.p)) : NULL;

	for (size_t i = 0; i < errors->n; i++)
		if ((unsigned char)errors->p[i] < ' ')
			errors->p[i] = ' ';
	if (mark)
		said = str_trim(str_tail(said, line ? (size_t)(line - said.p) : 0));
	else if (said.n > LONGEST)
		said = str_tail(said, said.n - LONGEST);
	return (struct str){ said.p, MIN(said.n, (size_t)LONGEST) };
}

static void on_exit_status(struct child *child, int status)
{
	struct credential *c = child_data(child);
	struct str said = command_reason(&c->errors);
	char why[200];

	if (c->timed_out)
		snprintf(why, sizeof why, "no end in time");
	else if (WIFEXITED(status))
		snprintf(why, sizeof why, "exit code %d%s" STR_FMT, WEXITSTATUS(status), said.n ? ": " : "",
			 STR_ARG(said));
	else
		snprintf(why, sizeof why, "signal %d", WTERMSIG(status));
	fetch_step_end(c, status || c->timed_out ? why : NULL);
}

static void on_limit(struct timer *timer)
{
	struct credential *c = CONTAINER_OF(timer, struct credential, limit);

	c->timed_out = true;
	if (c->child)
		child_kill(c->child, SIGTERM);
	if (c->request)
		http_cancel(c->request);
}

static void fetch_step_begin(struct credential *c, uint64_t limit_ms, credential_step_fn *step)
{
	buf_clear(&c->output);
	buf_clear(&c->errors);
	c->step = step;
	c->timed_out = false;
	c->limit.fire = on_limit;
	timer_start(c->options.loop, &c->limit, limit_ms);
}

void credential_run(struct credential *c, const char *command, uint64_t limit_ms, credential_step_fn *step)
{
	static const struct child_handlers handlers = { on_output, on_exit_status };
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	const struct variables *v = &c->options.variables;
	struct child_options options = { .argv = argv, .envp = v->all ? v->all(v->data) : NULL };
	struct err err = { 0 };

	fetch_step_begin(c, limit_ms, step);
	if (!c->options.spawner || spawn_start(c->options.spawner, &options, &handlers, c, &c->child, &err) < 0)
		fetch_step_end(c, c->options.spawner ? err.text : "commands cannot be run here");
}

bool credential_runs_program(const struct credential *c, const char *name)
{
	AUTO_BUF struct buf file = { 0 };

	return program_find(credential_env(c, "PATH"), name, &file);
}

struct str credential_xml_text(struct str xml, const char *name)
{
	char open[40], close[40];

	snprintf(open, sizeof open, "<%s>", name);
	snprintf(close, sizeof close, "</%s>", name);
	const char *from = memmem(xml.p, xml.n, open, strlen(open));
	from = from ? from + strlen(open) : NULL;
	const char *to = from ? memmem(from, (size_t)(xml.p + xml.n - from), close, strlen(close)) : NULL;
	return to ? str_trim((struct str){ from, (size_t)(to - from) }) : STR("");
}

/* Why a token server refuses, in its words: of OAuth, Google and AWS. Secrets of the form that it may repeat are overwritten. */
static void add_reason(const struct credential *c, char *why, size_t size)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = NULL;
	size_t n = strlen(why);

	(void)json_parse(&reader, c->output.p, c->output.n, &root, NULL);
	const struct json *error = json_get(root, "error"), *words = json_get(root, "error_description");
	words = words ? words : json_is(error, JSON_OBJECT) ? json_get(error, "message") : error;
	struct str said = root ? json_str(words, &a) : credential_xml_text(buf_str(&c->output), "Message");
	if (said.n)
		snprintf(why + n, size - n, ": " STR_FMT, (int)MIN(said.n, (size_t)LONGEST_REASON), said.p);
	for (char *p = why; *p; p++)
		*p = (unsigned char)*p < ' ' ? ' ' : *p;
	for (struct str rest = buf_str(&c->body); rest.n;) {
		AUTO_BUF struct buf value = { 0 };
		struct str pair = str_cut(&rest, '&'), name = str_cut(&pair, '=');
		percent_decode(&value, pair);
		if (str_has(name, STR("secret")) || str_has(name, STR("token")) || str_has(name, STR("assertion")) ||
		    str_has(name, STR("Token")))
			hide_value(buf_str(&value), why);
		if (value.p)
			OPENSSL_cleanse(value.p, value.n);
	}
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct credential *c = http_data(r);
	int status = http_status(r);
	char why[220];

	snprintf(why, sizeof why, "status %d", status);
	if (c->body.n && !error && status != 200)
		add_reason(c, why, sizeof why);
	fetch_step_end(c, c->timed_out ? "no answer in time" : error ? text : status != 200 ? why : NULL);
}

void credential_ask(struct credential *c, const char *method, const char *url, const char *const *headers,
		    const char *body, uint64_t limit_ms, credential_step_fn *step)
{
	static const struct http_handlers handlers = { .on_done = on_done };
	struct err err = { 0 };

	fetch_step_begin(c, limit_ms, step);
	if (!c->http)
		c->http = http_new(c->options.loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION });
	buf_clear(&c->body);
	buf_addstr(&c->body, body ? body : "");
	struct http_request request = { .method = method,
					.url = url,
					.headers = headers,
					.text = buf_str(&c->body),
					.stall_ms = limit_ms,
					.answer = &c->output,
					.limit_bytes = LARGEST_OUTPUT,
					/* Of this machine, as a container or an instance have it */
					.direct = str_starts(str_from(url), STR("http://")) };
	if (http_start(c->http, &request, &handlers, c, &c->request, &err) < 0)
		fetch_step_end(c, err.text);
}

static void sign_headers(struct credential *c, const struct credential_request *r, struct arena *a,
			 const char **headers)
{
	for (size_t i = 0; c->options.headers && c->options.headers[i] && i < CREDENTIAL_MOST_HEADERS; i++)
		headers[i] = c->options.headers[i];
}

static void sign_helper(struct credential *c, const struct credential_request *r, struct arena *a, const char **headers)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(c->options.helper_headers); i++) {
		const char *form = c->options.helper_headers[i];
		const char *mark = form ? strstr(form, "%s") : NULL;
		if (mark)
			headers[n++] = arena_printf(a, "%.*s%s", (int)(mark - form), form, c->token);
	}
}

/* One word of printable ASCII: a banner or an error page is not a key. */
static void after_helper(struct credential *c, const char *failed, struct str output)
{
	bool good = output.n && output.n <= LONGEST_KEY;

	for (size_t i = 0; i < output.n; i++)
		good = good && output.p[i] > ' ' && output.p[i] < 0x7f;
	if (failed) {
		credential_failed(c, "apiKeyHelper failed: %s", failed);
	} else if (!good) {
		credential_failed(c, "apiKeyHelper must print one key of printable characters, and printed %zu bytes",
				  output.n);
	} else {
		credential_put(&c->token, output);
		credential_got(c, id_wall_ms() + (int64_t)MIN(c->options.helper_ttl_ms, LONGEST_LIFE_S * 1000ULL), 0);
	}
}

static void fetch_helper(struct credential *c)
{
	credential_run(c, c->options.helper, HELPER_LIMIT_MS, after_helper);
}

static const struct credential_ops header_ops = { .sign = sign_headers };
static const struct credential_ops helper_ops = { .fetch = fetch_helper, .sign = sign_helper };

struct credential *credential_new(enum credential_kind kind, const struct credential_options *options)
{
	static const struct credential_ops *const kinds[] = {
		[CREDENTIAL_HEADERS] = &header_ops,         [CREDENTIAL_HELPER] = &helper_ops,
		[CREDENTIAL_AWS] = &credential_aws_ops,     [CREDENTIAL_GOOGLE] = &credential_google_ops,
		[CREDENTIAL_ENTRA] = &credential_entra_ops,
	};
	struct credential *c = xcalloc(1, sizeof *c);
	struct credential_options *o = &c->options;
	size_t n = str_count(options->headers);
	const char **headers = arena_calloc(&c->arena, (n + 1) * sizeof *headers);

	c->ops = kinds[kind];
	c->kind = kind;
	*o = *options;
	for (size_t i = 0; i < n; i++)
		headers[i] = arena_strdup(&c->arena, options->headers[i]);
	o->headers = headers;
	const char **texts[] = { &o->helper,  &o->helper_headers[0], &o->helper_headers[1], &o->region,
				 &o->service, &o->export_command,    &o->refresh_command };
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (*texts[i])
			*texts[i] = arena_strdup(&c->arena, *texts[i]);
	c->kick.step = on_kick;
	return c;
}

bool credential_busy(const struct credential *c)
{
	return c->child || c->request;
}

void credential_stop(struct credential *c)
{
	c->stopped = true;
	if (c->child)
		child_kill(c->child, SIGKILL);
	if (c->request)
		http_cancel(c->request);
}

void credential_free(struct credential *c)
{
	if (!c)
		return;
	kick_cancel(&c->kick);
	timer_stop(c->options.loop, &c->limit);
	http_free(c->http);
	char **values[] = { &c->token, &c->key_id, &c->secret, &c->session, &c->extra };
	for (size_t i = 0; i < COUNT_OF(values); i++)
		credential_put(values[i], STR(""));
	sigv4_key_clear(&c->signing_key);
	buf_release(&c->output);
	buf_release(&c->errors);
	buf_release(&c->shown);
	buf_release(&c->body);
	arena_release(&c->arena);
	free(c);
}
