/* SPDX-License-Identifier: MIT
 * head_json.c - writes heads and reads them back. */
#include "core/model/head_json.h"
#include "core/message/message.h"
#include "lib/json/json_write.h"

enum { LEAST_THINKING = 1024 }; /* tokens, as the API wants */

/* The list of messages stays open: the body closes it. */
void head_write(struct buf *out, const struct head_spec *spec)
{
	const char *thinking = spec->thinking ? spec->thinking : "adaptive";
	int64_t tokens;

	buf_addstr(out, "{\"model\":");
	json_add_quoted(out, str_from(spec->model));
	buf_addf(out, ",\"max_tokens\":%lld,\"stream\":true", (long long)spec->max_tokens);
	if (spec->effort || spec->task_budget) {
		buf_addstr(out, ",\"output_config\":{");
		if (spec->effort) {
			buf_addstr(out, "\"effort\":");
			json_add_quoted(out, str_from(spec->effort));
		}
		if (spec->task_budget)
			buf_addf(out, "%s\"task_budget\":{\"type\":\"tokens\",\"total\":%lld}", spec->effort ? "," : "",
				 (long long)spec->task_budget);
		buf_addch(out, '}');
	}
	if (spec->thinking || spec->display) {
		bool has_budget = str_to_i64(str_from(thinking), &tokens);
		buf_addstr(out, ",\"thinking\":{\"type\":");
		json_add_quoted(out, has_budget ? STR("enabled") : str_from(thinking));
		if (has_budget)
			buf_addf(out, ",\"budget_tokens\":%lld",
				 (long long)MAX(LEAST_THINKING, MIN(tokens, spec->max_tokens - 1)));
		if (spec->display && strcmp(thinking, "disabled") != 0) {
			buf_addstr(out, ",\"display\":");
			json_add_quoted(out, str_from(spec->display));
		}
		buf_addch(out, '}');
	}
	for (size_t i = 0; spec->tools && spec->tools[i]; i++) {
		buf_addstr(out, i ? "," : ",\"tools\":[");
		buf_addstr(out, spec->tools[i]);
	}
	if (spec->tools && spec->tools[0])
		buf_addch(out, ']');
	if (spec->system.n) {
		buf_addstr(out, ",\"system\":[{\"type\":\"text\",\"text\":");
		json_add_quoted(out, spec->system);
		buf_addstr(out, spec->marks == MARKS_NONE ? "}]"
				: spec->marks == MARKS_HOUR
					? ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}]"
					: ",\"cache_control\":{\"type\":\"ephemeral\"}}]");
	}
	buf_addstr(out, ",\"messages\":[");
}

/* It stands in front of the tools, which are not read for it. */
const char *head_effort(struct arena *a, struct str bytes)
{
	static const char mark[] = ",\"stream\":true,\"output_config\":{\"effort\":\"";
	const char *at = memmem(bytes.p, bytes.n, mark, sizeof mark - 1);
	struct str rest = at ? str_tail(bytes, (size_t)(at - bytes.p) + sizeof mark - 1) : STR("");

	return at ? arena_str(a, str_cut(&rest, '"')).p : NULL;
}

struct head_texts head_read(struct arena *a, struct str bytes)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = head_parse(&reader, a, bytes);

	return (struct head_texts){ .system = json_str(json_get(json_first(json_get(root, "system")), "text"), a),
				    .effort = head_effort(a, bytes) };
}
