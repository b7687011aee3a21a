/* SPDX-License-Identifier: MIT
 * fuzz_shell.c - any bytes as a shell command. Besides not crashing: every slice lies in the text or is a copy of a part
 * of it; and a command of an understood text, written again with its words quoted, is understood and has the same words. */
#include "lib/base/utf8.h"
#include "guard/shell/shell_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_slice(struct str s, struct str text)
{
	uintptr_t from = (uintptr_t)text.p;
	uintptr_t at = (uintptr_t)s.p;

	check(s.n <= text.n);
	if (at >= from && at < from + text.n)
		check(at + s.n <= from + text.n);
}

static void check_slices(const struct shell_command *c, struct str text)
{
	check_slice(c->source, text);
	for (size_t i = 0; i < c->word_count; i++)
		check_slice(c->words[i].source, text);
	for (size_t i = 0; i < c->redirect_count; i++) {
		check_slice(c->redirects[i].target.source, text);
		if (c->redirects[i].body)
			check_slice(*c->redirects[i].body, text);
	}
}

/* Bytes that an escape can make and that may not stand in a text by themselves; arrays, which hang on the name; and
 * arithmetic, which hangs on what was set before. */
static bool can_be_written(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.n; i++) {
		unsigned char c = (unsigned char)w->text.p[i];
		if ((c < ' ' && c != '\n' && c != '\t') || c >= 0x7f)
			return false;
	}
	return w->literal || (!str_has(w->source, STR("=(")) && !str_has(w->source, STR("((")));
}

static void write_word(struct buf *out, const struct shell_word *w)
{
	buf_addch(out, ' ');
	if (!w->literal) {
		buf_add(out, w->source.p, w->source.n);
		return;
	}
	buf_addch(out, '\'');
	for (size_t i = 0; i < w->text.n; i++) {
		if (w->text.p[i] == '\'')
			buf_addstr(out, "'\\'");
		buf_addch(out, w->text.p[i]);
	}
	buf_addch(out, '\'');
}

static void check_again(const struct shell_command *c)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct shell_script s;

	for (size_t i = 0; i < c->word_count; i++) {
		if (!can_be_written(&c->words[i]))
			return;
		write_word(&text, &c->words[i]);
	}
	if (!c->word_count || text.n > SHELL_MAX_BYTES)
		return;
	shell_parse(&a, buf_str(&text), &s);
	check(s.understood && s.count);
	const struct shell_command *again = &s.commands[s.count - 1];
	check(again->word_count == c->word_count);
	for (size_t i = 0; i < c->word_count; i++)
		check(again->words[i].literal == c->words[i].literal && str_eq(again->words[i].text, c->words[i].text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str text = { (const char *)data, size };
	struct shell_script s;

	shell_parse(&a, text, &s);
	check(s.understood == !s.why_not);
	for (size_t i = 0; i < s.count; i++) {
		AUTO_ARENA struct arena inner = { 0 };
		struct shell_forms found;
		check_slices(&s.commands[i], text);
		shell_is_read_only(&s.commands[i]);
		shell_needs_exact_rule(&s.commands[i]);
		shell_command_text(&inner, &s.commands[i]);
		shell_list_for_deny(&inner, &s.commands[i], &found);
		check(found.count > 0);
		if (s.understood)
			check_again(&s.commands[i]);
	}
	return 0;
}
