/* SPDX-License-Identifier: MIT
 * test_keymap.c - names of keys, chords, and what keybindings.json may say. */
#include "test_tui.h"
#include "face/draft/keymap.h"

enum { PROMPT = 1 << CONTEXT_GLOBAL | 1 << CONTEXT_CHAT | 1 << CONTEXT_TASK };

static const struct key *control(char letter)
{
	static struct key key;

	key = (struct key){ .code = KEY_CTRL, .letter = letter };
	return &key;
}

static const struct key *text(const char *letter)
{
	static struct key key;

	key = (struct key){ .code = KEY_TEXT, .text = str_from(letter) };
	return &key;
}

TEST(keys_have_one_name_however_they_are_written)
{
	static const char *const cases[][2] = {
		{ "ctrl+x ctrl+k", "ctrl+x ctrl+k" },
		{ " Control+X   ctrl+K ", "ctrl+x ctrl+k" },
		{ "meta+p", "alt+p" },
		{ "shift+ctrl+A", "ctrl+shift+a" },
		{ "K", "shift+k" },
		{ "esc", "escape" },
		{ "return", "enter" },
		{ "ctrl+j", "shift+enter" },
		{ "ctrl+m", "enter" },
		{ "ctrl+/", "ctrl+_" },
		{ "space", "space" },
		{ "ctrl++", "ctrl++" },
		{ "+", "+" },
		{ "shift+TAB", "shift+tab" },
		{ "", NULL },
		{ "hyper+x", NULL },
		{ "ctrl+nokey", NULL },
		{ "ctrl+", NULL },
	};
	char name[KEYMAP_KEYS_BYTES];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		bool known = keymap_normalise(str_from(cases[i][0]), name);
		CHECK_INT(known, cases[i][1] != NULL);
		if (known)
			CHECK_CSTR(name, cases[i][1]);
	}
	CHECK(keymap_name(&(struct key){ .code = KEY_TEXT, .alt = true, .text = STR("P") }, name));
	CHECK_CSTR(name, "alt+shift+p");
	CHECK(keymap_name(&(struct key){ .code = KEY_TAB, .shift = true }, name));
	CHECK_CSTR(name, "shift+tab");
}

TEST(every_default_key_is_written_as_it_is_found_and_does_one_thing)
{
	static const struct {
		unsigned contexts;
		const char *keys;
		enum action action;
	} rows[] = {
#define X(action, context, name, keys, help) { 1u << CONTEXT_##context, keys, ACTION_##action },
		KEYMAP_ACTIONS(X)
#undef X
	};
	char name[KEYMAP_KEYS_BYTES];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (struct str rest = str_from(rows[i].keys); rest.p;) {
			struct str one = str_cut(&rest, ',');
			CHECK(keymap_normalise(one, name));
			if (!str_is(one, "ctrl+j")) /* the same as shift+enter */
				CHECK_STR(one, name);
			for (size_t k = 0; k < i; k++) {
				bool same = (rows[k].contexts & PROMPT) ? (rows[i].contexts & PROMPT) != 0
									: rows[k].contexts == rows[i].contexts;
				for (struct str others = str_from(rows[k].keys); same && others.p;)
					CHECK(!str_eq(str_cut(&others, ','), one));
			}
		}
}

TEST(letters_that_are_the_name_of_a_key_are_text)
{
	static const char *const words[] = { "up", "down", "tab", "end", "home", "enter", "esc", "delete", "space" };
	struct keymap m = { 0 };
	enum action action;

	for (size_t i = 0; i < COUNT_OF(words); i++)
		CHECK_INT(keymap_find(&m, PROMPT, text(words[i]), &action), KEYMAP_UNBOUND);
	keymap_release(&m);
}

