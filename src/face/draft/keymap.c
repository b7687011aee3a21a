/* SPDX-License-Identifier: MIT
 * keymap.c - which key does what. */
#include "face/draft/keymap.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

static const char *const context_names[] = {
#define X(context, name) [CONTEXT_##context] = name,
	KEYMAP_CONTEXTS(X)
#undef X
};

static const struct action_row {
	enum keymap_context context;
	const char *name, *keys, *help;
} actions[] = {
#define X(action, context, name, keys, help) [ACTION_##action] = { CONTEXT_##context, name, keys, help },
	KEYMAP_ACTIONS(X)
#undef X
};

void keymap_release(struct keymap *m)
{
	free(m->bindings);
	*m = (struct keymap){ 0 };
}

/* The name that is written, and the others that are understood */
static const struct {
	const char *name;
	enum key_code code;
} named_keys[] = {
	{ "enter", KEY_ENTER },    { "return", KEY_ENTER },
	{ "tab", KEY_TAB },        { "escape", KEY_ESC },
	{ "esc", KEY_ESC },        { "backspace", KEY_BACKSPACE },
	{ "up", KEY_UP },          { "delete", KEY_DELETE },
	{ "del", KEY_DELETE },     { "down", KEY_DOWN },
	{ "left", KEY_LEFT },      { "right", KEY_RIGHT },
	{ "home", KEY_HOME },      { "end", KEY_END },
	{ "pageup", KEY_PAGE_UP }, { "pagedown", KEY_PAGE_DOWN },
};

/* A terminal sends the same byte for these */
static const char *const same_keys[][2] = {
	{ "ctrl+j", "shift+enter" }, { "ctrl+m", "enter" },  { "ctrl+i", "tab" },          { "ctrl+[", "escape" },
	{ "ctrl+h", "backspace" },   { "ctrl+/", "ctrl+_" }, { "ctrl+shift+-", "ctrl+_" },
};

static bool write_name(bool ctrl, bool alt, bool shift, struct str base, char ret[KEYMAP_KEYS_BYTES])
{
	int n = snprintf(ret, KEYMAP_KEYS_BYTES, "%s%s%s" STR_FMT, ctrl ? "ctrl+" : "", alt ? "alt+" : "",
			 shift ? "shift+" : "", STR_ARG(base));

	for (size_t i = 0; i < COUNT_OF(same_keys); i++)
		if (!strcmp(ret, same_keys[i][0]))
			n = snprintf(ret, KEYMAP_KEYS_BYTES, "%s", same_keys[i][1]);
	return n > 0 && n < KEYMAP_KEYS_BYTES;
}

bool keymap_name(const struct key *key, char ret_name[KEYMAP_KEYS_BYTES])
{
	char letter = key->letter;
	bool upper = false;

	for (size_t i = 0; i < COUNT_OF(named_keys); i++)
		if (named_keys[i].code == key->code)
			return write_name(key->ctrl, key->alt, key->shift, str_from(named_keys[i].name), ret_name);
	if (key->code == KEY_CTRL) {
		upper = letter >= 'A' && letter <= 'Z';
		letter = upper ? (char)(letter | 0x20) : letter;
		return write_name(true, key->alt, key->shift || upper,
				  letter == ' ' || letter == '@' ? STR("space") : (struct str){ &letter, 1 }, ret_name);
	}
	if (key->code != KEY_TEXT || !key->text.n || key->text.n > 8)
		return false;
	if (key->text.n == 1) {
		letter = key->text.p[0];
		upper = letter >= 'A' && letter <= 'Z';
		letter = upper ? (char)(letter | 0x20) : letter;
		return write_name(false, key->alt, upper, letter == ' ' ? STR("space") : (struct str){ &letter, 1 },
				  ret_name);
	}
	/* letters that came in one read are text, also if they are the name of a key: up, end, tab */
	return (unsigned char)key->text.p[0] >= 0x80 && write_name(false, key->alt, false, key->text, ret_name);
}

