/* SPDX-License-Identifier: MIT
 * permissions.c - `cadre permissions`: the rules that hold. */
#include "defs/policy/permissions.h"
#include "product/command/report.h"
#include "product/command/permissions.h"

struct listing {
	struct cadre_report *report;
	struct json_out w;
	struct buf warnings; /* JSON texts with commas between */
};

static void note_warning(void *data, const char *message)
{
	struct listing *l = data;

	if (l->warnings.n)
		buf_addch(&l->warnings, ',');
	json_add_quoted(&l->warnings, str_from(message));
	report_line(l->report, CADRE_WARN, "%s", message);
}

void app_rule_origin(struct buf *out, const struct rule *r)
{
	buf_addstr(out, r->origin->file ? r->origin->file : r->origin->layer);
	if (r->origin->line)
		buf_addf(out, ":%u", r->origin->line);
}

static void list_rule(struct listing *l, const struct rule *r)
{
	AUTO_BUF struct buf from = { 0 };

	app_rule_origin(&from, r);
	json_open(&l->w, '{');
	json_kcstr(&l->w, "list", rule_list_name(r->list));
	json_kcstr(&l->w, "rule", r->text);
	json_kcstr(&l->w, "source", r->origin->layer);
	json_kcstr(&l->w, "file", r->origin->file);
	app_put_line(&l->w, r->origin->line);
	json_kbool(&l->w, "effective", r->kind != RULE_INERT);
	json_close(&l->w);
	report_row(l->report, r->kind == RULE_INERT ? CADRE_NOTE : CADRE_PLAIN, rule_list_name(r->list), r->text,
		   from.p, NULL);
}

static void list_set(struct listing *l, const struct rule_set *set, enum rule_list list)
{
	for (size_t i = 0; set && i < set->all.count; i++)
		if (set->all.list[i]->list == list)
			list_rule(l, set->all.list[i]);
}

static int list_all(struct services *sv, struct listing *l, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_APP_PERMISSION struct app_permission p = { 0 };

	if (app_permission_open(sv, &a, &p, note_warning, l, err) < 0)
		return -(int)err->kind;
	json_open(&l->w, '{');
	json_kcstr(&l->w, "mode", permission_mode_name(p.permission.mode));
	json_kbool(&l->w, "trusted", p.trusted);
	json_key(&l->w, "rules");
	json_open(&l->w, '[');
	report_row(l->report, CADRE_HEAD, "LIST", "RULE", "FROM", NULL);
	for (enum rule_list list = RULE_DENY; list <= RULE_ALLOW; list++) {
		list_set(l, p.permission.rules, list);
		list_set(l, p.permission.own, list);
	}
	json_close(&l->w);
	json_key(&l->w, "warnings");
	json_open(&l->w, '[');
	if (l->warnings.n)
		json_put_raw(&l->w, buf_str(&l->warnings));
	json_close(&l->w);
	json_close(&l->w);
	return 0;
}

int cadre_permissions_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	struct listing l = { .report = report, .w = json_out(&report->json) };
	int status = list_all(sv, &l, &err);
	buf_release(&l.warnings);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
