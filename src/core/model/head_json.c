/* SPDX-License-Identifier: MIT
 * head_json.c - writes heads and reads them back. */
#include "core/model/head_json.h"
#include "lib/json/json_write.h"
#include "core/model/provider.h"

enum { LEAST_THINKING = 1024 }; /* tokens, as the API wants */

void head_write(struct buf *out, const struct head_spec *spec)
{
	struct json_out w = json_out(out);
	const char *model;
	size_t count = 0;

	(void)provider_of(spec->model, &model);
	while (spec->tools && spec->tools[count])
		count++;
	json_open(&w, '{');
	json_kcstr(&w, "model", model);
	json_ki64(&w, "max_tokens", spec->max_tokens);
	json_kbool(&w, "stream", true);
	if (spec->effort || spec->task_budget) {
		json_key(&w, "output_config");
		json_open(&w, '{');
		if (spec->effort)
			json_kcstr(&w, "effort", spec->effort);
		if (spec->task_budget) {
			json_key(&w, "task_budget");
			json_open(&w, '{');
			json_kcstr(&w, "type", "tokens");
			json_ki64(&w, "total", spec->task_budget);
			json_close(&w);
		}
		json_close(&w);
	}
	if (spec->thinking || spec->display) {
		int64_t tokens;
		json_key(&w, "thinking");
		json_open(&w, '{');
		if (spec->thinking && str_to_i64(str_from(spec->thinking), &tokens)) {
			json_kcstr(&w, "type", "enabled");
			json_ki64(&w, "budget_tokens", MAX(LEAST_THINKING, MIN(tokens, spec->max_tokens - 1)));
		} else {
			json_kcstr(&w, "type", spec->thinking ? spec->thinking : "adaptive");
		}
		if (spec->display && !(spec->thinking && !strcmp(spec->thinking, "disabled")))
			json_kcstr(&w, "display", spec->display);
		json_close(&w);
	}
	if (count) {
		json_key(&w, "tools");
		json_open(&w, '[');
		for (size_t i = 0; i < count; i++)
			json_put_raw(&w, str_from(spec->tools[i]));
		json_close(&w);
	}
	if (spec->system.n) {
		json_key(&w, "system");
		json_open(&w, '[');
		json_open(&w, '{');
		json_kcstr(&w, "type", "text");
		json_kstr(&w, "text", spec->system);
		json_kraw(&w, "cache_control", STR("{\"type\":\"ephemeral\"}"));
		json_close(&w);
		json_close(&w);
	}
	json_key(&w, "messages");
	buf_addch(out, '['); /* stays open: the body closes it */
}

const struct json *head_parse(struct json_reader *reader, struct arena *a, struct str bytes)
{
	struct str whole = { arena_printf(a, STR_FMT "]}", STR_ARG(bytes)), bytes.n + 2 };
	const struct json *root;

	return json_parse(reader, whole.p, whole.n, &root, NULL) < 0 ? NULL : root;
}

struct head_texts head_read(struct arena *a, struct str bytes)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = head_parse(&reader, a, bytes);
	const struct json *effort = json_get(json_get(root, "output_config"), "effort");

	return (struct head_texts){ .system = json_str(json_get(json_first(json_get(root, "system")), "text"), a),
				    .effort = effort ? json_cstr(effort, a) : NULL };
}
