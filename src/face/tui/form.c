/* SPDX-License-Identifier: MIT
 * form.c - a form that a server asks for: one field a row, each checked against its schema before anything is sent. */
#include "face/cli/view.h"
#include "face/tui/state.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

struct field {
	char *label, *help; /* harmless */
	enum { FIELD_TEXT, FIELD_INTEGER, FIELD_NUMBER, FIELD_SWITCH, FIELD_CHOICE, FIELD_LIST } kind;
	bool required;
	char **choices;              /* FIELD_CHOICE, FIELD_LIST: as they came */
	size_t choice_count, chosen; /* chosen: of FIELD_CHOICE, SIZE_MAX: none */
	bool on;
	double least, most;
	int64_t shortest, longest; /* characters */
	char *format;              /* email, uri, date, date-time or "" */
	struct draft value;
	const char *wrong; /* why it cannot be sent; NULL: it can */
};

struct form {
	struct field *fields;
	size_t count, at;
};

void form_free(struct form *f)
{
	for (size_t i = 0; f && i < f->count; i++) {
		struct field *x = &f->fields[i];
		for (size_t k = 0; k < x->choice_count; k++)
			free(x->choices[k]);
		free(x->choices);
		free(x->label);
		free(x->help);
		free(x->format);
		draft_release(&x->value);
	}
	if (f)
		free(f->fields);
	free(f);
}

static void field_init(struct field *x, const struct json *question, struct arena *a)
{
	const struct json *schema = json_get(question, "schema"), *type = json_get(schema, "type");
	const struct json *otherwise = json_get(schema, "default");
	struct str title = json_str(json_get(schema, "title"), a), name = json_str(json_get(question, "name"), a);
	struct str format = json_str(json_get(schema, "format"), a), preset = json_str(otherwise, a);

	*x = (struct field){ .label = render_copy(title.n ? title : name),
			     .help = render_copy(json_str(json_get(schema, "description"), a)),
			     .format = xstrndup(format.p, format.n),
			     .required = json_bool(json_get(question, "required")),
			     .least = -1e300,
			     .most = 1e300,
			     .longest = INT64_MAX,
			     .chosen = SIZE_MAX };
	if (json_get(schema, "minimum"))
		x->least = json_double(json_get(schema, "minimum"));
	if (json_get(schema, "maximum"))
		x->most = json_double(json_get(schema, "maximum"));
	(void)json_i64(json_get(schema, "minLength"), &x->shortest);
	(void)json_i64(json_get(schema, "maxLength"), &x->longest);
	if (json_str_is(type, "boolean")) {
		x->kind = FIELD_SWITCH;
		x->on = json_bool(otherwise);
		return;
	}
	const struct json *options = json_get(question, "options");
	for (const struct json *o = json_items(options); o; o = json_next(options, o)) {
		struct str label = json_str(json_get(o, "label"), a);
		x->choices = xrealloc(x->choices, (x->choice_count + 1) * sizeof *x->choices);
		x->choices[x->choice_count++] = xstrndup(label.p, label.n);
	}
	x->kind = json_str_is(type, "array")     ? FIELD_LIST
		  : x->choice_count              ? FIELD_CHOICE
		  : json_str_is(type, "integer") ? FIELD_INTEGER
		  : json_str_is(type, "number")  ? FIELD_NUMBER
						 : FIELD_TEXT;
	for (size_t i = 0; i < x->choice_count; i++)
		if (otherwise && str_is(preset, x->choices[i]))
			x->chosen = i;
	if (otherwise && x->kind != FIELD_CHOICE && x->kind != FIELD_LIST)
		draft_set(&x->value, preset.n ? preset : json_raw(otherwise));
}

struct form *form_new(const struct cadre_event *e)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct str text = view_event_text(e);
	const struct json *root;

	if (json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return NULL;
	const struct json *questions = json_get(root, "questions");
	const struct json *first = json_items(questions);
	if (!json_get(first, "schema"))
		return NULL; /* a question of another kind */
	struct form *f = xcalloc(1, sizeof *f);
	f->fields = xcalloc(questions->count, sizeof *f->fields);
	for (const struct json *q = first; q; q = json_next(questions, q))
		field_init(&f->fields[f->count++], q, &a);
	return f;
}

static bool is_format(const char *format, struct str text)
{
	int digits[3];
	AUTO_FREE char *s = xstrndup(text.p, text.n);

	if (!strcmp(format, "email"))
		return strchr(s, '@') && strchr(s, '@') != s && strchr(s, '@')[1];
	if (!strcmp(format, "uri"))
		return strstr(s, ":") && strstr(s, ":") != s && strstr(s, ":")[1];
	if (!strcmp(format, "date"))
		return text.n == 10 && sscanf(s, "%4d-%2d-%2d", &digits[0], &digits[1], &digits[2]) == 3;
	if (!strcmp(format, "date-time"))
		return text.n >= 16 && sscanf(s, "%4d-%2d-%2dT", &digits[0], &digits[1], &digits[2]) == 3;
	return true;
}

static bool is_choice(const struct field *x, struct str text)
{
	for (size_t i = 0; i < x->choice_count; i++)
		if (str_is(text, x->choices[i]))
			return true;
	return false;
}

