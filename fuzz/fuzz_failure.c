/* SPDX-License-Identifier: MIT
 * fuzz_failure.c - any bytes as the body of a refusal: the first byte chooses the status. What is left without the parts of the request
 * is JSON if the body was, and has no more of them. */
#include "core/wire/failure.h"
#include "lib/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static bool is_json(struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	return json_parse(&reader, text.p, text.n, &root, NULL) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = { 400, 403, 413, 422, 429, 500 };
	AUTO_BUF struct buf body = { 0 };
	AUTO_BUF struct buf again = { 0 };
	struct failure f = { .retry_after_ms = -1 };

	if (!size)
		return 0;
	buf_add(&body, data + 1, size - 1);
	bool was_json = is_json(buf_str(&body));
	failure_drop_echo(&body);
	must(!was_json || is_json(buf_str(&body)));
	buf_append(&again, buf_str(&body));
	failure_drop_echo(&again);
	must(str_eq(buf_str(&body), buf_str(&again)));
	failure_from_body(&f, statuses[data[0] % COUNT_OF(statuses)], buf_str(&body), "");
	must(f.kind == FAIL_STATUS && f.retry_after_ms >= -1 && f.window >= 0 && strlen(f.text) < sizeof f.text);
	must(failure_name(&f)[0] && (!f.window || f.too_long));
	return 0;
}
