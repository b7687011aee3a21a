/* SPDX-License-Identifier: MIT
 * context_size.c - size of a conversation in the model's context: the server's count of the last answer, plus an
 * estimate of later additions. */
#include "core/model/catalog.h"
#include "agents/query/compact_int.h"

enum { BYTES_PER_TOKEN = 4 };                              /* of English and code */
enum { RESERVE_TOKENS = 13000 };                           /* margin for additions before the next check */
enum { MEDIA_TOKENS = 1500, MEDIA_BYTES_PER_TOKEN = 400 }; /* of an image or a document in base64 */

/* Media are far fewer tokens than bytes. */
static int64_t block_tokens(struct str json, enum segment_kind kind)
{
	static const char key[] = "\"data\":\"";
	const char *end = json.p + json.n, *at = json.p;
	int64_t bytes = (int64_t)json.n, media = 0;

	if (kind != SEGMENT_OTHER && kind != SEGMENT_TOOL_RESULT)
		return bytes / BYTES_PER_TOKEN;
	while ((at = memmem(at, (size_t)(end - at), key, sizeof key - 1))) {
		const char *from = at + sizeof key - 1;
		const char *quote = memchr(from, '"', (size_t)(end - from));
		int64_t n = (quote ? quote : end) - from;
		at = quote ? quote : end;
		if (n < MEDIA_BYTES_PER_TOKEN)
			continue;
		bytes -= n;
		media += MEDIA_TOKENS + n / MEDIA_BYTES_PER_TOKEN;
	}
	return bytes / BYTES_PER_TOKEN + media;
}

static int64_t head_tokens(const struct query *q)
{
	return q->measured.tokens ? 0 : (int64_t)(q->config.head->bytes.n / BYTES_PER_TOKEN);
}

/* No less than the estimate, and without looking at blocks. */
static int64_t most_tokens(const struct query *q)
{
	uint64_t added = q->transcript.bytes - MIN(q->measured.bytes, q->transcript.bytes);

	return q->measured.tokens + head_tokens(q) + (int64_t)(added / BYTES_PER_TOKEN);
}

int64_t context_tokens(const struct query *q)
{
	int64_t tokens = q->measured.tokens + head_tokens(q);

	for (uint32_t i = q->measured.blocks; i < transcript_count(&q->transcript); i++) {
		struct block b = transcript_block(&q->transcript, i);
		tokens += block_tokens(b.json, b.kind);
	}
	return tokens;
}

/* A server that does not count leaves it to the estimate. */
void context_measured(struct query *q, const struct usage *u)
{
	int64_t tokens = u->input + u->cache_read + u->cache_write + u->output;

	if (tokens <= 0)
		return;
	q->measured.tokens = tokens;
	q->measured.bytes = q->transcript.bytes;
	q->measured.blocks = transcript_count(&q->transcript);
}

static int64_t limit_of(const struct compact_policy *p, const struct model_info *m)
{
	int64_t input = m->context - m->max_output;
	int64_t limit = input > 2 * RESERVE_TOKENS ? input - RESERVE_TOKENS : m->context / 2;

	if (p->percent > 0)
		limit = MIN(limit, (int64_t)((double)MAX(input, limit) * p->percent / 100));
	return p->window > 0 ? MIN(limit, p->window) : limit;
}

bool context_is_full(const struct query *q)
{
	int64_t limit = limit_of(&q->config.compact, model_find(q->config.model));

	return most_tokens(q) >= limit && context_tokens(q) >= limit;
}
