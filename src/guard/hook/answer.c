/* SPDX-License-Identifier: MIT
 * answer.c - outputs that are not the JSON of the protocol: a model's verdict, a printed path, a terminal sequence. */
#include "lib/base/utf8.h"
#include "guard/hook/output_int.h"
#include "lib/json/json.h"

enum { BEL = 0x07, ESC = 0x1b };

/* ---- terminal sequences ---- */

/* Cuts one OSC off: ESC ] NUMBER ; TEXT and BEL or ESC \ at its end. */
static bool cut_osc(struct str *rest)
{
	static const unsigned allowed[] = { 0, 1, 2, 9, 99, 777 };
	unsigned number = 0;
	size_t i = 2;
	bool known = false;

	if (rest->n < 3 || rest->p[1] != ']')
		return false;
	for (; i < rest->n && rest->p[i] >= '0' && rest->p[i] <= '9' && number < 1000; i++)
		number = number * 10 + (unsigned)(rest->p[i] - '0');
	for (size_t k = 0; k < COUNT_OF(allowed); k++)
		known = known || (i > 2 && number == allowed[k]);
	while (i < rest->n && (unsigned char)rest->p[i] >= 0x20 && rest->p[i] != 0x7f)
		i++;
	if (!known || i == rest->n)
		return false;
	if (rest->p[i] == ESC && (++i == rest->n || rest->p[i] != '\\'))
		return false;
	if (rest->p[i] != BEL && rest->p[i] != '\\')
		return false;
	*rest = (struct str){ rest->p + i + 1, rest->n - i - 1 };
	return true;
}

bool hook_sequence_is_harmless(struct str s)
{
	while (s.n) {
		if (s.p[0] == BEL)
			s = (struct str){ s.p + 1, s.n - 1 };
		else if (s.p[0] != ESC || !cut_osc(&s))
			return false;
	}
	return true;
}

/* ---- a printed path ---- */

/* How many bytes the escape sequence at s takes; a lone ESC takes one. */
static size_t escape_length(struct str s)
{
	size_t i = 2;

	if (s.n < 2)
		return s.n;
	if (s.p[1] == ']') {
		while (i < s.n && s.p[i] != BEL && s.p[i] != ESC)
			i++;
		return MIN(s.n, i + (i < s.n && s.p[i] == ESC ? 2 : 1));
	}
	if (s.p[1] != '[')
		return 2;
	while (i < s.n && (unsigned char)s.p[i] >= 0x20 && (unsigned char)s.p[i] < 0x40)
		i++;
	return MIN(s.n, i + 1);
}

static struct str without_escapes(struct arena *arena, struct str line)
{
	char *out = arena_alloc(arena, line.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < line.n;) {
		if (line.p[i] == ESC)
			i += escape_length((struct str){ line.p + i, line.n - i });
		else
			out[n++] = line.p[i++];
	}
	out[n] = '\0';
	return str_trim((struct str){ out, n });
}

struct str hook_last_line(struct arena *arena, struct str text)
{
	struct str last = STR("");

	while (text.n && !last.n) {
		const char *end = memrchr(text.p, '\n', text.n);
		size_t at = end ? (size_t)(end - text.p) + 1 : 0;
		last = without_escapes(arena, (struct str){ text.p + at, text.n - at });
		text.n = at ? at - 1 : 0;
	}
	return last;
}

/* ---- a model's verdict ---- */

/* Models like to put text or a fence around their JSON. */
static struct str object_in(struct str text)
{
	const char *from = text.n ? memchr(text.p, '{', text.n) : NULL;
	const char *to = text.n ? memrchr(text.p, '}', text.n) : NULL;

	return from && to && from < to ? (struct str){ from, (size_t)(to - from) + 1 } : STR("");
}

static void refuse(struct hook_reply *ret, enum hook_event event, bool ends, struct str reason)
{
	const struct hook_event_info *info = hook_event_info(event);

	ret->block = true;
	ret->reason = reason.n ? reason : STR("a hook refused this and gave no reason");
	if (info->fields & (1u << HOOK_PERMISSION_DECISION)) {
		ret->permission = HOOK_PERMISSION_DENY;
		ret->permission_reason = ret->reason;
	}
	ret->stop = ends;
	if (ends)
		ret->stop_reason = ret->reason;
}

void hook_answer_read(struct arena *arena, enum hook_event event, bool continue_on_block, struct str answer,
		      struct hook_reply *ret)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = HOOK_OUT_LIMIT, .depth = 64 } };
	enum hook_refusal refusal = hook_event_info(event)->refusal;
	struct str text = object_in(answer);
	const struct json *root = NULL;

	*ret = (struct hook_reply){ 0 };
	if (json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		root = NULL;
	const struct json *ok = json_get(root, "ok");
	if (!json_is(ok, JSON_TRUE) && !json_is(ok, JSON_FALSE)) {
		ret->result = HOOK_ERROR;
		ret->note = STR("the model did not answer with {\"ok\": true or false}");
		return;
	}
	if (json_bool(ok) || refusal == HOOK_REFUSAL_NONE)
		return;
	if (refusal == HOOK_REFUSAL_GOES_ON && json_bool(json_get(root, "impossible")))
		return;
	bool ends = refusal == HOOK_REFUSAL_ENDS || (refusal == HOOK_REFUSAL_ENDS_OR_TELLS && !continue_on_block);
	refuse(ret, event, ends, json_str(json_get(root, "reason"), arena));
}
