/* SPDX-License-Identifier: MIT
 * output.c - reads what a hook said: its exit, and its stdout as JSON or as plain text.
 *
 *     exit 0        stdout counts
 *     exit 2        blocks, with the reason of a JSON that blocks, else with stderr
 *     other exits   an error, unless stdout is a JSON object, which then counts alone
 *
 * Stdout is JSON if its first character is '{'. JSON that cannot be read is plain text; JSON that can, but says
 * something that is not in the protocol, is an error and nothing of it counts. */
#include "guard/hook/output.h"
#include "lib/base/utf8.h"
#include "guard/hook/output_int.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { DEPTH_LIMIT = 128, NOTE_BYTES = 300 };
enum shape { SHAPE_PLAIN, SHAPE_OBJECT, SHAPE_BAD };

const char *hook_result_name(enum hook_result result)
{
	static const char *const names[] = { "success", "error", "cancelled" };

	return names[result];
}

/* ---- JSON ---- */

#define BIT(n) (1u << (n))
enum { BOOL = BIT(JSON_TRUE) | BIT(JSON_FALSE), TEXT = BIT(JSON_STRING) };

static const struct {
	const char *name;
	unsigned types;
} members[] = {
	{ "continue", BOOL },         { "stopReason", TEXT }, { "systemMessage", TEXT },
	{ "suppressOutput", BOOL },   { "decision", TEXT },   { "reason", TEXT },
	{ "terminalSequence", TEXT }, { "async", BOOL },      { "hookSpecificOutput", BIT(JSON_OBJECT) },
};

static const struct json *given(const struct json *object, const char *name)
{
	const struct json *v = json_get(object, name);

	return json_is(v, JSON_NULL) ? NULL : v;
}

static int check_type(const struct json *v, const char *name, unsigned types, struct err *err)
{
	if (v && !(types & BIT(v->type)))
		return err_set(err, ERR_PARSE, "\"%s\" has a value of another type than expected", name);
	return 0;
}

