/* SPDX-License-Identifier: MIT
 * usage.c - token counts in and out of JSON. */
#include "core/message/usage.h"

#define MOST_TOKENS (INT64_C(1) << 48) /* more is no count of tokens; sums of less never overflow */

static const struct {
	const char *name;
	const char *inside; /* NULL: top level */
	size_t offset;
} fields[] = {
	{ "input_tokens", NULL, offsetof(struct usage, input) },
	{ "cache_creation_input_tokens", NULL, offsetof(struct usage, cache_write) },
	{ "cache_read_input_tokens", NULL, offsetof(struct usage, cache_read) },
	{ "output_tokens", NULL, offsetof(struct usage, output) },
	{ "ephemeral_5m_input_tokens", "cache_creation", offsetof(struct usage, cache_write_5m) },
	{ "ephemeral_1h_input_tokens", "cache_creation", offsetof(struct usage, cache_write_1h) },
	{ "web_search_requests", "server_tool_use", offsetof(struct usage, web_searches) },
};

static int64_t *field(struct usage *u, size_t i)
{
	return (int64_t *)(void *)((char *)u + fields[i].offset);
}

void usage_merge(struct usage *u, const struct json *object)
{
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		const struct json *from = fields[i].inside ? json_get(object, fields[i].inside) : object;
		int64_t v;
		if (json_i64(json_get(from, fields[i].name), &v) && v >= 0 && v <= MOST_TOKENS)
			*field(u, i) = v;
	}
	u->estimated = u->estimated || json_bool(json_get(object, "estimated"));
}

void usage_add(struct usage *sum, const struct usage *u)
{
	struct usage copy = *u;

	for (size_t i = 0; i < COUNT_OF(fields); i++)
		*field(sum, i) += *field(&copy, i);
	sum->estimated = sum->estimated || u->estimated;
}

void usage_write(struct json_out *w, const struct usage *u)
{
	struct usage copy = *u;
	const char *inside = NULL;

	json_open(w, '{');
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		if (fields[i].inside && (!inside || strcmp(inside, fields[i].inside) != 0)) {
			if (inside)
				json_close(w);
			inside = fields[i].inside;
			json_key(w, inside);
			json_open(w, '{');
		}
		json_ki64(w, fields[i].name, *field(&copy, i));
	}
	if (inside)
		json_close(w);
	if (u->estimated)
		json_kbool(w, "estimated", true);
	json_close(w);
}
