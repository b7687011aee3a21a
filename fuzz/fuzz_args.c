/* SPDX-License-Identifier: MIT
 * fuzz_args.c - the command line: the input's lines are the arguments. Also proves that what the parser
 * returns lies in the arguments or in its arena, by reading all of it. */
#include "../src/face/cli/flag.c"
#include "../src/lib/args/args.c"

enum { ARGS_MAX = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_everything(const struct args *args)
{
	size_t n = 0;

	for (size_t i = 0; i < args->word_count; i++)
		n += strlen(args->words[i]);

	for (size_t i = 0; i < args->given_count; i++) {
		const char *value = args->given[i].value;
		n += value ? strlen(value) : 0;
		if (!value && args->given[i].option->arg != CADRE_OPTION_OPTIONAL)
			abort();
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *copy = xstrndup((const char *)data, size);
	const char *argv[ARGS_MAX];
	const struct cadre_option *options[COUNT_OF(flag_table) + 1] = { 0 };
	int argc = 0;
	struct args args = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < flag_count; i++)
		options[i] = &flag_table[i].option;
	for (char *at = copy; at && argc < ARGS_MAX;) {
		char *end = strchr(at, '\n');
		if (end)
			*end++ = '\0';
		argv[argc++] = at;
		at = end;
	}
	if (args_parse(argc, argv, options, "cadre", &args, &err) == 0) {
		volatile size_t seen = read_everything(&args);
		(void)seen;
	} else if (err.kind != ERR_USAGE || !err.text[0]) {
		abort();
	}
	args_release(&args);
	return 0;
}