static const char *field_wrong(const struct field *x)
{
	struct str text = str_trim(buf_str(&x->value.text));
	int64_t whole = 0, characters = 0;
	double number = 0;

	if (x->kind == FIELD_SWITCH || (x->kind == FIELD_CHOICE && x->chosen != SIZE_MAX))
		return NULL;
	if (!text.n)
		return x->required ? "is needed" : NULL;
	for (size_t i = 0; i < text.n; i++)
		characters += ((unsigned char)text.p[i] & 0xc0) != 0x80;
	if (x->kind == FIELD_INTEGER && !str_to_i64(text, &whole))
		return "must be a whole number";
	if (x->kind == FIELD_NUMBER && !str_to_double(text, &number))
		return "must be a number";
	if (x->kind == FIELD_INTEGER)
		number = (double)whole;
	if ((x->kind == FIELD_INTEGER || x->kind == FIELD_NUMBER) && (number < x->least || number > x->most))
		return number < x->least ? "is too small" : "is too large";
	if (x->kind == FIELD_TEXT && (characters < x->shortest || characters > x->longest))
		return characters < x->shortest ? "is too short" : "is too long";
	if (x->kind == FIELD_TEXT && !is_format(x->format, text))
		return "does not look like one";
	for (struct str rest = text; x->kind == FIELD_LIST && x->choice_count && rest.p;)
		if (!is_choice(x, str_trim(str_cut(&rest, ','))))
			return "has something that is not offered";
	return NULL;
}

/* True: all fields can be sent. Otherwise the first that cannot is selected. */
static bool form_check(struct form *f)
{
	bool good = true;

	for (size_t i = f->count; i-- > 0;) {
		f->fields[i].wrong = field_wrong(&f->fields[i]);
		if (f->fields[i].wrong) {
			f->at = i;
			good = false;
		}
	}
	return good;
}

char *form_answer(const struct form *f, size_t i)
{
	const struct field *x = &f->fields[i];
	struct str text = str_trim(buf_str(&x->value.text));

	if (x->kind == FIELD_SWITCH)
		return xstrdup(x->on ? "yes" : "no");
	if (x->kind == FIELD_CHOICE)
		return x->chosen == SIZE_MAX ? NULL : xstrdup(x->choices[x->chosen]);
	return text.n ? xstrndup(text.p, text.n) : NULL;
}

size_t form_count(const struct form *f)
{
	return f->count;
}

bool form_key(struct form *f, const struct key *key)
{
	struct field *x = &f->fields[f->at];
	bool back = key->code == KEY_UP || (key->code == KEY_TAB && key->shift);
	bool left = key->code == KEY_LEFT, right = key->code == KEY_RIGHT;
	bool text = x->kind != FIELD_SWITCH && x->kind != FIELD_CHOICE;

	if (back || key->code == KEY_DOWN || key->code == KEY_TAB) {
		f->at = (f->at + (back ? f->count - 1 : 1)) % f->count;
	} else if (key->code == KEY_ENTER) {
		x->wrong = field_wrong(x);
		if (x->wrong)
			return false;
		if (f->at + 1 == f->count)
			return form_check(f);
		f->at++;
	} else if (x->kind == FIELD_SWITCH && (left || right || (key->code == KEY_TEXT && str_is(key->text, " ")))) {
		x->on = !x->on;
	} else if (x->kind == FIELD_CHOICE && (left || right || (key->code == KEY_TEXT && str_is(key->text, " ")))) {
		size_t none = x->chosen == SIZE_MAX;
		x->chosen = left ? (none ? x->choice_count - 1 : (x->chosen + x->choice_count - 1) % x->choice_count)
				 : (none ? 0 : (x->chosen + 1) % x->choice_count);
	} else if (text && key->code == KEY_TEXT && !key->alt) {
		(void)draft_type(&x->value, key->text);
	} else if (text && key->code == KEY_PASTE) {
		(void)draft_paste(&x->value, utf8_cut(key->text, DRAFT_MARK_BYTES));
	} else if (text && key->code == KEY_BACKSPACE) {
		draft_delete(&x->value, MOVE_LEFT);
	} else if (text && (left || right)) {
		draft_move(&x->value, left ? MOVE_LEFT : MOVE_RIGHT);
	}
	return false;
}

void form_add_rows(struct tui *t, const struct form *f, size_t *ret_row, unsigned *ret_column)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct field *x = &f->fields[i];
		struct styled *row = rows_add(t);
		bool here = i == f->at;
		styled_addf(row, here ? LOOK_BOLD : LOOK_PLAIN, "%s %s%s: ", here ? tui_mark(t, MARK_PROMPT) : " ",
			    x->label, x->required ? " *" : "");
		if (here) {
			*ret_row = t->row_count - 1;
			*ret_column = cells_width(buf_str(&row->text)) +
				      cells_width((struct str){ buf_str(&x->value.text).p, x->value.cursor });
			*ret_column = MIN(*ret_column, t->region.columns - 1);
		}
		if (x->kind == FIELD_SWITCH)
			styled_add(row, LOOK_CYAN, x->on ? STR("[x]") : STR("[ ]"));
		else if (x->kind == FIELD_CHOICE)
			styled_add_foreign(row, LOOK_CYAN,
					   str_from(x->chosen == SIZE_MAX ? "-" : x->choices[x->chosen]));
		else
			styled_add_foreign(row, LOOK_CYAN, buf_str(&x->value.text));
		if (x->wrong)
			styled_addf(row, LOOK_RED, "  %s %s", tui_mark(t, MARK_FAILED), x->wrong);
		else if (here && x->help[0])
			styled_addf(row, LOOK_DIM, "  %s", x->help);
		for (size_t k = 0; here && !x->wrong && x->kind >= FIELD_CHOICE && k < x->choice_count; k++) {
			styled_add(row, LOOK_DIM, k ? STR(" | ") : STR("  "));
			styled_add_foreign(row, LOOK_DIM, str_from(x->choices[k]));
		}
	}
}
