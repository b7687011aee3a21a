/* SPDX-License-Identifier: MIT
 * web_access.c - URLs, and which of them a call may fetch. */
#include "tools/web/web.h"
#include "guard/permission/permission.h"
#include "guard/permission/rule_pattern.h"
#include "lib/io/address.h"
#include "lib/io/url.h"
#include "lib/json/json_write.h"

/* ---- addresses -------------------------------------------------------------------------------------------------- */

enum { TEXT_LIMIT_BYTES = 4096 };

static struct web_url web_url_from(struct arena *a, const struct url *u)
{
	return (struct web_url){ .text = u->text,
				 .host = host_normal(a, str_from(u->host)).p,
				 .port = u->port,
				 .https = !strcmp(u->scheme, "https") };
}

int web_url_parse(struct arena *a, struct str text, struct web_url *ret_url, struct err *err)
{
	const char *copy = arena_dup(a, text.p, text.n);
	struct url parts;

	if (text.n > TEXT_LIMIT_BYTES)
		return err_set(err, ERR_USAGE, "the address is longer than %d bytes", TEXT_LIMIT_BYTES);
	if (strlen(copy) != text.n)
		return err_set(err, ERR_USAGE, "'%.150s' is not an address", copy);
	if (url_parse(a, copy, &parts, err) < 0)
		return err_wrap(err, "'%.150s'", copy);
	if (parts.has_user)
		return err_set(err, ERR_USAGE, "an address with a user name is not fetched");
	struct web_url url = web_url_from(a, &parts);
	const char *c = url.host;
	while (*c && !(*c & 0x80))
		c++;
	if (!str_is(host_of_url(a, text), url.host) || *c)
		return err_set(err, ERR_USAGE, "write the host as '%.100s', in ASCII and without escapes", url.host);
	*ret_url = url;
	return 0;
}

void web_url_upgrade(struct arena *a, struct web_url *url)
{
	struct url parts;

	if (url_parse(a, url->text, &parts, NULL) == 0 && url_to_https(a, &parts, NULL) == 0)
		*url = web_url_from(a, &parts);
}

bool web_url_is_local(const struct web_url *url)
{
	static const char *const ends[] = { ".local", ".internal", ".intranet", ".lan", ".home.arpa" };
	struct str host = str_from(url->host);
	enum address_kind kind = address_kind_of_host(host);

	if (kind)
		return kind != ADDRESS_PUBLIC;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (str_ends(host, str_from(ends[i])))
			return true;
	return !strchr(url->host, '.');
}

/* ---- where a call may go ---------------------------------------------------------------------------------------- */

unsigned web_refused_kinds(const struct tool_call *call, const struct web_url *url)
{
	struct str host = str_from(url->host);
	enum address_kind kind = address_kind_of_host(host);

	if (call->env->web->allow_private)
		return ADDRESS_OTHER;
	if (!permission_names_host(call->env->permission, host))
		return ADDRESS_NOT_PUBLIC;
	return ADDRESS_NOT_PUBLIC & ~(unsigned)(kind ? kind : ADDRESS_PRIVATE);
}

/* Evaluates the rules for the same tool with the new URL. A running call cannot ask the user: a redirect that would need a
 * question is reported to the model. An unanswerable question is not a rule against the host that this call was allowed for. */
enum web_redirect web_check_redirect(const struct tool_call *call, const struct web_url *from, const struct web_url *to,
				     struct buf *reason)
{
	struct permission_verdict verdict = { .decision = PERMISSION_ALLOW };
	struct tool_use use = tool_call_use(call); /* with the new URL */
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf input = { 0 };
	struct json_out w = json_out(&input);
	enum web_redirect redirect = WEB_REPORT;

	json_open(&w, '{');
	json_kcstr(&w, "url", to->text);
	json_close(&w);
	if (call->env->permission && json_parse(&reader, input.p, input.n, &use.input, NULL) == 0)
		permission_explain(call->env->permission, use, PERMISSION_HINT_NONE, &verdict);
	if (verdict.decision == PERMISSION_DENY && !verdict.unanswerable) {
		buf_add(reason, verdict.reason.p, verdict.reason.n);
		redirect = WEB_REFUSE;
	} else if (!strcmp(from->port, to->port) || ((!strcmp(from->port, from->https ? "443" : "80")) &&
						     (!strcmp(to->port, to->https ? "443" : "80")))) {
		bool is_near = !strcmp(strncmp(from->host, "www.", 4) ? from->host : from->host + 4,
				       strncmp(to->host, "www.", 4) ? to->host : to->host + 4);
		if (!strcmp(from->host, to->host) || (is_near && verdict.decision == PERMISSION_ALLOW))
			redirect = WEB_FOLLOW;
	}
	permission_verdict_release(&verdict);
	return redirect;
}
