/* SPDX-License-Identifier: MIT
 * stage.h - a directory to ask about, and calls that ask. */
#pragma once
#include "guard/permission/permission.h"
#include "unit.h"

/* In a temporary directory, where the agent works:
 *   f out.txt .env a/.env secrets/k a/secrets/k src/app.ts vendor/ docs/ link -> /etc/hostname inside -> src */
struct stage {
	struct arena arena;
	char dir[FOLDER_MAX];
	const char *dirs[3];
	struct tool_env env;
};
void stage_open(struct stage *s);
void stage_close(struct stage *s);
#define STAGE(s)                             \
	CLEANUP(stage_close) struct stage s; \
	stage_open(&s)

/* input: JSON with ' for ", and @ for the stage's directory. Frees nothing: all is in the stage's arena. */
struct tool_use *stage_call(struct stage *s, const char *tool, const char *input);
struct tool_use *stage_bash(struct stage *s, const char *command);
/* rules: "deny Bash(rm *); allow Bash"; separated by newlines or " ;; ". Fails the test if one is not understood. */
void stage_rules(struct stage *s, struct permission *p, const char *rules);
void stage_allow_tool(struct permission *p, struct str name); /* a rule of the session; a bad name adds none */
enum permission_decision stage_decide(const struct permission *p, const struct tool_use *call);
const char *stage_reason(struct stage *s, const struct permission *p, const struct tool_use *call);

/* What becomes of a command: it runs, is asked about, or does not run. */
enum { RUN = PERMISSION_ALLOW, ASK = PERMISSION_ASK, NOT = PERMISSION_DENY };

struct attack {
	const char *command;
	int expected;
};
void stage_furnish(struct stage *s);
void check_attacks(const char *mode, const char *rules, const struct attack *list, size_t count);
#define ATTACKS(mode, rules, list) check_attacks(mode, rules, list, COUNT_OF(list))
