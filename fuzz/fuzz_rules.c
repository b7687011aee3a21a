/* SPDX-License-Identifier: MIT
 * fuzz_rules.c - rules and calls. Lines of the input: "deny RULE", "ask RULE", "allow RULE"; then a line with the name of a tool, and all
 * that follows is its input as JSON. Proves that what a bare deny rule names is denied, that a child is never allowed
 * what its parent's deny rules forbid, and that nothing is allowed that an ask rule of the same context names. */
#include "guard/permission/permission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add_rule(struct permission *p, struct str line)
{
	static const struct rule_origin origin = { .layer = "fuzz", .base = "/work" };
	static const struct {
		const char *word;
		enum rule_list list;
	} lists[] = { { "deny", RULE_DENY }, { "ask", RULE_ASK }, { "allow", RULE_ALLOW } };
	struct str rest = line;
	struct str word = str_cut(&rest, ' ');

	for (size_t i = 0; rest.p && i < COUNT_OF(lists); i++) {
		if (!str_is(word, lists[i].word))
			continue;
		(void)permission_add_rule(p, lists[i].list, rest, &origin, NULL, NULL, NULL);
		return true;
	}
	return false;
}

static void check(const struct permission *parent, struct tool_use use)
{
	static const char *const allow[] = { "Bash", "Read", "Edit", "Write", "WebFetch" };
	struct permission child;
	struct permission_verdict above = { 0 };
	struct permission_verdict below = { 0 };

	permission_derive(&child, parent,
			  &(struct permission_birth){ .mode = "bypassPermissions",
						      .mode_may_widen = true,
						      .allow = allow,
						      .allow_count = COUNT_OF(allow) });
	permission_explain(parent, use, PERMISSION_HINT_ALLOW, &above);
	permission_explain(&child, use, PERMISSION_HINT_ALLOW, &below);
	if (above.decision == PERMISSION_DENY && above.step == PERMISSION_STEP_DENY_RULE &&
	    below.decision != PERMISSION_DENY)
		abort();
	if (above.step == PERMISSION_STEP_ASK_RULE && below.decision == PERMISSION_ALLOW)
		abort();
	permission_verdict_release(&above);
	permission_verdict_release(&below);
	permission_release(&child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const dirs[] = { "/work", NULL };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 1 << 16, .depth = 32 } };
	struct tool_env env = { .cwd = "/work", .root = "/work", .dirs = dirs };
	struct permission p = { 0 };
	struct str rest = { (const char *)data, size };
	struct str line = str_cut(&rest, '\n');

	while (rest.p && add_rule(&p, line))
		line = str_cut(&rest, '\n');
	AUTO_FREE char *name = xstrndup(line.p, line.n);
	struct tool tool = { .name = name, .definition = "{}" };
	struct tool_use use = { .tool = &tool, .env = &env };
	if (rest.p && json_parse(&reader, rest.p, rest.n, &use.input, NULL) < 0)
		use.input = NULL;
	check(&p, use);
	permission_release(&p);
	return 0;
}
