/* SPDX-License-Identifier: MIT
 * sigv4_lines.c - signs requests: one JSON object a line in, one value of the Authorization header a line out. For sigv4.mjs. */
#include <stdio.h>
#include "core/credential/sigv4.h"
#include "lib/json/json.h"

int main(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	setvbuf(stdout, NULL, _IOLBF, 0); /* the peer waits for each answer */
	while ((n = getline(&line, &cap, stdin)) > 0) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		if (json_parse(&reader, line, (size_t)n, &root, NULL) < 0)
			return 1;
		const struct json *list = json_get(root, "headers");
		const char **headers = arena_calloc(&a, (list->count + 1) * sizeof *headers);
		size_t count = 0;
		for (const struct json *v = json_first(list); v; v = json_next(list, v))
			headers[count++] = json_cstr(v, &a);
		struct sigv4_request request = { .method = json_cstr(json_get(root, "method"), &a),
						 .path = json_cstr(json_get(root, "path"), &a),
						 .query = json_cstr(json_get(root, "query"), &a),
						 .headers = headers,
						 .body_hash = json_str(json_get(root, "hash"), &a),
						 .key_id = json_cstr(json_get(root, "key"), &a),
						 .secret = json_cstr(json_get(root, "secret"), &a),
						 .region = json_cstr(json_get(root, "region"), &a),
						 .service = json_cstr(json_get(root, "service"), &a),
						 .time = json_cstr(json_get(root, "time"), &a) };
		puts(sigv4_sign(&a, &request));
	}
	free(line);
	return 0;
}