static bool normalise_stroke(struct str stroke, char ret[KEYMAP_KEYS_BYTES])
{
	bool ctrl = false, alt = false, shift = false;
	char letter;

	for (size_t plus; stroke.n > 1; stroke = str_tail(stroke, plus + 1)) { /* `ctrl++` ends with the key + */
		const char *end = memchr(stroke.p, '+', stroke.n - 1);
		if (!end)
			break;
		plus = (size_t)(end - stroke.p);
		struct str word = { stroke.p, plus };
		if (str_is_nocase(word, "ctrl") || str_is_nocase(word, "control"))
			ctrl = true;
		else if (str_is_nocase(word, "shift"))
			shift = true;
		else if (str_is_nocase(word, "alt") || str_is_nocase(word, "opt") || str_is_nocase(word, "option") ||
			 str_is_nocase(word, "meta"))
			alt = true;
		else
			return false;
	}
	if (str_is_nocase(stroke, "space"))
		return write_name(ctrl, alt, shift, STR("space"), ret);
	for (size_t i = 0; i < COUNT_OF(named_keys); i++)
		if (str_is_nocase(stroke, named_keys[i].name)) {
			struct key key = { .code = named_keys[i].code, .ctrl = ctrl, .alt = alt, .shift = shift };
			return keymap_name(&key, ret);
		}
	if (stroke.n != 1 || stroke.p[0] <= ' ' || stroke.p[0] == 0x7f)
		return false;
	letter = stroke.p[0];
	if (letter >= 'A' && letter <= 'Z') {
		letter = (char)(letter | 0x20);
		shift = shift || (!ctrl && !alt); /* `K` is shift+k, `ctrl+K` is ctrl+k */
	}
	return write_name(ctrl, alt, shift, (struct str){ &letter, 1 }, ret);
}

bool keymap_normalise(struct str keys, char ret_keys[KEYMAP_KEYS_BYTES])
{
	char stroke[KEYMAP_KEYS_BYTES];
	size_t n = 0;

	ret_keys[0] = '\0';
	for (struct str rest = str_trim(keys); rest.p;) {
		struct str one = str_cut(&rest, ' ');
		if (!one.n)
			continue;
		if (!normalise_stroke(one, stroke) || n + strlen(stroke) + 2 > KEYMAP_KEYS_BYTES)
			return false;
		n += (size_t)snprintf(ret_keys + n, KEYMAP_KEYS_BYTES - n, "%s%s", n ? " " : "", stroke);
	}
	return n > 0;
}

static bool read_binding(struct keymap *m, struct key_binding b, struct str keys, const struct json *action,
			 struct buf *problems)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct str name = json_str(action, &arena);
	const char *context = context_names[b.context];

	if (!keymap_normalise(keys, b.keys)) {
		buf_addf(problems, "%s: \"" STR_FMT "\" is not a key\n", context, STR_ARG(utf8_cut(keys, 60)));
		return false;
	}
	if (!strcmp(b.keys, "ctrl+c") || !strcmp(b.keys, "ctrl+d")) {
		buf_addf(problems, "%s: %s cannot be changed: it leaves\n", context, b.keys);
		return false;
	}
	for (unsigned i = 1; i < ACTION_COUNT && name.n; i++)
		if (str_is(name, actions[i].name))
			b.action = (enum action)i;
	bool here = actions[b.action].context == b.context ||
		    (actions[b.action].context <= CONTEXT_TASK && b.context <= CONTEXT_TASK);
	if (!b.action && !json_is(action, JSON_NULL)) {
		buf_addf(problems, "%s: %s: no such action: \"" STR_FMT "\"\n", context, b.keys,
			 STR_ARG(utf8_cut(name, 60)));
		return false;
	}
	if (b.action && !here) {
		buf_addf(problems, "%s: %s: %s is an action of %s\n", context, b.keys, actions[b.action].name,
			 context_names[actions[b.action].context]);
		return false;
	}
	if (m->count >= KEYMAP_BINDINGS)
		return false;
	m->bindings = xrealloc(m->bindings, (m->count + 1) * sizeof *m->bindings);
	m->bindings[m->count++] = b;
	return true;
}

void keymap_read(struct keymap *m, struct str json, struct buf *problems)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = KEYMAP_FILE_BYTES, .depth = 8 } };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	struct err err = { 0 };

	keymap_release(m);
	if (json_parse(&reader, json.p, json.n, &root, &err) < 0) {
		buf_addf(problems, "%s\n", err.text);
		return;
	}
	const struct json *blocks = json_get(root, "bindings");
	if (!json_is(blocks, JSON_ARRAY))
		buf_addstr(problems, "the list \"bindings\" is missing\n");
	for (const struct json *block = json_items(blocks); block; block = json_next(blocks, block)) {
		struct str name = json_str(json_get(block, "context"), &arena);
		unsigned context = 0;
		while (context < CONTEXT_COUNT && !str_is(name, context_names[context]))
			context++;
		if (context == CONTEXT_COUNT) {
			buf_addf(problems, "no such context: \"" STR_FMT "\"\n", STR_ARG(utf8_cut(name, 60)));
			continue;
		}
		const struct json *keys = json_get(block, "bindings");
		for (struct json_member k = json_members(keys); k.key; k = json_member_next(keys, k))
			(void)read_binding(m, (struct key_binding){ .context = (enum keymap_context)context },
					   json_str(k.key, &arena), k.value, problems);
	}
	if (m->count == KEYMAP_BINDINGS)
		buf_addf(problems, "only the first %d bindings are used\n", KEYMAP_BINDINGS);
}

