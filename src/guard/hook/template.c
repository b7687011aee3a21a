/* SPDX-License-Identifier: MIT
 * template.c - fills the places in the texts of handlers. */
#include "guard/hook/template.h"
#include "lib/json/json_write.h"
#include "config/catalog/plugin_vars.h"

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "${NAME}" at the beginning of s: NAME, and the length of all of it; n == 0: there is none. */
static struct str braced_name(struct str s, size_t *ret_length)
{
	const char *end = s.n > 2 && s.p[0] == '$' && s.p[1] == '{' ? memchr(s.p, '}', s.n) : NULL;

	if (!end)
		return STR("");
	*ret_length = (size_t)(end - s.p) + 1;
	return (struct str){ s.p + 2, (size_t)(end - s.p) - 2 };
}

/* The value of NAME in a list of "NAME=value" */
static const char *find_value(const char *const *list, struct str name)
{
	for (; list && *list; list++)
		if (str_starts(str_from(*list), name) && (*list)[name.n] == '=')
			return *list + name.n + 1;
	return NULL;
}

/* ---- arguments ---- */

void template_add_argument(struct buf *out, const char *text, const struct hook_origin *origin, const char *project_dir)
{
	const struct plugin_vars vars = { origin->plugin_root, origin->plugin_data, project_dir,
					  origin->plugin_options };

	plugin_vars_expand(out, str_from(text), &vars, true);
}

/* ---- prompts ---- */

void template_add_prompt(struct buf *out, const char *text, struct str input)
{
	static const char place[] = "$ARGUMENTS";
	bool placed = false;

	while (*text) {
		if (text[0] == '\\' && text[1] == '$') {
			buf_addch(out, '$');
			text += 2;
		} else if (!strncmp(text, place, sizeof place - 1)) {
			buf_add(out, input.p, input.n);
			text += sizeof place - 1;
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

/* ---- headers ---- */

static struct str header_name(struct str s, size_t *ret_length)
{
	struct str name = braced_name(s, ret_length);
	size_t n = 1;

	if (name.n || s.p[0] != '$')
		return name;
	while (n < s.n && is_name_char(s.p[n]))
		n++;
	*ret_length = n;
	return (struct str){ s.p + 1, n - 1 };
}

static void add_one_line(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text != '\r' && *text != '\n')
			buf_addch(out, *text);
}

void template_add_header(struct buf *out, const char *text, const char *const *names, const char *const *envp)
{
	struct str rest = str_from(text);

	while (rest.n) {
		size_t used = 1;
		struct str name = header_name(rest, &used);
		const char *value = name.n ? find_value(envp, name) : NULL;
		bool allowed = false;
		for (const char *const *n = names; n && *n; n++)
			allowed = allowed || str_is(name, *n);
		if (name.n && allowed && value)
			add_one_line(out, value);
		else if (!name.n)
			buf_add(out, rest.p, used);
		rest = (struct str){ rest.p + used, rest.n - used };
	}
}

/* ---- inputs of MCP tools ---- */

struct json_template {
	const struct json *event;
	struct arena arena;
};

static const struct json *at_path(const struct json *root, struct str path)
{
	while (path.p && root)
		root = json_get_str(root, str_cut(&path, '.'));
	return root;
}

static void add_value(struct buf *out, struct json_template *t, const struct json *v)
{
	struct str text = json_is(v, JSON_STRING) ? json_str(v, &t->arena) : json_raw(v);

	buf_add(out, text.p, text.n);
}

static void put_filled(struct json_out *w, struct json_template *t, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	while (text.n) {
		size_t used = 1;
		struct str name = braced_name(text, &used);
		const struct json *v = name.n ? at_path(t->event, name) : NULL;
		if (v)
			add_value(&out, t, v);
		else
			buf_add(&out, text.p, used = 1);
		text = (struct str){ text.p + used, text.n - used };
	}
	json_put_str(w, buf_str(&out));
}

static void put_value(struct json_out *w, struct json_template *t, const struct json *v)
{
	if (json_is(v, JSON_STRING)) {
		put_filled(w, t, json_str(v, &t->arena));
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
	struct json_template t = { 0 };
	struct json_out w = json_out(out);
	const struct json *root;

	if (json_parse(&input, input_json.p, input_json.n, &root, NULL) < 0) {
		buf_add(out, input_json.p, input_json.n); /* too deep to be filled */
		return;
	}
	if (json_parse(&event, event_json.p, event_json.n, &t.event, NULL) < 0)
		t.event = NULL;
	put_value(&w, &t, root);
	arena_release(&t.arena);
}
