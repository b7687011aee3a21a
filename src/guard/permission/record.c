/* SPDX-License-Identifier: MIT
 * record.c - limits of ancestors, written and applied again. */
#include "guard/permission/record.h"

static const struct {
	const char *key;
	enum rule_list list;
} lists[] = { { "deny", RULE_DENY }, { "ask", RULE_ASK }, { "only", RULE_ONLY } };

static void write_limits(struct json_out *w, const struct permission *p)
{
	bool mode = !p->mode_invalid && permission_mode_matters(p);

	json_putf(w, "{modeInvalid?:!!%d, mode?:'%s', modeHolds?:!!%d", p->mode_invalid,
		  mode ? permission_mode_name(p->mode) : NULL, mode && p->mode_holds);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		bool any = false;
		for (size_t k = 0; p->own && k < p->own->all.count; k++) {
			const struct rule *r = p->own->all.list[k];
			if (r->list != lists[i].list)
				continue;
			if (!any)
				json_kopen(w, lists[i].key, '[');
			any = true;
			json_put_cstr(w, r->text);
		}
		if (any)
			json_close(w);
	}
	json_putf(w, "replacesAllow?:!!%d, writeRoot?:'%s'}", p->replaces_allow, p->write_root);
}

void permission_record_write(struct json_out *w, const struct permission *p)
{
	size_t depth = 0;

	for (const struct permission *up = p; up->parent; up = up->parent)
		depth++;
	json_open(w, '[');
	while (depth--) {
		const struct permission *up = p;
		for (size_t i = 0; i < depth; i++)
			up = up->parent;
		write_limits(w, up);
	}
	json_close(w);
}

static bool line_has(const struct permission *p, struct str limits)
{
	AUTO_BUF struct buf text = { 0 };

	for (; p->parent; p = p->parent) {
		struct json_out w = json_out(&text);
		buf_clear(&text);
		write_limits(&w, p);
		if (str_eq(buf_str(&text), limits))
			return true;
	}
	return false;
}

bool permission_line_covers(const struct permission *line, const struct permission *p, bool but_own)
{
	AUTO_BUF struct buf text = { 0 };

	if (permission_mode_is_wider(permission_mode(line), permission_mode(p)))
		return false;
	for (const struct permission *up = but_own ? p->parent : p; up->parent; up = up->parent) {
		bool limited = up->write_root;
		for (size_t i = 0; up->own && i < up->own->all.count; i++)
			limited = limited || up->own->all.list[i]->list != RULE_ALLOW;
		struct json_out w = json_out(&text);
		buf_clear(&text);
		write_limits(&w, up);
		if (limited && !line_has(line, buf_str(&text)))
			return false;
	}
	return true;
}

static int add_rules(struct permission *p, enum rule_list list, const struct json *rules, struct err *err)
{
	static const struct rule_origin origin = { .layer = "agent" };
	AUTO_ARENA struct arena a = { 0 };

	if (!json_is(rules, JSON_ARRAY))
		return err_set(err, ERR_DENIED, "rules are not a list");
	for (const struct json *v = json_first(rules); v; v = json_next(rules, v)) {
		const char *text = json_cstr(v, &a);
		if (!text)
			return err_set(err, ERR_DENIED, "a rule is not a text");
		if (permission_add_rule(p, list, str_from(text), &origin, NULL, NULL, err) < 0)
			return -(int)(err->kind = ERR_DENIED);
	}
	return 0;
}

/* One member of an ancestor's limits. An unknown one may be a limit of a later version. A worktree is a directory that an agent
 * holds: a child without one of its own works in it only while its holder is there. */
static int apply_limit(struct permission *p, const struct permission_restore *spec, struct str key,
		       const struct json *value, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *text = json_cstr(value, &a);

	for (size_t i = 0; i < COUNT_OF(lists); i++)
		if (str_is(key, lists[i].key))
			return add_rules(p, lists[i].list, value, err);
	if (str_is(key, "mode"))
		return !p->mode_invalid ? 0 : err_set(err, ERR_DENIED, "the mode is unknown");
	if (str_is_one_of(key, "modeInvalid|modeHolds|replacesAllow"))
		return json_bool(value) ? 0 : err_set(err, ERR_DENIED, "a switch is not true");
	if (!str_is(key, "writeRoot") || !text)
		return err_set(err, ERR_DENIED, "'" STR_FMT "' is not understood", STR_ARG(key));
	const struct permission *holder = spec->parent;
	while (holder && (!holder->write_root || strcmp(holder->write_root, text) != 0))
		holder = holder->parent;
	if (!spec->own_root && !holder)
		return err_set(err, ERR_DENIED, "the agent whose worktree it worked in has ended");
	return 0;
}

static int apply_limits(struct permission *p, const struct permission *above, const struct permission_restore *spec,
			const struct json *limits, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *mode = json_get(limits, "mode");

	if (!json_is(limits, JSON_OBJECT))
		return err_set(err, ERR_DENIED, "an entry is not an object");
	permission_derive(p, above,
			  &(struct permission_birth){ .mode = mode ? arena_str(&a, json_str(mode, &a)).p : NULL,
						      .mode_holds = json_get(limits, "modeHolds"),
						      .can_ask = above->can_ask,
						      .replaces_allow = json_get(limits, "replacesAllow") });
	for (struct json_member m = json_members(limits); m.key; m = json_member_next(limits, m))
		if (apply_limit(p, spec, json_str(m.key, &a), m.value, err) < 0)
			return -(int)err->kind;
	p->mode_invalid = json_get(limits, "modeInvalid");
	p->is_gone = true;
	return 0;
}

int permission_line_restore(struct permission_line *ret_line, const struct permission_restore *spec, struct err *err)
{
	struct permission_line line = { 0 };
	const struct permission *above = spec->parent;
	size_t count = 0;

	if (!json_is(spec->record, JSON_ARRAY))
		return err_set(err, ERR_DENIED, "the record of its inherited limits is not a list");
	for (const struct json *v = json_first(spec->record); v; v = json_next(spec->record, v))
		count++;
	if (count < spec->least)
		return err_set(err, ERR_DENIED, "the record of its inherited limits lacks an agent");
	line.list = xcalloc(count + 1, sizeof *line.list);
	for (const struct json *v = json_first(spec->record); v; v = json_next(spec->record, v)) {
		if (line_has(spec->parent, json_raw(v)))
			continue;
		struct permission *p = &line.list[line.count++];
		if (apply_limits(p, above, spec, v, err) < 0) {
			permission_line_release(&line);
			return err_wrap(err, "its inherited limits cannot be applied");
		}
		above = p;
	}
	*ret_line = line;
	return 0;
}
