/* SPDX-License-Identifier: MIT
 * dialect.h - the APIs besides the Messages API that modeld speaks: chat completions, the Responses API, Gemini, and the Messages API at
 * Bedrock and Vertex. */
#pragma once
#include "core/scenario/reply.h"

extern const struct dialect dialect_responses, dialect_gemini, dialect_frames, dialect_cloud;
extern const struct dialect *const dialects[]; /* all, NULL-terminated */

/* dialect_chat.c: what requests and answers of the others share with it */
void chat_error(struct buf *out, unsigned status, struct str type, struct str message);
enum { OTHER_NO_LIMIT_TOKENS = 1000000 };
struct other_members {
	const char *names;          /* "a|b|c" */
	const char *before, *after; /* of the name, in the error for any other */
};
int other_request(struct json_reader *reader, struct arena *arena, struct str body, const struct other_members *known,
		  const struct json **ret_root, struct err *err);
void other_put_text(struct json_out *w, const struct json *text);
bool other_put_data(struct json_out *w, const char *kind,
		    struct str address); /* false: not a data: address in base64 */
/* False: the arguments are not an object. */
bool other_put_call(struct json_out *w, const struct json *id, const struct json *name, struct str arguments);
void other_put_tool(struct json_out *w, const struct json *tool, const struct json *schema); /* NULL: any object */
/* The thinking block of a sealed text (base64 of model and text, which the answer carried). -1: not a sealed text;
 * -2: of another model. */
int other_put_sealed(struct json_out *w, struct str model, struct str sealed);
void other_add_sealed(struct buf *out, struct str model, struct str text);
