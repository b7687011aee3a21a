/* SPDX-License-Identifier: MIT
 * configure.c - from what was said on the command line to the settings of a runtime. */
#include "face/cli/configure.h"
#include "face/cli/input.h"

static const struct {
	const char *a, *b;
} exclusive[] = {
	{ "system-prompt", "system-prompt-file" },
	{ "append-system-prompt", "append-system-prompt-file" },
	{ "continue", "resume" },
};

static int check_exclusive(const struct args *args, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(exclusive); i++)
		if (args_find(args, exclusive[i].a) && args_find(args, exclusive[i].b))
			return err_set(err, ERR_USAGE, "--%s and --%s cannot be given together", exclusive[i].a,
				       exclusive[i].b);
	return 0;
}

static int check_verb_flags(const struct args *args, struct err *err)
{
	const struct {
		bool given;
		const char *flag, *verb;
	} flags[] = {
		{ args->list, "list", "trust" },
		{ args->forget, "forget", "trust" },
		{ args->all, "all", "tasks" },
		{ args->follow, "follow", "logs" },
		{ args->session, "session", "stop" },
		{ args->older_than, "older-than", "sessions" },
		{ args->format, "format", "sessions" },
		{ args->scope, "scope", "mcp" },
		{ args->transport, "transport", "mcp" },
		{ args->url, "url", "mcp" },
		{ args_find(args, "env"), "env", "mcp" },
		{ args_find(args, "header"), "header", "mcp" },
	};

	for (size_t i = 0; i < COUNT_OF(flags); i++)
		if (flags[i].given)
			return err_set(err, ERR_USAGE, "--%s belongs to `cadre %s`", flags[i].flag, flags[i].verb);
	return 0;
}

int configure_check(const struct args *args, bool interactive, struct err *err)
{
	bool stream = args->output_format && !strcmp(args->output_format, "stream-json");
	const struct option_value *resume = args_find(args, "resume");

	if (args->json)
		return err_set(err, ERR_USAGE,
			       "--json belongs to a command, such as `cadre agents --json`; with --print it is "
			       "--output-format json");
	if (check_verb_flags(args, err) < 0)
		return -ERR_USAGE;
	if (args->input_format && !strcmp(args->input_format, "stream-json")) {
		if (!stream)
			return err_set(err, ERR_USAGE, "--input-format stream-json needs --output-format stream-json");
		if (args->init_only)
			return err_set(err, ERR_USAGE, "--init-only begins no conversation: it needs no stream-json");
		if (args->prompt && args->prompt[0]) /* an SDK gives a switch with an empty value as two words */
			return err_set(err, ERR_USAGE,
				       "with --input-format stream-json the prompt comes on standard input");
	}
	if (args_find(args, "replay-user-messages") && !args->input_format)
		return err_set(err, ERR_USAGE, "--replay-user-messages needs --input-format stream-json");
	if (interactive && args->output_format)
		return err_set(err, ERR_USAGE, "--output-format needs --print");
	if (stream && !args->verbose)
		return err_set(err, ERR_USAGE, "--output-format stream-json needs --verbose with --print");
	if (args->partial && !stream)
		return err_set(err, ERR_USAGE,
			       "--include-partial-messages needs --print and --output-format stream-json");
	if (args_find(args, "forward-subagent-text") && !stream)
		return err_set(err, ERR_USAGE, "--forward-subagent-text needs --print and --output-format stream-json");
	if (resume && (resume->value ? !resume->value[0] : !interactive))
		return err_set(err, ERR_USAGE, "--resume needs a session, by its id or title: --resume <session>");
	return check_exclusive(args, err);
}

int configure_set(struct cadre *c, const char *name, const char *value, struct err *err)
{
	char why[sizeof err->text] = "";
	int rc = cadre_set(c, name, value, why, sizeof why);

	return rc < 0 ? err_set(err, (enum err_kind) - rc, "%s", why) : 0;
}

static int apply(struct cadre *c, const struct option_value *given, struct err *err)
{
	const struct option *opt = given->option;
	AUTO_BUF struct buf text = { 0 };

	if (opt->flags & OPTION_FILE) {
		if (input_read_file(given->value, &text, err) < 0)
			return err_wrap(err, "--%s", opt->name);
		return configure_set(c, opt->setting, buf_str(&text).p, err);
	}
	if (opt->arg == OPTION_NONE)
		return configure_set(c, opt->setting, opt->fixed ? opt->fixed : "", err);
	if (!given->value && (opt->flags & OPTION_CHOICE))
		return configure_set(c, "continue", "", err); /* --resume without an id */
	if (!given->value)
		return configure_set(c, opt->setting, "", err);
	return configure_set(c, opt->setting, given->value, err);
}

/* Transcripts say who wrote them; a host that starts us may have said so already. */
static int apply_entrypoint(struct cadre *c, bool interactive, struct err *err)
{
	const char *host = getenv("CLAUDE_CODE_ENTRYPOINT");

	return host && *host ? 0 : configure_set(c, "entrypoint", interactive ? "cli" : "sdk-cli", err);
}

int configure_apply(struct cadre *c, const struct args *args, unsigned flags, struct err *err)
{
	bool interactive = flags & CONFIGURE_INTERACTIVE;

	for (size_t i = 0; i < args->given_count; i++) {
		const struct option_value *given = &args->given[i];
		if (!given->option->setting || ((flags & CONFIGURE_FRESH) && (given->option->flags & OPTION_CHOICE)))
			continue;
		if (apply(c, given, err) < 0)
			return -(int)err->kind;
	}
	if (interactive && configure_set(c, "interactive", "", err) < 0)
		return -(int)err->kind;
	return apply_entrypoint(c, interactive, err);
}

int configure_runtime(const struct args *args, unsigned flags, struct cadre **ret_c, struct err *err)
{
	char why[sizeof err->text] = "";
	struct cadre *c = cadre_new(why, sizeof why);

	if (!c)
		return err_set(err, ERR_IO, "%s", why);
	int rc = configure_apply(c, args, flags, err);
	if (rc < 0) {
		cadre_free(c);
		return rc;
	}
	*ret_c = c;
	return 0;
}
