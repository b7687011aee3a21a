/* SPDX-License-Identifier: MIT
 * stage.c - a directory to ask about, and calls that ask. */
#include "stage.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "unit.h"

static const struct tool tools[] = {
	{ .name = "Agent", .definition = "{}", .flags = TOOL_NO_ASK },
	{ .name = "AskUserQuestion", .definition = "{}" },
	{ .name = "Bash", .definition = "{}", .flags = TOOL_CONFINED },
	{ .name = "Edit", .definition = "{}", .flags = TOOL_EDITS },
	{ .name = "Glob", .definition = "{}", .flags = TOOL_READ_ONLY },
	{ .name = "Grep", .definition = "{}", .flags = TOOL_READ_ONLY },
	{ .name = "Monitor", .definition = "{}" },
	{ .name = "NotebookEdit", .definition = "{}", .flags = TOOL_EDITS },
	{ .name = "Read", .definition = "{}", .flags = TOOL_READ_ONLY },
	{ .name = "Skill", .definition = "{}" },
	{ .name = "TodoWrite", .definition = "{}", .flags = TOOL_NO_ASK },
	{ .name = "WebFetch", .definition = "{}" },
	{ .name = "WebSearch", .definition = "{}" },
	{ .name = "Write", .definition = "{}", .flags = TOOL_EDITS },
	{ .name = "mcp__git__log", .definition = "{}", .flags = TOOL_READ_ONLY },
	{ .name = "mcp__git__push", .definition = "{}" },
	{ .name = "mcp__gitlab__push", .definition = "{}" },
};

static void put_link(struct stage *s, const char *name, const char *target)
{
	CHECK_INT(symlink(target, arena_printf(&s->arena, "%s/%s", s->dir, name)), 0);
}

void stage_open(struct stage *s)
{
	static const char *const files[] = { "f",           "w.txt",      ".env",       "a/.env",   "secrets/k",
					     "a/secrets/k", "src/app.ts", "vendor/v.c", "docs/d.md" };

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	for (size_t i = 0; i < COUNT_OF(files); i++)
		file_put(path_join(&s->arena, s->dir, files[i]), STR("x\n"));
	put_link(s, "link", "/etc/hostname");
	put_link(s, "inside", "src");
	put_link(s, "loop", "loop");
	put_link(s, "dangling", "/etc/cadre-not-there");
	s->dirs[0] = s->dir;
	s->env = (struct tool_env){ .cwd = s->dir, .root = s->dir, .dirs = s->dirs };
}

void stage_close(struct stage *s)
{
	folder_remove(s->dir);
	arena_release(&s->arena);
}

static const struct tool *find_tool(struct stage *s, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(tools); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	struct tool *other = arena_calloc(&s->arena, sizeof *other);
	other->name = name;
	other->definition = "{}";
	return other;
}

/* The nodes of the input live in the arena: a stage makes many calls and frees them at once. */
static const struct json *parse(struct stage *s, struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	struct err err = { 0 };

	text = arena_str(&s->arena, text);
	if (json_parse(&reader, text.p, text.n, &root, &err) < 0)
		fail_msg("%s: %s", text.p, err.text);
	return (const struct json *)(const void *)arena_dup(&s->arena, reader.nodes,
							    reader.used * sizeof *reader.nodes);
}

static struct tool_use *make_call(struct stage *s, const char *tool, struct str input)
{
	struct tool_use *call = arena_calloc(&s->arena, sizeof *call);

	call->tool = find_tool(s, tool);
	call->flags = call->tool->flags;
	call->env = &s->env;
	call->input = parse(s, input);
	return call;
}

struct tool_use *stage_call(struct stage *s, const char *tool, const char *input)
{
	AUTO_BUF struct buf text = { 0 };

	for (; *input; input++) {
		if (*input == '@')
			buf_addstr(&text, s->dir);
		else
			buf_addch(&text, *input == '\'' ? '"' : *input);
	}
	return make_call(s, tool, buf_str(&text));
}

struct tool_use *stage_bash(struct stage *s, const char *command)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text, "{\"command\":");
	json_add_quoted(&text, str_from(command));
	buf_addch(&text, '}');
	return make_call(s, "Bash", buf_str(&text));
}

