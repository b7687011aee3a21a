/* SPDX-License-Identifier: MIT
 * output.c - reads the output of a hook: its exit, and its stdout as JSON or as plain text; or the answer of a model.
 *
 *     exit 0        stdout counts
 *     exit 2        blocks, with the reason of a JSON that blocks, else with stderr
 *     other exits   an error, unless stdout is a JSON object, which then counts alone
 *
 * Stdout is JSON if its first character is '{'. JSON that cannot be read is plain text; JSON that can, but says
 * something that is not in the protocol, is an error and nothing of it counts. Of a guard that exits with 0 both are an
 * answer that is not known (`unread`). */
#include "guard/hook/output.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { DEPTH_LIMIT = 128, NOTE_BYTES = 300, BEL = 0x07, ESC = 0x1b };
enum shape { SHAPE_PLAIN, SHAPE_OBJECT, SHAPE_BAD };

const char *hook_result_name(enum hook_result result)
{
	static const char *const names[] = { "success", "error", "cancelled" };

	return names[result];
}

struct str hook_repaired(struct arena *arena, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	if (utf8_valid(text))
		return text;
	utf8_add_repaired(&out, text);
	return arena_str(arena, buf_str(&out));
}

void hook_reply_block(struct hook_reply *reply, enum hook_event event, struct str reason)
{
	reply->block = true;
	reply->reason = reason;
	if (hook_events[event].fields & (1u << HOOK_PERMISSION_DECISION)) {
		reply->permission = HOOK_PERMISSION_DENY;
		reply->permission_reason = reason;
	}
}

/* Cuts one OSC off: ESC ] NUMBER ; TEXT and BEL or ESC \ at its end. */
static bool cut_osc(struct str *rest)
{
	static const unsigned allowed[] = { 0, 1, 2, 9, 99, 777 };
	unsigned number = 0;
	size_t i = 2;
	bool known = false;

	if (rest->n < 3 || rest->p[1] != ']')
		return false;
	for (; i < rest->n && rest->p[i] >= '0' && rest->p[i] <= '9' && number < 1000; i++)
		number = number * 10 + (unsigned)(rest->p[i] - '0');
	for (size_t k = 0; k < COUNT_OF(allowed); k++)
		known = known || (i > 2 && number == allowed[k]);
	while (i < rest->n && (unsigned char)rest->p[i] >= 0x20 && rest->p[i] != 0x7f)
		i++;
	if (!known || i == rest->n)
		return false;
	if (rest->p[i] == ESC && (++i == rest->n || rest->p[i] != '\\'))
		return false;
	if (rest->p[i] != BEL && rest->p[i] != '\\')
		return false;
	*rest = (struct str){ rest->p + i + 1, rest->n - i - 1 };
	return true;
}

bool hook_sequence_is_harmless(struct str s)
{
	while (s.n) {
		if (s.p[0] == BEL)
			s = (struct str){ s.p + 1, s.n - 1 };
		else if (s.p[0] != ESC || !cut_osc(&s))
			return false;
	}
	return true;
}

/* How many bytes the escape sequence at s takes; a lone ESC takes one. */
static size_t escape_length(struct str s)
{
	size_t i = 2;

	if (s.n < 2)
		return s.n;
	if (s.p[1] == ']') {
		while (i < s.n && s.p[i] != BEL && s.p[i] != ESC)
			i++;
		return MIN(s.n, i + (i < s.n && s.p[i] == ESC ? 2 : 1));
	}
	if (s.p[1] != '[')
		return 2;
	while (i < s.n && (unsigned char)s.p[i] >= 0x20 && (unsigned char)s.p[i] < 0x40)
		i++;
	return MIN(s.n, i + 1);
}

/* The last line that has something in it, without escape sequences */
static struct str last_line(struct arena *arena, struct str text)
{
	char *out = arena_alloc(arena, text.n + 1);
	struct str last = STR("");

	while (text.n && !last.n) {
		const char *end = memrchr(text.p, '\n', text.n);
		size_t line = end ? (size_t)(end - text.p) + 1 : 0;
		size_t n = 0;
		for (size_t i = line; i < text.n;) {
			if (text.p[i] == ESC)
				i += escape_length((struct str){ text.p + i, text.n - i });
			else
				out[n++] = text.p[i++];
		}
		out[n] = '\0';
		last = str_trim((struct str){ out, n });
		text.n = line ? line - 1 : 0;
	}
	return last;
}

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

static const struct json *get_given(const struct json *object, const char *name)
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

/* PermissionRequest: {"behavior": "allow", "updatedInput"?, ...} or {"behavior": "deny", "message"?, "interrupt"?} */
static int read_request_decision(struct arena *arena, const struct json *decision, struct hook_reply *ret,
				 struct err *err)
{
	const struct json *behavior = get_given(decision, "behavior");
	const struct json *input = get_given(decision, "updatedInput");

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
	ret->permission_reason = json_str(get_given(decision, "message"), arena);
	return 0;
}

