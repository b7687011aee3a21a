/* SPDX-License-Identifier: MIT
 * format.h - the texts of a team's files, without the files: config.json, and the entries of an inbox. What they read was written by
 * others and is not believed. */
#pragma once
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { LARGEST_CONFIG = 4 << 20, LARGEST_INBOX = 64 << 20, LONGEST_TEAM_NAME = 64 };

bool team_name_fits(struct str name); /* of a team or of a member: letters, digits, _ and -, neither of these first */

/* config.json as it is written: ours, and what others added to theirs (fields that we do not know, members of other programs). A
 * member of theirs with our session id is ours or gone. foreign: names of the others are set in it (value: not NULL). theirs may
 * be anything. */
void config_merge(struct buf *out, struct str ours, struct str theirs, const char *session, struct map *foreign);

/* An entry of an inbox, in the arena. */
struct inbox_entry {
	const char *id, *from;
	struct str text, summary;
	bool read;               /* of one that is written: it is shown, and no member takes it ... */
	struct evp_pkey_st *key; /* ... and signed by this key of the lead; NULL: it is not. Borrowed */
};
/* seen: entries without an id that came before it, by their digest. False: it is none, or it was read already. */
bool inbox_entry_read(const struct json *entry, struct map *seen, struct arena *a, struct inbox_entry *ret);
void inbox_entry_write(struct json_out *w, const struct inbox_entry *e, const char *color, int64_t now_ms);
/* Whether it can never be one: a reader of ours does not understand it. */
bool inbox_entry_is_bad(const struct json *entry);
/* A structured message (JSON with a type that members use) of a file, as a model may see it: its sender is the one of the envelope,
 * ids and times that cannot be ones are named so, long texts are cut. False: it is plain text, and out is empty. */
bool structured_clean(struct buf *out, struct str text, const char *sender);
/* inbox as others see it with the messages that wait for one of our agents (mine: a JSON array, each marked as read). */
int inbox_mirror(struct buf *out, struct str inbox, struct str mine, struct err *err);
/* inbox with one more entry at its end. 1: an entry with this id is there already; out is empty then. -ERR_PARSE: not an array. */
int inbox_add(struct buf *out, struct str inbox, const char *id, struct str entry, struct err *err);
