/* SPDX-License-Identifier: MIT
 * bench_json_jansson.c - jansson's part of bench_json.c, apart because its names collide with ours. */
#include <jansson.h>
#include <string.h>

size_t run_jansson(const char *text, size_t n);

static size_t visit_jansson(json_t *v)
{
	size_t sum = json_string_length(v), i;
	const char *key;
	json_t *child;

	if (json_is_array(v)) {
		json_array_foreach(v, i, child) sum += visit_jansson(child);
	}
	json_object_foreach(v, key, child) sum += strlen(key) + visit_jansson(child);
	return sum;
}

size_t run_jansson(const char *text, size_t n)
{
	json_t *root = json_loadb(text, n, JSON_DECODE_ANY, NULL);
	size_t sum = visit_jansson(root);

	json_decref(root);
	return sum;
}
