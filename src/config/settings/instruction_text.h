/* SPDX-License-Identifier: MIT
 * instruction_text.h - the text of one CLAUDE.md or rule file. */
#pragma once
#include "lib/base/buf.h"

/* The text after a frontmatter; p == NULL if the frontmatter has `paths:`. */
struct str instruction_body(struct str text);
/* Without HTML comments that stand on lines of their own outside code; trimmed. */
void instruction_clean(struct buf *out, struct str body);
typedef void instruction_import_fn(void *data, struct str target, const char *from, unsigned hops);
/* Calls fn for each @path outside code, in order. */
void instruction_imports(struct str body, const char *from, unsigned hops, instruction_import_fn *fn, void *data);