static int check_members(const struct json *root, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		int rc = check_type(given(root, members[i].name), members[i].name, members[i].types, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A Stop hook of a subagent hears SubagentStop and may answer with the name that its author wrote. */
static bool is_own_name(enum hook_event event, const struct json *name)
{
	return !name || json_str_is(name, hook_event_info(event)->name) ||
	       (event == HOOK_SUBAGENT_STOP && json_str_is(name, hook_event_info(HOOK_STOP)->name));
}

static int take_fields(const struct json *specific, enum hook_event event, struct hook_reply *ret, struct err *err)
{
	const struct hook_event_info *info = hook_event_info(event);

	if (!is_own_name(event, given(specific, "hookEventName")))
		return err_set(err, ERR_PARSE, "\"hookEventName\" is not %s", info->name);
	for (enum hook_field i = 0; i < HOOK_FIELD_COUNT; i++) {
		const struct json *v = info->fields & BIT(i) ? given(specific, hook_field_info(i)->name) : NULL;
		int rc = check_type(v, hook_field_info(i)->name, hook_field_info(i)->types, err);
		if (rc < 0)
			return rc;
		if (v)
			ret->fields[i] = json_raw(v);
	}
	return 0;
}

static int take_permission(struct arena *arena, const struct json *specific, struct hook_reply *ret, struct err *err)
{
	static const char *const words[] = {
		[HOOK_PERMISSION_ALLOW] = "allow",
		[HOOK_PERMISSION_ASK] = "ask",
		[HOOK_PERMISSION_DEFER] = "defer",
		[HOOK_PERMISSION_DENY] = "deny",
	};
	const struct json *word = given(specific, "permissionDecision");

	if (!word || !ret->fields[HOOK_PERMISSION_DECISION].p)
		return 0;
	for (enum hook_permission i = HOOK_PERMISSION_ALLOW; i <= HOOK_PERMISSION_DENY; i++)
		if (json_str_is(word, words[i]))
			ret->permission = i;
	if (!ret->permission)
		return err_set(err, ERR_PARSE, "\"permissionDecision\" must be allow, deny, ask or defer");
	ret->permission_reason = json_str(given(specific, "permissionDecisionReason"), arena);
	return 0;
}

/* PermissionRequest: {"behavior": "allow", "updatedInput"?, ...} or {"behavior": "deny", "message"?, "interrupt"?} */
static int take_request_decision(struct arena *arena, const struct json *specific, struct hook_reply *ret,
				 struct err *err)
{
	const struct json *decision = given(specific, "decision");
	const struct json *behavior = given(decision, "behavior");
	const struct json *input = given(decision, "updatedInput");

	if (!decision || !ret->fields[HOOK_DECISION].p)
		return 0;
	if (json_str_is(behavior, "allow"))
		ret->permission = HOOK_PERMISSION_ALLOW;
	else if (json_str_is(behavior, "deny"))
		ret->permission = HOOK_PERMISSION_DENY;
	else
		return err_set(err, ERR_PARSE, "\"behavior\" must be allow or deny");
	if (input && !json_is(input, JSON_OBJECT))
		return err_set(err, ERR_PARSE, "\"updatedInput\" must be an object");
	if (input)
		ret->fields[HOOK_UPDATED_INPUT] = json_raw(input);
	ret->permission_reason = json_str(given(decision, "message"), arena);
	ret->interrupt = json_bool(given(decision, "interrupt"));
	return 0;
}

static int take_action(const struct json *specific, const struct hook_reply *ret, struct err *err)
{
	const struct json *action = given(specific, "action");

	if (!ret->fields[HOOK_ACTION].p || json_str_is(action, "accept") || json_str_is(action, "decline") ||
	    json_str_is(action, "cancel"))
		return 0;
	return err_set(err, ERR_PARSE, "\"action\" must be accept, decline or cancel");
}

static int take_specific(struct arena *arena, const struct json *specific, enum hook_event event,
			 struct hook_reply *ret, struct err *err)
{
	int rc = take_fields(specific, event, ret, err);

	if (rc == 0)
		rc = take_permission(arena, specific, ret, err);
	if (rc == 0)
		rc = take_request_decision(arena, specific, ret, err);
	if (rc == 0)
		rc = take_action(specific, ret, err);
	if (rc == 0 && ret->fields[HOOK_ADDITIONAL_CONTEXT].p)
		ret->context = json_str(given(specific, "additionalContext"), arena);
	return rc;
}

/* "decision" is the older way to say what permissionDecision says. */
static int take_decision(struct arena *arena, const struct json *root, enum hook_event event, struct hook_reply *ret,
			 struct err *err)
{
	const struct hook_event_info *info = hook_event_info(event);
	const struct json *decision = given(root, "decision");
	bool block = json_str_is(decision, "block");

	if (decision && !block && !json_str_is(decision, "approve"))
		return err_set(err, ERR_PARSE, "\"decision\" must be block or approve");
	ret->block = block && (info->flags & HOOK_CAN_BLOCK);
	ret->reason = json_str(given(root, "reason"), arena);
	if (decision && (block || !ret->permission) && (info->fields & BIT(HOOK_PERMISSION_DECISION))) {
		ret->permission = block ? HOOK_PERMISSION_DENY : HOOK_PERMISSION_ALLOW;
		ret->permission_reason = ret->reason;
	}
	return 0;
}

static int take_object(struct arena *arena, const struct json *root, enum hook_event event, struct hook_reply *ret,
		       struct err *err)
{
	int rc = check_members(root, err);

	if (rc == 0)
		rc = take_specific(arena, given(root, "hookSpecificOutput"), event, ret, err);
	if (rc == 0)
		rc = take_decision(arena, root, event, ret, err);
	if (rc == 0) {
		bool stops = !(hook_event_info(event)->flags & HOOK_STOP_IGNORED);
		ret->stop = stops && json_is(given(root, "continue"), JSON_FALSE);
		ret->stop_reason = json_str(given(root, "stopReason"), arena);
		ret->system_message = json_str(given(root, "systemMessage"), arena);
		ret->suppress_output = json_bool(given(root, "suppressOutput"));
		ret->terminal_sequence = json_str(given(root, "terminalSequence"), arena);
		if (!hook_sequence_is_harmless(ret->terminal_sequence))
			ret->terminal_sequence = (struct str){ 0 };
	}
	return rc;
}

static enum shape read_json(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = HOOK_OUT_LIMIT, .depth = DEPTH_LIMIT } };
	struct str text = str_trim(raw->out);
	const struct json *root;

	if (!text.n || text.p[0] != '{')
		return SHAPE_PLAIN;
	if (raw->out_cut) {
		err_set(err, ERR_LIMIT, "it printed JSON of more than %d bytes", HOOK_OUT_LIMIT);
		return SHAPE_BAD;
	}
	if (json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return SHAPE_PLAIN;
	if (take_object(arena, root, raw->event, ret, err) == 0)
		return SHAPE_OBJECT;
	*ret = (struct hook_reply){ 0 };
	return SHAPE_BAD;
}

/* ---- exits ---- */

static struct str repaired(struct arena *arena, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	if (utf8_valid(text))
		return text;
	utf8_add_repaired(&out, text);
	return arena_str(arena, buf_str(&out));
}

static void set_error(struct arena *arena, struct hook_reply *ret, const char *what, struct str detail)
{
	struct str rest = str_trim(repaired(arena, detail));
	struct str line = utf8_cut(str_cut(&rest, '\n'), NOTE_BYTES);
	const char *colon = line.n ? ": " : "";

	ret->result = HOOK_ERROR;
	ret->note = str_from(arena_printf(arena, "%s%s" STR_FMT, what, colon, STR_ARG(line)));
}

static void block_by_exit(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	bool json_blocks = ret->block || ret->permission == HOOK_PERMISSION_DENY;
	struct str said = ret->permission == HOOK_PERMISSION_DENY && !ret->block ? ret->permission_reason : ret->reason;
	struct str text = json_blocks && said.n ? said : str_trim(repaired(arena, raw->err));

	ret->result = HOOK_ERROR;
	ret->block = true;
	ret->reason = text.n ? text : STR("a hook blocked this and gave no reason");
	if (hook_event_info(raw->event)->fields & BIT(HOOK_PERMISSION_DECISION)) {
		ret->permission = HOOK_PERMISSION_DENY;
		ret->permission_reason = ret->reason;
	}
}

static void take_failure(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	unsigned flags = hook_event_info(raw->event)->flags;
	struct str text = str_trim(repaired(arena, raw->err));
	char what[40];

	snprintf(what, sizeof what, "exit %d", raw->exit_code);
	if (raw->exit_code == 2 && (flags & HOOK_EXIT2_TO_USER) && text.n) {
		ret->result = HOOK_ERROR;
		ret->system_message = text;
		return;
	}
	set_error(arena, ret, what, raw->err);
	if (flags & HOOK_NONZERO_FAILS) {
		ret->block = true;
		ret->reason = text.n ? text : ret->note;
	}
}

static void take_path(struct arena *arena, struct str out, struct hook_reply *ret)
{
	AUTO_BUF struct buf quoted = { 0 };
	struct str line = hook_last_line(arena, out);

	if (!line.n)
		return;
	json_add_quoted(&quoted, line);
	ret->fields[HOOK_WORKTREE_PATH] = arena_str(arena, buf_str(&quoted));
}

static void take_plain(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	unsigned flags = hook_event_info(raw->event)->flags;
	struct str text = str_trim(repaired(arena, raw->out));

	if (raw->json_only && text.n)
		set_error(arena, ret, "the answer is no JSON object", text);
	else if (flags & HOOK_PRINTS_PATH)
		take_path(arena, text, ret);
	else if (flags & HOOK_PLAIN_CONTEXT)
		ret->context = text;
}

void hook_output_read(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	struct err err = { 0 };
	unsigned flags = hook_event_info(raw->event)->flags;

	*ret = (struct hook_reply){ 0 };
	enum shape shape = read_json(arena, raw, ret, &err);
	if (raw->exit_code == 2 && (flags & HOOK_CAN_BLOCK))
		block_by_exit(arena, raw, ret);
	else if (shape == SHAPE_BAD)
		set_error(arena, ret, err.text, STR(""));
	else if (raw->exit_code != 0 && (shape == SHAPE_PLAIN || (flags & HOOK_NONZERO_FAILS)))
		take_failure(arena, raw, ret);
	else if (shape == SHAPE_PLAIN)
		take_plain(arena, raw, ret);
	if ((flags & HOOK_PRINTS_PATH) && !ret->block && !ret->fields[HOOK_WORKTREE_PATH].n) {
		if (!ret->note.n)
			set_error(arena, ret, "it gave no path", STR(""));
		ret->block = true;
		ret->reason = ret->note;
	}
	if (ret->block && !ret->reason.n)
		ret->reason = STR("a hook blocked this and gave no reason");
}
