/* SPDX-License-Identifier: MIT
 * flag.c - reads a command line without a command. */
#include "face/cli/flag.h"
#include "lib/base/utf8.h"

const struct flag *flag_of(const struct cadre_option *option)
{
	uintptr_t p = (uintptr_t)option;

	return p >= (uintptr_t)flag_table && p < (uintptr_t)(flag_table + flag_count) ? (const struct flag *)option
										      : NULL;
}

const char *flag_setting(const struct flag *flag)
{
	return flag->kind & FLAG_OWN ? NULL : flag->setting ? flag->setting : flag->option.name;
}

int flags_parse(int argc, const char *const *argv, struct args *ret_args, struct err *err)
{
	AUTO_FREE const struct cadre_option **options = NULL;
	size_t n = flag_count + 1;

	for (const struct cadre_command *c = NULL; (c = cadre_command_next(c));)
		for (const struct cadre_option *o = c->options; o->name; o++)
			n++;
	options = xcalloc(n, sizeof *options);
	for (n = 0; n < flag_count; n++)
		options[n] = &flag_table[n].option;
	for (const struct cadre_command *c = NULL; (c = cadre_command_next(c));)
		for (const struct cadre_option *o = c->options; o->name; o++)
			options[n++] = o;
	if (args_parse(argc - 1, argv + 1, options, "cadre", ret_args, err) < 0)
		return -ERR_USAGE;
	if (ret_args->word_count < 2)
		return 0;
	struct str second = utf8_cut(str_from(ret_args->words[1]), 60);
	err_set(err, ERR_USAGE, "there is a second prompt, '" STR_FMT "'; a prompt of several words needs quotes",
		STR_ARG(second));
	args_release(ret_args);
	return -ERR_USAGE;
}

const char *flags_prompt(const struct args *args)
{
	return args->word_count ? args->words[0] : NULL;
}