static int read_specific(struct arena *arena, const struct json *specific, enum hook_event event,
			 struct hook_reply *ret, struct err *err)
{
	static const char *const decisions[] = {
		[HOOK_PERMISSION_ALLOW] = "allow",
		[HOOK_PERMISSION_ASK] = "ask",
		[HOOK_PERMISSION_DEFER] = "defer",
		[HOOK_PERMISSION_DENY] = "deny",
	};
	const struct hook_event_info *info = &hook_events[event];
	const struct json *name = get_given(specific, "hookEventName");
	const struct json *fields[HOOK_FIELD_COUNT] = { 0 };

	/* A Stop hook of a subagent gets SubagentStop and may answer with the name that its author wrote. */
	if (name && !json_str_is(name, info->name) &&
	    !(event == HOOK_SUBAGENT_STOP && json_str_is(name, hook_events[HOOK_STOP].name)))
		return err_set(err, ERR_PARSE, "\"hookEventName\" is not %s", info->name);
	for (enum hook_field i = 0; i < HOOK_FIELD_COUNT; i++) {
		const struct hook_field_info *field = &hook_fields[i];
		fields[i] = info->fields & BIT(i) ? get_given(specific, field->name) : NULL;
		int rc = check_type(fields[i], field->name, field->types, err);
		if (rc < 0)
			return rc;
		if (fields[i])
			ret->fields[i] = json_raw(fields[i]);
	}
	if (fields[HOOK_PERMISSION_DECISION]) {
		for (enum hook_permission i = HOOK_PERMISSION_ALLOW; i <= HOOK_PERMISSION_DENY; i++)
			if (json_str_is(fields[HOOK_PERMISSION_DECISION], decisions[i]))
				ret->permission = i;
		if (!ret->permission)
			return err_set(err, ERR_PARSE, "\"permissionDecision\" must be allow, deny, ask or defer");
		ret->permission_reason = json_str(fields[HOOK_PERMISSION_REASON], arena);
	}
	const struct json *action = fields[HOOK_ACTION];
	if (action && !json_str_is(action, "accept") && !json_str_is(action, "decline") &&
	    !json_str_is(action, "cancel"))
		return err_set(err, ERR_PARSE, "\"action\" must be accept, decline or cancel");
	ret->context = json_str(fields[HOOK_ADDITIONAL_CONTEXT], arena);
	if (fields[HOOK_DECISION])
		return read_request_decision(arena, fields[HOOK_DECISION], ret, err);
	return 0;
}

static int read_object(struct arena *arena, const struct json *root, enum hook_event event, struct hook_reply *ret,
		       struct err *err)
{
	const struct hook_event_info *info = &hook_events[event];

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		int rc = check_type(get_given(root, members[i].name), members[i].name, members[i].types, err);
		if (rc < 0)
			return rc;
	}
	int rc = read_specific(arena, get_given(root, "hookSpecificOutput"), event, ret, err);
	if (rc < 0)
		return rc;
	/* "decision" is the older form of permissionDecision. */
	const struct json *decision = get_given(root, "decision");
	bool block = json_str_is(decision, "block");
	if (decision && !block && !json_str_is(decision, "approve"))
		return err_set(err, ERR_PARSE, "\"decision\" must be block or approve");
	ret->block = block && (info->flags & HOOK_CAN_BLOCK);
	ret->reason = json_str(get_given(root, "reason"), arena);
	if (decision && (block || !ret->permission) && (info->fields & BIT(HOOK_PERMISSION_DECISION))) {
		ret->permission = block ? HOOK_PERMISSION_DENY : HOOK_PERMISSION_ALLOW;
		ret->permission_reason = ret->reason;
	}
	ret->stop = !(info->flags & HOOK_STOP_IGNORED) && json_is(get_given(root, "continue"), JSON_FALSE);
	ret->stop_reason = json_str(get_given(root, "stopReason"), arena);
	ret->system_message = json_str(get_given(root, "systemMessage"), arena);
	struct str sequence = json_str(get_given(root, "terminalSequence"), arena);
	if (hook_sequence_is_harmless(sequence))
		ret->terminal_sequence = sequence;
	return 0;
}

static enum shape read_json(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = HOOK_OUT_LIMIT, .depth = DEPTH_LIMIT } };
	bool marked = str_starts(raw->out, STR("\xef\xbb\xbf"));
	struct str text = str_trim(str_tail(raw->out, marked ? 3 : 0));

	if (!text.n || text.p[0] != '{')
		return SHAPE_PLAIN;
	if (raw->out_cut) {
		err_set(err, ERR_LIMIT, "it printed JSON of more than %d bytes", HOOK_OUT_LIMIT);
		return SHAPE_BAD;
	}
	const struct json *root = json_read(&reader, text);
	if (!root && !(hook_events[raw->event].flags & HOOK_GUARDS && hook_events[raw->event].flags & HOOK_ABOUT_TOOL))
		return SHAPE_PLAIN;
	if (!root) {
		err_set(err, ERR_PARSE, "it printed JSON that cannot be read");
		return SHAPE_BAD;
	}
	if (read_object(arena, root, raw->event, ret, err) == 0)
		return SHAPE_OBJECT;
	*ret = (struct hook_reply){ 0 };
	return SHAPE_BAD;
}

