/* SPDX-License-Identifier: MIT
 * template.c - expands placeholders in the texts of handlers. */
#include "guard/hook/hook_int.h"
#include "lib/json/json_write.h"
#include "config/catalog/definition.h"

/* "${NAME}" at the beginning of s: NAME, and the length of all of it; n == 0: there is none. */
static struct str braced_name(struct str s, size_t *ret_length)
{
	const char *end = s.n > 2 && s.p[0] == '$' && s.p[1] == '{' ? memchr(s.p, '}', s.n) : NULL;

	if (!end)
		return STR("");
	*ret_length = (size_t)(end - s.p) + 1;
	return (struct str){ s.p + 2, (size_t)(end - s.p) - 2 };
}

void template_add_argument(struct buf *out, const char *text, const struct hook_origin *origin, const char *project_dir)
{
	const struct plugin_vars vars = { origin->plugin_root, origin->plugin_data, project_dir,
					  origin->plugin_options };

	plugin_vars_expand(out, str_from(text), &vars, true);
}

void template_add_prompt(struct buf *out, const char *text, struct str input)
{
	static const char placeholder[] = "$ARGUMENTS";
	bool placed = false;

	while (*text) {
		if (text[0] == '\\' && text[1] == '$') {
			buf_addch(out, '$');
			text += 2;
		} else if (!strncmp(text, placeholder, sizeof placeholder - 1)) {
			buf_add(out, input.p, input.n);
			text += sizeof placeholder - 1;
			placed = true;
		} else {
			buf_addch(out, *text++);
		}
	}
	if (placed)
		return;
	buf_addstr(out, "\n\n");
	buf_add(out, input.p, input.n);
}

void template_add_header(struct buf *out, const char *text, const char *const *names, const char *const *envp)
{
	struct str rest = str_from(text);

	while (rest.n) {
		size_t used = 1;
		struct str name = braced_name(rest, &used);
		if (!name.n && rest.p[0] == '$') {
			while (used < rest.n && hook_is_word_char(rest.p[used]))
				used++;
			name = (struct str){ rest.p + 1, used - 1 };
		}
		bool allowed = false;
		for (const char *const *n = names; n && *n; n++)
			allowed = allowed || str_is(name, *n);
		const char *value = NULL;
		for (const char *const *e = envp; name.n && allowed && !value && e && *e; e++)
			if (str_starts(str_from(*e), name) && (*e)[name.n] == '=')
				value = *e + name.n + 1;
		if (!name.n)
			buf_add(out, rest.p, used);
		for (; value && *value; value++)
			if (*value != '\r' && *value != '\n')
				buf_addch(out, *value);
		rest = (struct str){ rest.p + used, rest.n - used };
	}
}

struct json_template {
	const struct json *event;
	struct arena arena;
};

static void put_expanded(struct json_out *w, struct json_template *t, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	while (text.n) {
		size_t used = 1;
		struct str path = braced_name(text, &used);
		const struct json *v = path.n ? t->event : NULL;
		while (path.p && v)
			v = json_get_str(v, str_cut(&path, '.'));
		struct str value = json_is(v, JSON_STRING) ? json_str(v, &t->arena) : json_raw(v);
		if (!v)
			value = (struct str){ text.p, used = 1 };
		buf_add(&out, value.p, value.n);
		text = (struct str){ text.p + used, text.n - used };
	}
	json_put_str(w, buf_str(&out));
}

static void put_value(struct json_out *w, struct json_template *t, const struct json *v)
{
	if (json_is(v, JSON_STRING)) {
		put_expanded(w, t, json_str(v, &t->arena));
	} else if (json_is(v, JSON_ARRAY)) {
		json_open(w, '[');
		for (const struct json *e = json_first(v); e; e = json_next(v, e))
			put_value(w, t, e);
		json_close(w);
	} else if (json_is(v, JSON_OBJECT)) {
		json_open(w, '{');
		for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
			json_key_str(w, json_str(m.key, &t->arena));
			put_value(w, t, m.value);
		}
		json_close(w);
	} else {
		json_put_raw(w, json_raw(v));
	}
}

void template_add_json(struct buf *out, struct str input_json, struct str event_json)
{
	enum { DEPTH = 32 }; /* the writer's limit is 64 */
	AUTO_JSON struct json_reader event = { 0 };
	AUTO_JSON struct json_reader input = { .limits.depth = DEPTH };
	struct json_template t = { .event = json_read(&event, event_json) };
	struct json_out w = json_out(out);
	const struct json *root = json_read(&input, input_json);

	if (!root) {
		buf_add(out, input_json.p, input_json.n); /* too deep to be expanded */
		return;
	}
	put_value(&w, &t, root);
	arena_release(&t.arena);
}
