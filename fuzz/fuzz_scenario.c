/* SPDX-License-Identifier: MIT
 * fuzz_scenario.c - a scenario file and a request body, split at the first NUL: the file is parsed; if it is one, it is asked with
 * the body (and with a good one) and plays the answer to its end. */
#include "core/scenario/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT_STEPS = 2000 };

static void play(struct engine *e, struct str body)
{
	struct engine_request ask = { .path = STR("/v1/messages"), .body = body, .now_ms = 1000 };
	struct reply *r = engine_ask(e, &ask);

	reply_begun(r);
	for (int i = 0; i < LIMIT_STEPS && reply_next(r).kind == REPLY_BYTES; i++)
		;
	reply_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct str text = str_cut(&rest, '\0');
	struct scenario *s = NULL;
	struct err err;

	if (scenario_parse("fuzz", text, &s, &err) < 0)
		return 0;
	struct engine *e = engine_new(s, NULL);
	AUTO_BUF struct buf stats = { 0 };
	play(e, rest.p ? rest : STR(""));
	play(e, STR("{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":"
		    "\"x\"}]}"));
	engine_stats(e, &stats);
	engine_free(e);
	scenario_free(s);
	return 0;
}