TEST(a_chord_is_an_action_and_one_that_leads_nowhere_is_none)
{
	struct keymap m = { 0 };
	enum action action;

	CHECK_INT(keymap_find(&m, PROMPT, text("a"), &action), KEYMAP_UNBOUND);
	CHECK_INT(keymap_find(&m, PROMPT, control('x'), &action), KEYMAP_MORE);
	CHECK_INT(keymap_find(&m, PROMPT, control('k'), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_KILL_AGENTS);
	CHECK_INT(keymap_find(&m, PROMPT, control('x'), &action), KEYMAP_MORE);
	CHECK_INT(keymap_find(&m, PROMPT, text("t"), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_AGENTS);
	CHECK_INT(keymap_find(&m, PROMPT, control('x'), &action), KEYMAP_MORE);
	CHECK_INT(keymap_find(&m, PROMPT, text("q"), &action), KEYMAP_DROP);
	CHECK_INT(keymap_find(&m, PROMPT, text("q"), &action), KEYMAP_UNBOUND);
	CHECK_INT(keymap_find(&m, PROMPT, control('k'), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_KILL_END);
	keymap_release(&m);
}

TEST(the_file_adds_hides_and_cannot_take_the_way_out)
{
	AUTO_BUF struct buf problems = { 0 }, help = { 0 };
	struct keymap m = { 0 };
	enum action action;

	keymap_read(
		&m,
		STR("{\"bindings\": [{\"context\": \"Chat\", \"bindings\": {\"ctrl+e\": \"chat:externalEditor\", \"ctrl+u\": null, "
		    "\"ctrl+k ctrl+s\": \"chat:stash\", \"ctrl+c\": \"chat:submit\", \"ctrl+q\": \"chat:fly\", \"hyper+q\": "
		    "\"chat:undo\", \"ctrl+w\": \"confirm:no\"}}, {\"context\": \"Kitchen\", \"bindings\": {}}, {\"context\": "
		    "\"Confirmation\", \"bindings\": {\"y\": \"confirm:yes\", \"n\": null}}]}"),
		&problems);
	CHECK_STR(buf_str(&problems), "Chat: ctrl+c cannot be changed: it leaves\n"
				      "Chat: ctrl+q: no such action: \"chat:fly\"\n"
				      "Chat: \"hyper+q\" is not a key\n"
				      "Chat: ctrl+w: confirm:no is an action of Confirmation\n"
				      "no such context: \"Kitchen\"\n");
	CHECK_INT(keymap_find(&m, PROMPT, control('e'), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_EDITOR);
	CHECK_INT(keymap_find(&m, PROMPT, control('g'), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_EDITOR);
	CHECK_INT(keymap_find(&m, PROMPT, control('u'), &action), KEYMAP_DROP);
	CHECK_INT(keymap_find(&m, PROMPT, control('k'), &action), KEYMAP_MORE);
	CHECK_INT(keymap_find(&m, PROMPT, control('s'), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_STASH);
	CHECK_INT(keymap_find(&m, PROMPT, control('c'), &action), KEYMAP_ACTION);
	CHECK_INT(action, ACTION_INTERRUPT);
	struct key key = *text("y");
	CHECK(keymap_translate(&m, 1 << CONTEXT_CONFIRMATION, &key));
	CHECK_INT(key.code, KEY_ENTER);
	key = *text("n");
	CHECK(!keymap_translate(&m, 1 << CONTEXT_CONFIRMATION, &key));
	key = *text("y");
	CHECK(keymap_translate(&m, 1 << CONTEXT_SELECT, &key));
	CHECK_INT(key.code, KEY_TEXT);
	keymap_add_help(&m, &help);
	CHECK(str_has(buf_str(&help), STR("ctrl+e, ctrl+g, ctrl+x ctrl+e")));
	CHECK(!str_has(buf_str(&help), STR("ctrl+u")));
	buf_clear(&problems);
	keymap_read(&m, STR("[1"), &problems);
	CHECK(problems.n && !m.count);
	keymap_release(&m);
}

int test_keymap(void)
{
	return RUN_TESTS(T(keys_have_one_name_however_they_are_written),
			 T(every_default_key_is_written_as_it_is_found_and_does_one_thing),
			 T(letters_that_are_the_name_of_a_key_are_text),
			 T(a_chord_is_an_action_and_one_that_leads_nowhere_is_none),
			 T(the_file_adds_hides_and_cannot_take_the_way_out));
}