static void reply_set_error(struct hook_reply *ret, struct arena *arena, const char *what, struct str detail)
{
	struct str rest = str_trim(hook_repaired(arena, detail));
	struct str line = utf8_cut(str_cut(&rest, '\n'), NOTE_BYTES);

	ret->result = HOOK_ERROR;
	ret->note = str_from(arena_printf(arena, "%s%s" STR_FMT, what, line.n ? ": " : "", STR_ARG(line)));
}

static void read_failed_exit(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	unsigned flags = hook_events[raw->event].flags;
	struct str text = str_trim(hook_repaired(arena, raw->err));
	char what[40];

	snprintf(what, sizeof what, "exit %d", raw->exit_code);
	if (raw->exit_code == 2 && (flags & HOOK_EXIT2_TO_USER) && text.n) {
		ret->result = HOOK_ERROR;
		ret->system_message = text;
		return;
	}
	reply_set_error(ret, arena, what, raw->err);
	if (flags & HOOK_NONZERO_FAILS) {
		ret->block = true;
		ret->reason = text.n ? text : ret->note;
	}
}

static void read_plain(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	unsigned flags = hook_events[raw->event].flags;
	struct str text = str_trim(hook_repaired(arena, raw->out));

	if (raw->json_only && text.n) {
		reply_set_error(ret, arena, "the answer is not a JSON object", text);
	} else if (flags & HOOK_PRINTS_PATH) {
		AUTO_BUF struct buf quoted = { 0 };
		struct str line = last_line(arena, text);
		if (line.n)
			json_add_quoted(&quoted, line);
		ret->fields[HOOK_WORKTREE_PATH] = arena_str(arena, buf_str(&quoted));
	} else if (flags & HOOK_PLAIN_CONTEXT) {
		ret->context = text;
	}
}

void hook_output_read(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret)
{
	struct err err = { 0 };
	unsigned flags = hook_events[raw->event].flags;

	*ret = (struct hook_reply){ 0 };
	enum shape shape = read_json(arena, raw, ret, &err);
	if (raw->exit_code == 2 && (flags & HOOK_CAN_BLOCK)) {
		bool json_denies = ret->permission == HOOK_PERMISSION_DENY;
		struct str reason = json_denies && !ret->block ? ret->permission_reason : ret->reason;
		if (!(ret->block || json_denies) || !reason.n)
			reason = str_trim(hook_repaired(arena, raw->err));
		ret->result = HOOK_ERROR;
		hook_reply_block(ret, raw->event, reason.n ? reason : STR("a hook blocked this and gave no reason"));
	} else if (shape == SHAPE_BAD) {
		reply_set_error(ret, arena, err.text, STR(""));
		ret->unread = raw->exit_code == 0;
	} else if (raw->exit_code != 0 && (shape == SHAPE_PLAIN || (flags & HOOK_NONZERO_FAILS))) {
		read_failed_exit(arena, raw, ret);
	} else if (shape == SHAPE_PLAIN) {
		read_plain(arena, raw, ret);
	}
	if ((flags & HOOK_PRINTS_PATH) && !ret->block && !ret->fields[HOOK_WORKTREE_PATH].n) {
		if (!ret->note.n)
			reply_set_error(ret, arena, "it gave no path", STR(""));
		ret->block = true;
		ret->reason = ret->note;
	}
	if (ret->block && !ret->reason.n)
		ret->reason = STR("a hook blocked this and gave no reason");
}

void hook_answer_read(struct arena *arena, enum hook_event event, bool continue_on_block, struct str answer,
		      struct hook_reply *ret)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = HOOK_OUT_LIMIT, .depth = 64 } };
	enum hook_refusal refusal = hook_events[event].refusal;

	/* Models like to put text or a fence around their JSON. */
	const char *from = answer.n ? memchr(answer.p, '{', answer.n) : NULL;
	const char *to = answer.n ? memrchr(answer.p, '}', answer.n) : NULL;
	*ret = (struct hook_reply){ 0 };
	const struct json *root = from && to > from ? json_read(&reader, str_between(from, to + 1)) : NULL;
	const struct json *ok = json_get(root, "ok");
	if (!json_is(ok, JSON_TRUE) && !json_is(ok, JSON_FALSE)) {
		ret->result = HOOK_ERROR;
		ret->note = STR("the model did not answer with {\"ok\": true or false}");
		ret->unread = true;
		return;
	}
	if (json_bool(ok) || refusal == HOOK_REFUSAL_NONE)
		return;
	if (refusal == HOOK_REFUSAL_CONTINUES && json_bool(json_get(root, "impossible")))
		return;
	struct str reason = json_str(json_get(root, "reason"), arena);
	hook_reply_block(ret, event, reason.n ? reason : STR("a hook refused this and gave no reason"));
	ret->stop = refusal == HOOK_REFUSAL_ENDS || (refusal == HOOK_REFUSAL_ENDS_OR_CONTINUES && !continue_on_block);
	if (ret->stop)
		ret->stop_reason = ret->reason;
}
