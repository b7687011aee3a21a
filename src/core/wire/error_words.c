/* SPDX-License-Identifier: MIT
 * error_words.c - the words of an error, out of the forms in which servers and gateways send it. */
#include "core/wire/error_words.h"

/* A message, or the JSON that stands in its place (Mistral) */
static struct str message_text(const struct json *v, struct arena *arena)
{
	return json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY) ? json_raw(v) : json_str(v, arena);
}

/* The answer that a router got from the server behind it (OpenRouter): JSON, in a text or not, or plain text */
static struct str add_upstream(struct str message, const struct json *metadata, struct arena *arena)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *raw = json_get(metadata, "raw"), *root = raw;
	struct str text = message_text(raw, arena), name = json_str(json_get(metadata, "provider_name"), arena);

	if (!text.n)
		return message;
	if (json_is(raw, JSON_STRING) && json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		root = NULL;
	struct str said = error_words_of(root, arena).message;
	said = said.n ? said : text;
	return str_from(arena_printf(arena, STR_FMT " (" STR_FMT "%s" STR_FMT ")", STR_ARG(message), STR_ARG(name),
				     name.n ? ": " : "", STR_ARG(said)));
}

/* Companies and servers differ in shape; the first member that has a message counts. */
struct error_words error_words_of(const struct json *root, struct arena *arena)
{
	if (json_is(root, JSON_ARRAY))
		root = json_first(root);
	if (!json_get(root, "error") && json_get(json_get(root, "response"), "error")) /* of the Responses API */
		root = json_get(root, "response");
	const struct json *error = json_get(root, "error");
	const struct json *list = json_get(root, "errors");
	const struct json *detail = json_get(root, "detail");
	const struct json *status = json_get(root, "base_resp"); /* MiniMax */
	struct error_words words = { STR(""), STR(""), STR("") };

	if (json_is(error, JSON_ARRAY)) /* Cloudflare */
		error = json_first(error);
	if (json_is(error, JSON_STRING)) {
		/* OAuth, NestJS: what it is called, and the message */
		struct str name = json_str(error, arena);
		const char *key = json_get(root, "error_description") ? "error_description" : "message";
		struct str more = message_text(json_get(root, key), arena);
		words.message = more.n ? more : name;
		if (more.n && !str_eq(more, name))
			words.type = name;
		error = root;
	} else if (json_is(error, JSON_OBJECT)) {
		words.message = message_text(json_get(error, "message"), arena);
		words.type = json_str(json_get(error, "type"), arena);
		if (!words.type.n)
			words.type = json_str(json_get(error, "status"), arena);
		words.message = add_upstream(words.message, json_get(error, "metadata"), arena);
	} else if (json_is(list, JSON_ARRAY) && json_first(list)) {
		error = json_first(list);
		words.message = json_str(json_is(error, JSON_STRING) ? error : json_get(error, "message"), arena);
	} else if (json_get(status, "status_msg")) {
		error = status;
		words.message = json_str(json_get(status, "status_msg"), arena);
	} else if (json_get(root, "error_message")) { /* DeepInfra, in a stream */
		error = root;
		words.message = json_str(json_get(root, "error_message"), arena);
		words.type = json_str(json_get(root, "error_type"), arena);
	} else {
		error = root;
		words.message = message_text(json_get(root, json_get(root, "message") ? "message" : "Message"), arena);
		words.type = json_str(json_get(root, json_get(root, "type") ? "type" : "__type"), arena);
		struct str rest = words.type; /* "com.amazon.coral.service#AccessDeniedException" */
		(void)str_cut(&rest, '#');
		words.type = rest.p ? rest : words.type;
		if (!words.message.n)
			words.message = message_text(detail, arena);
	}
	words.code = json_str(json_get(error, "code"), arena);
	return words;
}
