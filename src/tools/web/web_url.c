/* SPDX-License-Identifier: MIT
 * web_url.c - addresses of pages. */
#include "tools/web/web_url.h"
#include "lib/io/address.h"
#include "lib/io/url.h"
#include "guard/permission/rule_pattern.h"

enum { TEXT_LIMIT_BYTES = 4096 };

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

static struct web_url from_parts(struct arena *a, const struct url *u)
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
	struct web_url url = from_parts(a, &parts);
	if (!str_is(host_of_url(a, text), url.host) || !is_ascii(url.host))
		return err_set(err, ERR_USAGE, "write the host as '%.100s', in ASCII and without escapes", url.host);
	*ret_url = url;
	return 0;
}

void web_url_upgrade(struct arena *a, struct web_url *url)
{
	struct url parts;

	if (url_parse(a, url->text, &parts, NULL) == 0 && url_to_https(a, &parts, NULL) == 0)
		*url = from_parts(a, &parts);
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