void stage_allow_tool(struct permission *p, struct str name)
{
	static const struct rule_origin session = { .layer = "session" };

	(void)permission_add_rule(p, RULE_ALLOW, name, &session, NULL, NULL, NULL);
}

void stage_rules(struct stage *s, struct permission *p, const char *rules)
{
	struct rule_origin origin = { .layer = "flagSettings", .file = "inline", .base = "/nowhere" };
	struct err err = { 0 };

	for (struct str rest = str_from(rules); rest.p && rest.n;) {
		AUTO_BUF struct buf text = { 0 };
		const char *joined = memmem(rest.p, rest.n, " ;; ", 4);
		const char *feed = memchr(rest.p, '\n', rest.n);
		struct str line = rest;
		if (joined && (!feed || joined < feed)) {
			line.n = (size_t)(joined - rest.p);
			rest = (struct str){ joined + 4, rest.n - line.n - 4 };
		} else {
			line = str_cut(&rest, '\n');
		}
		line = str_trim(line);
		struct str list = str_cut(&line, ' ');
		enum rule_list which = str_is(list, "deny") ? RULE_DENY : str_is(list, "ask") ? RULE_ASK : RULE_ALLOW;
		if (which == RULE_ALLOW)
			CHECK(str_is(list, "allow"));
		for (size_t i = 0; i < line.n; i++) {
			if (line.p[i] == '@')
				buf_addstr(&text, s->dir);
			else
				buf_addch(&text, line.p[i]);
		}
		if (permission_add_rule(p, which, buf_str(&text), &origin, NULL, NULL, &err) < 0)
			fail_msg("%s", err.text);
	}
}

enum permission_decision stage_decide(const struct permission *p, const struct tool_use *call)
{
	struct permission_verdict v = { 0 };

	permission_explain(p, *call, PERMISSION_HINT_NONE, &v);
	permission_verdict_release(&v);
	return v.decision;
}

const char *stage_reason(struct stage *s, const struct permission *p, const struct tool_use *call)
{
	struct permission_verdict v = { 0 };

	permission_explain(p, *call, PERMISSION_HINT_NONE, &v);
	const char *text = arena_strdup(&s->arena, buf_str(&v.reason).p);
	permission_verdict_release(&v);
	return text;
}

/* A project with links that lead out, a template with a file that is protected, a directory that git takes for a repository. */
void stage_furnish(struct stage *s)
{
	static const char *const files[] = { "tpl/.mcp.json",  "tpl/x",     "tree/a/b",         "conf/secret/k",
					     "conf/open",      "bare/HEAD", "bare/config",      "bare/refs/x",
					     "bare/objects/x", "sub/in",    "nested/.git/HEAD", "nested/.git/config" };
	static const char *const links[][2] = { { "link.txt", "/etc/passwd" },
						{ "linkdir", "/etc" },
						{ "inner.txt", "f" } };

	for (size_t i = 0; i < COUNT_OF(files); i++)
		file_put(path_join(&s->arena, s->dir, files[i]), STR("x\n"));
	for (size_t i = 0; i < COUNT_OF(links); i++)
		CHECK_INT(symlink(links[i][1], path_join(&s->arena, s->dir, links[i][0])), 0);
}

void check_attacks(const char *mode, const char *rules, const struct attack *list, size_t count)
{
	STAGE(stage);
	unsigned wrong = 0;

	stage_furnish(&stage);
	for (size_t i = 0; i < count; i++) {
		struct permission p = { .can_ask = true };
		struct permission_verdict v = { 0 };
		CHECK(permission_mode_parse(str_from(mode), &p.mode));
		stage_rules(&stage, &p, rules);
		permission_explain(&p, *stage_bash(&stage, list[i].command), PERMISSION_HINT_NONE, &v);
		if ((int)v.decision != list[i].expected) {
			print_message("# %s: %s: %s: %d by %s: %s\n", mode, rules, list[i].command, v.decision,
				      permission_step_name(v.step), buf_str(&v.reason).p);
			wrong++;
		}
		permission_verdict_release(&v);
		permission_release(&p);
	}
	CHECK_INT(wrong, 0);
}
