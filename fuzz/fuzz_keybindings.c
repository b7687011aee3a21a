/* SPDX-License-Identifier: MIT
 * fuzz_keybindings.c - any bytes as keybindings.json. Each binding that is kept has keys with one name, Ctrl-C still interrupts, the
 * help can be written, and what was left out has a line. */
#include "../src/face/draft/keymap.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds as well. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf problems = { 0 }, help = { 0 };
	struct keymap m = { 0 };
	enum action action;
	char name[KEYMAP_KEYS_BYTES];

	keymap_read(&m, (struct str){ (const char *)data, size }, &problems);
	must(m.count <= KEYMAP_BINDINGS);
	for (size_t i = 0; i < m.count; i++) {
		const struct key_binding *b = &m.bindings[i];
		must(keymap_normalise(str_from(b->keys), name) && !strcmp(name, b->keys));
		must(b->context < CONTEXT_COUNT && b->action < ACTION_COUNT);
	}
	for (unsigned contexts = 1; contexts < 1u << CONTEXT_COUNT; contexts <<= 1) {
		for (char letter = 'a'; letter <= 'z'; letter++) {
			struct key key = { .code = KEY_CTRL, .letter = letter };
			(void)keymap_find(&m, contexts, &key, &action);
			(void)keymap_translate(&m, contexts, &key);
		}
		m.pending[0] = '\0';
	}
	must(keymap_find(&m, 1u << CONTEXT_GLOBAL, &(struct key){ .code = KEY_CTRL, .letter = 'c' }, &action) ==
		     KEYMAP_ACTION &&
	     action == ACTION_INTERRUPT);
	keymap_add_help(&m, &help);
	must(help.n > 0 && utf8_valid(buf_str(&help)));
	keymap_release(&m);
	return 0;
}