static bool begins_chord(struct str keys, const char *so_far)
{
	size_t n = strlen(so_far);

	return keys.n > n && !memcmp(keys.p, so_far, n) && keys.p[n] == ' ';
}

static bool is_hidden(const struct keymap *m, struct str keys, unsigned contexts)
{
	for (size_t i = 0; i < m->count; i++)
		if (contexts & 1u << m->bindings[i].context && str_is(keys, m->bindings[i].keys))
			return true;
	return false;
}

enum keymap_found keymap_find(struct keymap *m, unsigned contexts, const struct key *key, enum action *ret_action)
{
	char keys[KEYMAP_KEYS_BYTES * 2], name[KEYMAP_KEYS_BYTES];
	bool chord = m->pending[0] != '\0', more = false;

	*ret_action = ACTION_NONE;
	bool named = keymap_name(key, name);
	snprintf(keys, sizeof keys, "%s%s%s", m->pending, chord ? " " : "", named ? name : "");
	m->pending[0] = '\0';
	if (!named || strlen(keys) >= sizeof m->pending)
		return KEYMAP_UNBOUND;
	for (size_t i = m->count; i-- > 0;) {
		const struct key_binding *b = &m->bindings[i];
		if (!(contexts & 1u << b->context))
			continue;
		if (!strcmp(b->keys, keys)) {
			*ret_action = b->action;
			return b->action ? KEYMAP_ACTION : KEYMAP_DROP;
		}
		more = more || (b->action && begins_chord(str_from(b->keys), keys));
	}
	for (unsigned i = 1; i < ACTION_COUNT; i++)
		for (struct str rest = str_from(actions[i].keys); contexts & 1u << actions[i].context && rest.p;) {
			struct str one = str_cut(&rest, ',');
			if (str_is(one, keys))
				*ret_action = (enum action)i;
			more = more || (begins_chord(one, keys) && !is_hidden(m, one, contexts));
		}
	if (more) {
		*ret_action = ACTION_NONE;
		memcpy(m->pending, keys, sizeof m->pending);
		return KEYMAP_MORE;
	}
	return *ret_action ? KEYMAP_ACTION : chord ? KEYMAP_DROP : KEYMAP_UNBOUND;
}

bool keymap_translate(const struct keymap *m, unsigned contexts, struct key *key)
{
	char name[KEYMAP_KEYS_BYTES];

	if (!m->count || !keymap_name(key, name))
		return true;
	for (size_t i = m->count; i-- > 0;) {
		const struct key_binding *b = &m->bindings[i];
		if (!(contexts & 1u << b->context) || strcmp(b->keys, name) != 0)
			continue;
		if (!b->action)
			return false;
		struct str known = str_from(actions[b->action].keys);
		*key = (struct key){ .code = KEY_TEXT, .text = str_is(known, "space") ? STR(" ") : known };
		for (size_t k = 0; k < COUNT_OF(named_keys); k++)
			if (str_is(known, named_keys[k].name))
				*key = (struct key){ .code = named_keys[k].code };
		if (str_starts(known, STR("ctrl+")))
			*key = (struct key){ .code = KEY_CTRL, .letter = known.p[5] };
		return true;
	}
	return true;
}

void keymap_add_help(const struct keymap *m, struct buf *out)
{
	const unsigned prompt = 1u << CONTEXT_GLOBAL | 1u << CONTEXT_CHAT | 1u << CONTEXT_TASK;

	for (unsigned i = 1; i < ACTION_COUNT; i++) {
		size_t start = out->n;
		if (!actions[i].help[0])
			continue;
		for (size_t k = 0; k < m->count; k++)
			if (m->bindings[k].action == i)
				buf_addf(out, "%s%s", out->n > start ? ", " : "", m->bindings[k].keys);
		for (struct str rest = str_from(actions[i].keys); rest.p;) {
			struct str one = str_cut(&rest, ',');
			if (!is_hidden(m, one, prompt))
				buf_addf(out, "%s" STR_FMT, out->n > start ? ", " : "", STR_ARG(one));
		}
		if (out->n > start)
			buf_addf(out, "\t%s\n", actions[i].help);
	}
}
