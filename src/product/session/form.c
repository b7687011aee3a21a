/* SPDX-License-Identifier: MIT
 * form.c - a form of an MCP server as questions, and answers as its content. */
#include "product/session/form.h"
#include "lib/json/json_write.h"

static const struct json *properties(const struct json *elicitation)
{
	const struct json *p = json_get(json_get(elicitation, "requested_schema"), "properties");

	return json_is(p, JSON_OBJECT) && p->count ? p : NULL;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void put_option(struct json_out *w, struct str label, struct str meaning)
{
	json_open(w, '{');
	json_kstr(w, "label", label);
	json_kstr(w, "description", meaning);
	json_close(w);
}

/* Values of "enum", or "const" with a title of "oneOf" and "anyOf". */
static void put_values(struct json_out *w, const struct json *property, struct arena *a)
{
	const struct json *values = json_get(property, "enum");
	const struct json *titled = json_get(property, "oneOf");

	if (json_str_is(json_get(property, "type"), "array"))
		return put_values(w, json_get(property, "items"), a);
	titled = titled ? titled : json_get(property, "anyOf");
	for (const struct json *v = json_first(values); v; v = json_next(values, v))
		put_option(w, json_str(v, a), STR(""));
	for (const struct json *v = json_first(titled); v; v = json_next(titled, v))
		put_option(w, json_str(json_get(v, "const"), a), json_str(json_get(v, "title"), a));
	if (json_str_is(json_get(property, "type"), "boolean")) {
		put_option(w, STR("yes"), STR(""));
		put_option(w, STR("no"), STR(""));
	}
}

static void put_property(struct json_out *w, struct str message, struct json_member m, struct arena *a)
{
	AUTO_BUF struct buf text = { 0 };
	struct str title = json_str(json_get(m.value, "title"), a);
	struct str description = json_str(json_get(m.value, "description"), a);
	const struct json *otherwise = json_get(m.value, "default");

	if (message.n)
		buf_addf(&text, STR_FMT "\n", STR_ARG(message));
	buf_addf(&text, STR_FMT, STR_ARG(title.n ? title : json_str(m.key, a)));
	if (description.n)
		buf_addf(&text, " (" STR_FMT ")", STR_ARG(description));
	if (otherwise)
		buf_addf(&text, " [" STR_FMT "]", STR_ARG(json_raw(otherwise)));
	json_open(w, '{');
	json_kstr(w, "question", buf_str(&text));
	json_key(w, "options");
	json_open(w, '[');
	put_values(w, m.value, a);
	json_close(w);
	json_kbool(w, "multiSelect", json_str_is(json_get(m.value, "type"), "array"));
	json_close(w);
}

static void put_consent(struct json_out *w, const struct json *elicitation, struct arena *a)
{
	AUTO_BUF struct buf text = { 0 };
	struct str url = json_str(json_get(elicitation, "url"), a);

	buf_addf(&text, STR_FMT, STR_ARG(json_str(json_get(elicitation, "message"), a)));
	if (url.n)
		buf_addf(&text, "\nOpen " STR_FMT " and come back.", STR_ARG(url));
	json_open(w, '{');
	json_kstr(w, "question", buf_str(&text));
	json_key(w, "options");
	json_open(w, '[');
	put_option(w, STR("yes"), url.n ? STR("it is done") : STR(""));
	put_option(w, STR("no"), STR(""));
	json_close(w);
	json_kbool(w, "multiSelect", false);
	json_close(w);
}

void form_questions(struct buf *out, const struct json *elicitation)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *p = properties(elicitation);
	struct str message = json_str(json_get(elicitation, "message"), &a);
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_key(&w, "questions");
	json_open(&w, '[');
	for (struct json_member m = json_members(p); m.key; m = json_member_next(p, m)) {
		put_property(&w, message, m, &a);
		message = STR(""); /* above the first one only */
	}
	if (!p)
		put_consent(&w, elicitation, &a);
	json_close(&w);
	json_close(&w);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static bool is_yes(const char *text)
{
	return str_is_nocase(str_from(text), "yes") || str_is_nocase(str_from(text), "true") ||
	       str_is_nocase(str_from(text), "y");
}

static void put_list(struct json_out *w, const char *text)
{
	struct str rest = str_from(text);

	json_open(w, '[');
	while (rest.p) {
		struct str piece = str_trim(str_cut(&rest, ','));
		if (piece.n)
			json_put_str(w, piece);
	}
	json_close(w);
}

static void put_answer(struct json_out *w, struct json_member m, const char *text, struct arena *a)
{
	const struct json *type = json_get(m.value, "type");
	struct str key = json_str(m.key, a);
	int64_t whole;
	double number;

	if (json_str_is(type, "integer")
		    ? !str_to_i64(str_trim(str_from(text)), &whole)
		    : json_str_is(type, "number") && !str_to_double(str_trim(str_from(text)), &number))
		return;
	json_key_str(w, key);
	if (json_str_is(type, "integer"))
		json_put_i64(w, whole);
	else if (json_str_is(type, "number"))
		json_put_double(w, number);
	else if (json_str_is(type, "boolean"))
		json_put_bool(w, is_yes(text));
	else if (json_str_is(type, "array"))
		put_list(w, text);
	else
		json_put_cstr(w, text);
}

bool form_content(struct buf *out, const struct json *elicitation, const char *const *answers, size_t count)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *p = properties(elicitation);
	struct json_out w = json_out(out);
	size_t i = 0;

	if (!p) {
		buf_addstr(out, "{}");
		return count && answers[0] && is_yes(answers[0]);
	}
	json_open(&w, '{');
	for (struct json_member m = json_members(p); m.key && i < count; m = json_member_next(p, m), i++)
		if (answers[i] && answers[i][0])
			put_answer(&w, m, answers[i], &a);
	json_close(&w);
	return true;
}
