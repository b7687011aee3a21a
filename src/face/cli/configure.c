/* SPDX-License-Identifier: MIT
 * configure.c - from the command line to the settings of a runtime. */
#include "face/cli/configure.h"
#include "face/cli/input.h"

static const struct {
	const char *a, *b;
} exclusive[] = {
	{ "system-prompt", "system-prompt-file" },
	{ "append-system-prompt", "append-system-prompt-file" },
	{ "continue", "resume" },
};

int configure_check(const struct args *args, bool interactive, struct err *err)
{
	const char *output = args_value(args, "output-format");
	const char *input = args_value(args, "input-format");
	const char *prompt = flags_prompt(args), *asks = args_value(args, "permission-prompt-tool");
	bool stream = output && !strcmp(output, "stream-json"), talks = input && !strcmp(input, "stream-json");
	const struct args_value *resume = args_find(args, "resume");

	if (args_has(args, "json"))
		return err_set(err, ERR_USAGE,
			       "--json belongs to a command, such as `cadre agents --json`; with --print it is "
			       "--output-format json");
	for (size_t i = 0; i < args->given_count; i++)
		if (!flag_of(args->given[i].option)) {
			/* --all belongs to `cadre stop` and `cadre tasks` */
			AUTO_BUF struct buf owners = { 0 };
			for (const struct cadre_command *c = NULL; (c = cadre_command_next(c));)
				for (const struct cadre_option *o = c->options; o->name; o++)
					if (!strcmp(o->name, args->given[i].option->name))
						buf_addf(&owners, "%s`cadre %s`", owners.n ? " and " : "", c->name);
			return err_set(err, ERR_USAGE, "--%s belongs to %s", args->given[i].option->name, owners.p);
		}
	if (talks) {
		if (!stream)
			return err_set(err, ERR_USAGE, "--input-format stream-json needs --output-format stream-json");
		if (args_has(args, "init-only"))
			return err_set(err, ERR_USAGE, "--init-only begins no conversation: it needs no stream-json");
		if (prompt && prompt[0]) /* an SDK gives a switch with an empty value as two words */
			return err_set(err, ERR_USAGE,
				       "with --input-format stream-json the prompt comes on standard input");
	}
	if (interactive && output)
		return err_set(err, ERR_USAGE, "--output-format needs --print");
	if (stream && !args_has(args, "verbose"))
		return err_set(err, ERR_USAGE, "--output-format stream-json needs --verbose with --print");
	for (size_t i = 0; i < args->given_count; i++) {
		unsigned kind = flag_of(args->given[i].option)->kind;
		if ((kind & FLAG_INPUT && !talks) || (kind & FLAG_OUTPUT && !stream))
			return err_set(err, ERR_USAGE, "--%s needs --print and --%s-format stream-json",
				       args->given[i].option->name, kind & FLAG_INPUT ? "input" : "output");
	}
	if (asks && !strcmp(asks, "stdio") && !talks && !interactive)
		return err_set(err, ERR_USAGE, "--permission-prompt-tool stdio needs --input-format stream-json");
	if (resume && (resume->value ? !resume->value[0] : !interactive))
		return err_set(err, ERR_USAGE, "--resume needs a session, by its id or title: --resume <session>");
	for (size_t i = 0; i < COUNT_OF(exclusive); i++)
		if (args_has(args, exclusive[i].a) && args_has(args, exclusive[i].b))
			return err_set(err, ERR_USAGE, "--%s and --%s cannot be given together", exclusive[i].a,
				       exclusive[i].b);
	return 0;
}

int configure_set(struct cadre *c, const char *name, const char *value, struct err *err)
{
	char why[sizeof err->text] = "";
	int rc = cadre_set(c, name, value, why, sizeof why);

	return rc < 0 ? err_set(err, (enum err_kind) - rc, "%s", why) : 0;
}

/* Hands every setting to the runtime; reads the files that are named. */
static int configure_apply(struct cadre *c, const struct args *args, unsigned flags, struct err *err)
{
	const char *host = getenv("CLAUDE_CODE_ENTRYPOINT");
	bool interactive = flags & CONFIGURE_INTERACTIVE;

	for (size_t i = 0; i < args->given_count; i++) {
		const struct flag *flag = flag_of(args->given[i].option);
		const char *value = args->given[i].value;
		AUTO_BUF struct buf text = { 0 };

		if (!flag || !flag_setting(flag) || ((flags & CONFIGURE_FRESH) && (flag->kind & FLAG_CHOICE)))
			continue;
		const char *name = flag_setting(flag);
		if (flag->kind & FLAG_FILE) {
			if (input_read_file(value, &text, err) < 0)
				return err_wrap(err, "--%s", flag->option.name);
			value = buf_str(&text).p;
		} else if (flag->option.arg == CADRE_OPTION_NONE) {
			value = flag->fixed;
		} else if (!value && (flag->kind & FLAG_CHOICE)) {
			name = "continue"; /* --resume without an id */
		}
		if (configure_set(c, name, value ? value : "", err) < 0)
			return -(int)err->kind;
	}
	if ((interactive && configure_set(c, "interactive", "", err) < 0) ||
	    ((flags & CONFIGURE_SINGLE) && configure_set(c, "single-prompt", "", err) < 0))
		return -(int)err->kind;
	/* Transcripts record who wrote them; a host that starts us may have set it already. */
	return host && *host ? 0 : configure_set(c, "entrypoint", interactive ? "cli" : "sdk-cli", err);
}

int configure_runtime(const struct args *args, unsigned flags, struct cadre **ret_c, struct err *err)
{
	char why[sizeof err->text] = "";
	struct cadre *c = cadre_new(why, sizeof why);

	if (!c)
		return err_set(err, ERR_IO, "%s", why);
	int rc = configure_set(c, "raise-descriptor-limit", "", err);
	if (rc == 0)
		rc = configure_apply(c, args, flags, err);
	if (rc < 0) {
		cadre_free(c);
		return rc;
	}
	*ret_c = c;
	return 0;
}
