/* SPDX-License-Identifier: MIT
 * test_json.c - runs the groups. */
#include "unit.h"
#include "test_json.h"

struct doc doc_parse(struct str text)
{
	struct doc d = { .text = malloc(text.n) };

	if (text.n)
		memcpy(d.text, text.p, text.n);
	d.rc = json_parse(&d.reader, d.text, text.n, &d.root, &d.err);
	return d;
}

void doc_release(struct doc *d)
{
	json_reader_release(&d->reader);
	free(d->text);
}

int main(void)
{
	test_read();
	test_value();
	test_write();
	test_schema();
	test_oracle();
	return tests_run();
}
