/* SPDX-License-Identifier: MIT
 * command.c - the entry of all subcommands: finds the command and its word, reads the options, checks the number of operands, and
 * returns the report. */
#include "product/command/command.h"

static const struct cadre_command *const command_table[] = {
#define COMMAND(name) &command_##name,
#include "product/command/command_list.h"
#undef COMMAND
	NULL,
};

const struct cadre_command *cadre_command_next(const struct cadre_command *before)
{
	const struct cadre_command *const *at = command_table;

	if (!before)
		return *at;
	while (*at && *at != before)
		at++;
	return *at ? at[1] : NULL;
}

/* How many of the call's words the name of a row takes; -1: it does not match. */
static int count_matching(const struct args *args, const char *name)
{
	struct str rest = str_from(name);
	int n = 0;

	while (rest.n) {
		struct str one = str_cut(&rest, ' ');
		if ((size_t)n >= args->word_count || !str_is(one, args->words[n]))
			return -1;
		n++;
	}
	return n;
}

/* "cadre plugin marketplace: unknown subcommand 'x'; expected list, add, remove or update" */
static int fail_unknown_word(struct cadre_call *call, const char *above, const char *word)
{
	AUTO_BUF struct buf names = { 0 };
	size_t skipped = above[0] ? strlen(above) + 1 : 0;
	const char *last = NULL;

	for (const struct cadre_command_word *w = call->command->words; w->name; w++) {
		if (!str_starts(str_from(w->name), str_from(above)) || strlen(w->name) <= skipped ||
		    strchr(w->name + skipped, ' '))
			continue;
		if (last)
			buf_addf(&names, "%s%s", names.n ? ", " : "", last);
		last = w->name + skipped;
	}
	return err_set(call->err, ERR_USAGE, "cadre %s%s%s: unknown subcommand '%.60s'; expected %s%s%s",
		       call->command->name, above[0] ? " " : "", above, word, buf_str(&names).p, names.n ? " or " : "",
		       last);
}

int command_fail_usage(struct cadre_call *call, const char *usage)
{
	const char *name = call->word->name;

	return err_set(call->err, ERR_USAGE, "expected: cadre %s%s%s%s%s", call->command->name, name[0] ? " " : "",
		       name, usage[0] ? " " : "", usage);
}

/* The row with the longest name that fits. */
static int find_word(struct cadre_call *call)
{
	const struct args *args = &call->args;
	int taken = 0;
	size_t least = 0, most = 0;
	bool has_below = false;
	call->word = NULL;
	for (const struct cadre_command_word *w = call->command->words; w->name; w++) {
		int n = count_matching(args, w->name);
		if (n < 0 || (call->word && n <= taken))
			continue;
		call->word = w;
		taken = n;
	}
	if (!call->word && args->word_count)
		return fail_unknown_word(call, "", args->words[0]);
	if (!call->word)
		call->word = call->command->words;
	call->operands = args->words + taken;
	call->count = args->word_count - (size_t)taken;
	for (struct str rest = str_from(call->word->operands); rest.n;) { /* such as "NAME [PATH...]" */
		struct str one = str_cut(&rest, ' ');
		if (str_is(one, "--"))
			continue;
		least += one.p[0] != '[';
		most = str_has(one, STR("...")) ? SIZE_MAX : most + (most != SIZE_MAX);
	}
	if (call->count >= least && call->count <= most)
		return 0;
	const char *name = call->word->name;
	for (const struct cadre_command_word *w = call->command->words; w->name; w++)
		has_below =
			has_below || (str_starts(str_from(w->name), str_from(name)) && w->name[strlen(name)] == ' ');
	if (call->count && name[0] && has_below)
		return fail_unknown_word(call, name, call->operands[0]);
	return command_fail_usage(call, call->word->operands);
}

static int read_call(struct cadre_call *call, int argc, const char *const *argv)
{
	AUTO_FREE const struct cadre_option **options = NULL;
	size_t count = 0;
	char program[64];

	for (size_t i = 0; command_table[i] && !call->command; i++)
		if (!strcmp(command_table[i]->name, argv[0]))
			call->command = command_table[i];
	if (!call->command)
		return err_set(call->err, ERR_USAGE, "unknown command '%.60s'", argv[0]);
	while (call->command->options[count].name)
		count++;
	options = xcalloc(count + 1, sizeof *options);
	for (size_t i = 0; i < count; i++)
		options[i] = &call->command->options[i];
	snprintf(program, sizeof program, "cadre %s", call->command->name);
	if (args_parse(argc - 1, argv + 1, options, program, &call->args, call->err) < 0 || find_word(call) < 0)
		return -ERR_USAGE;
	return call->word->flags & CADRE_COMMAND_BLOCKS ? services_may_block(call->services, call->err) : 0;
}

int cadre_command(struct cadre *c, int argc, const char *const *argv, const struct cadre_command_io *io,
		  struct cadre_report **ret_report, char *why, size_t why_size)
{
	static const struct cadre_command_io no_io = { 0 };
	struct services *sv = cadre_services(c);
	struct err err = { 0 };
	struct cadre_call call = { .services = sv, .io = io ? io : &no_io, .err = &err };

	if (ret_report)
		*ret_report = NULL;
	if (!sv || argc < 1 || !argv || !argv[0] || !ret_report)
		return CADRE_USAGE;
	int status = read_call(&call, argc, argv);
	if (status == 0) {
		call.report = xcalloc(1, sizeof *call.report);
		status = call.word->run(&call);
	}
	if (status == 0 && !call.told)
		*ret_report = TAKE(call.report);
	cadre_report_free(call.report);
	args_release(&call.args);
	return api_status(status, &err, why, why_size);
}
