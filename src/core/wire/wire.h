/* SPDX-License-Identifier: MIT
 * wire.h - requests in other APIs than the Messages API, and their answers as its events (docs/internals/wires.md).
 *
 * A head or a chunk is translated once per API and kept in its slot. A body is read like a struct body. An answer passes
 * as events to answer.h.
 *
 * How to add one: 1. a slot in core/message/message.h; 2. NAME_request.c with a const struct wire_form, NAME_stream.c with its take();
 * 3. a wire in core/model/wire_chat.c; 4. tests/unit/wire, a fuzz target, and the same API in modeld. */
#pragma once
#include "lib/io/sse.h"
#include "core/message/body.h"
#include "core/wire/answer.h"

struct wire_body;
struct wire_stream;
struct wire_writer;

/* Parameters that a server rejects or names differently */
enum form_quirk {
	CHAT_COMPLETION_TOKENS = 1 << 0, /* the output limit is called max_completion_tokens */
	CHAT_NO_LIMIT = 1 << 1,
	CHAT_NO_STREAM_OPTIONS = 1 << 2,
	CHAT_NO_PARALLEL_CALLS = 1 << 3,
	CHAT_NO_EFFORT = 1 << 4,
	CHAT_NO_IMAGES = 1 << 5,      /* replaced by a line of text, and no list in chat completions */
	CHAT_EFFORT_NONE = 1 << 6,    /* takes tools only with reasoning_effort "none" */
	CHAT_ANSWER_BETWEEN = 1 << 7, /* needs an assistant message between a tool message and a user message */
	CHAT_SHORT_IDS = 1 << 8,      /* call ids have nine letters and digits */
	CHAT_SESSION_KEY = 1 << 9,    /* takes prompt_cache_key */
	CHAT_ECHO = 1 << 10,          /* wants its reasoning back, in reasoning_content of every answer */
	WIRE_NO_REASONING = 1 << 11,  /* the model does not reason: no encrypted reasoning, no thoughts */
	WIRE_NO_SUMMARY = 1 << 12,    /* the account gets no summaries of reasoning */
	GEMINI_SIGNED = 1 << 13,      /* the first call of an answer must have a signature; calls have ids */
	GEMINI_BUDGET = 1 << 14,      /* thinking has a budget in tokens, not a level */
	WIRE_EFFORT_HIGH = 1 << 15,   /* no effort above high */
	CHAT_MARKS = 1 << 16,         /* a gateway to a model whose prompts are cached up to marks */
	CHAT_ECHO_PLAIN = 1 << 17,    /* the same in reasoning */
	CHAT_ECHO_PARTS = 1 << 18,    /* the same as a part of the content (Mistral) */
	CHAT_ECHO_SAME = 1 << 19,     /* takes its reasoning back in the member that it came in, where there was some */
	WIRE_NO_DOCUMENTS = 1 << 20,  /* replaced by a line of text; chat completions have none */
	CHAT_KEEP_THINKING = 1 << 21, /* reads reasoning of former turns only on request (Z.ai) */
	CHAT_EMPTY_TOOLS = 1 << 22,   /* wants a list of tools where the history has calls (LiteLLM to Claude) */
	WIRE_EFFORT_MEDIUM = 1 << 23,
	WIRE_EFFORT_LOW = 1 << 24,
	WIRE_NO_STREAM = 1 << 26, /* answers come whole */
	WIRE_NO_STORE = 1 << 25,  /* the server keeps nothing, and has no word for that */
};

/* Limits and quirks of one model at one server */
struct wire_model {
	unsigned quirks;
	int64_t limit;       /* most output tokens; 0: not known */
	const char *session; /* key of CHAT_SESSION_KEY; borrowed */
	struct str origin;   /* wire_origin() of the model; borrowed */
};

/* A tool name that the API does not accept, and its replacement */
struct wire_name {
	struct str sent, own;
	const struct wire_name *next;
};

/* Of a head: translation.facts */
struct wire_head {
	struct str model; /* as it is sent */
	unsigned hash;    /* of the bytes of the head */
	int64_t max_tokens;
	struct str effort; /* low .. max; empty: not set */
	bool has_tools;
	const struct wire_name *names; /* NULL: no name was replaced */
};

/* One API. States of a writer are the form's own; 0: nothing was written. */
struct wire_form {
	const char *name;
	enum translation_slot slot;
	const char *highest_effort; /* that the API has a word for */
	/* The text of a head ends inside the list of messages; sets w->state. */
	void (*head)(struct wire_writer *w, struct wire_head *facts, const struct json *root);
	/* Blocks from..to of the transcript, all of one role. */
	void (*run)(struct wire_writer *w, uint32_t from, uint32_t to, enum role role);
	void (*user)(struct wire_writer *w, const struct block *b, bool parts);
	void (*close)(struct wire_writer *w); /* the open message */
	/* An image or document: whether the form sends it, and its part; both NULL: results have theirs inside */
	bool (*is_media)(const struct json *block);
	void (*put_media)(struct translation *out, const struct json *block);
	/* All other members follow the messages, so that dropping an unsupported one does not change the prefix. */
	void (*ending)(struct buf *out, const struct wire_head *head, const struct wire_model *model);
	/* The bytes to send for this piece, and the number of pieces that they replace; NULL: as they are. */
	struct str (*piece)(struct wire_body *b, const struct translation *part, size_t at, size_t *ret_count);
	/* Constants around an image or a document, and what stands in its place for CHAT_NO_IMAGES and WIRE_NO_DOCUMENTS */
	const char *image_open, *image_close, *image_instead;
	const char *document_open, *document_close, *document_instead; /* NULL: documents are never sent */
	/* Whether events of that name say nothing new: they are not even parsed; may be NULL */
	bool (*skips)(struct str name);
	/* One event of the stream, or a whole answer. */
	void (*take)(struct wire_stream *s, const struct json *event);
};

extern const struct wire_form form_chat, form_responses, form_gemini;

/* NAME_stream.c */
void chat_take(struct wire_stream *s, const struct json *chunk);
void chat_stop(struct wire_stream *s, struct str reason);
/* The error says that the model wrote a call that is none: it becomes a call that fails, which tells the model. */
bool chat_take_failed_call(struct wire_stream *s, const struct json *root);
void responses_take(struct wire_stream *s, const struct json *event);
bool responses_skips(struct str name);
void gemini_take(struct wire_stream *s, const struct json *chunk);

struct wire_body {
	const struct wire_form *form;
	const struct body *body;  /* borrowed, with its head and transcript */
	struct translation *tail; /* owned */
	uint64_t size;
	unsigned quirks;
	struct str origin;
	char short_id[12]; /* the id that is being read */
	uint32_t part;     /* read position: 0 the head, then the packed_chunks, then the tail */
	size_t piece, offset;
};

const struct wire_head *wire_head(const struct wire_form *form, struct head *h); /* translates it on first use */
/* The effort of the head, or the next lower one that the API and the model have; empty: none was asked for. */
struct str wire_effort(const struct wire_form *form, const struct wire_head *head, unsigned quirks);
void wire_body_init(struct wire_body *b, const struct wire_form *form, const struct body *body,
		    const struct wire_model *model);
void wire_body_release(struct wire_body *b);
size_t wire_body_read(struct wire_body *b, char *out, size_t room); /* 0 at the end */
void wire_body_rewind(struct wire_body *b);

enum { WIRE_ORIGIN = 16, WIRE_LONGEST_ID = 40 }; /* the limit of OpenAI */

/* Names a model at a server, in seals; in the arena. */
struct str wire_origin(struct arena *a, const char *base, struct str model);

/* For forms: consecutive blocks, being translated */
struct wire_writer {
	const struct wire_form *form;
	struct translation *out;
	int state;
	struct json_reader reader;
	const struct transcript *t;
	struct translation *images; /* parts that wait for the last result; NULL: none */
};

extern const char wire_part_comma[];                        /* between parts of a message */
void wire_put(struct wire_writer *w, const char *constant); /* a piece that is compared by address */
/* A text between two constants; behind may be "". */
void wire_put_text(struct wire_writer *w, const char *before, struct str text, const char *behind);
struct str wire_raw(const struct json *v); /* the raw content of a JSON string, or empty */
/* The API accepts up to 64 letters, digits, '_' and '-'. Other names are cut and get a hash as suffix. */
struct str wire_name(struct arena *a, struct str own);
void wire_put_id(struct wire_writer *w, struct str id);
bool wire_is_image(const struct json *block);
void wire_put_source(struct translation *out, const struct json *block); /* data: address, or the address it has */
/* A block without an equivalent: its text, otherwise a line that names what is missing. */
struct str wire_description(struct wire_writer *w, const struct json *block);
/* The text of a result. An image or document that the form sends waits in images, and note stands in its place. */
void wire_put_result(struct wire_writer *w, const struct json *content, const char *note);
void wire_put_images(struct wire_writer *w); /* those that wait */
/* The texts of the system prompt. Before the first stands open, behind the last close. False: there are none. */
bool wire_put_system(struct wire_writer *w, const struct json *head, const char *open, const char *between,
		     const char *close);

/* The constants around the definition of a tool */
struct wire_tool_form {
	const char *first, *name;              /* before the first of them, and before each name */
	const char *description, *undescribed; /* behind the name, with and without a description */
	const char *schema, *close;
};
/* Tools that the model calls here, with the part of their schema that all servers accept. */
void wire_put_tools(struct wire_writer *w, struct wire_head *facts, const struct json *head,
		    const struct wire_tool_form *form);

/* The same of one schema. */
void wire_lower_schema(struct buf *out, const struct json *schema);

struct wire_seal {
	struct str origin, rest;
	struct str thinking; /* that it belongs to, as raw JSON */
};
/* Walks the thinking of a block that has a seal of this form: NAME:ORIGIN:REST. *at: 0 at first. Texts are in the arena of
 * the translation. False: no more. */
bool wire_next_seal(struct wire_writer *w, struct str thought, size_t *at, struct wire_seal *ret);
/* Pieces between the two are sent only to the server and the model that they came from. */
void wire_seal_open(struct wire_writer *w, struct str origin);
void wire_seal_close(struct wire_writer *w);
void wire_put_sealed(struct wire_writer *w, struct str origin, const char *before, struct str text, const char *behind);
bool wire_seal_is_sent(const struct wire_body *b, const struct translation *part,
		       size_t end); /* pieces[end] closes it */

struct wire_call {
	int64_t index; /* -1: the server gave none */
	struct buf id, name, arguments;
	struct buf seal; /* stands before the call; empty: none */
};

/* The calls of an answer, assembled from pieces that may interleave. A zeroed struct is empty. */
struct wire_calls {
	struct wire_call *list;
	size_t count, cap;
	size_t sent; /* so many were passed on */
};

struct wire_item {
	int64_t index;
	struct buf events; /* each ends with a NUL; of the arguments of a call: these */
};

enum wire_block { WIRE_NO_BLOCK, WIRE_TEXT, WIRE_THINKING, WIRE_CALL };

struct wire_stream {
	const struct wire_form *form;
	struct answer *answer;            /* borrowed: gets the events */
	const struct transcript *history; /* borrowed: call ids in use; NULL: none */
	const struct wire_name *names;    /* borrowed: tools that were sent under another name */
	struct str origin;                /* borrowed: goes into seals */
	uint64_t request_bytes;           /* for an estimate of the usage */
	struct sse sse;
	struct json_reader reader;
	struct arena scratch; /* reset after each event */
	struct buf event;
	enum wire_block open;
	unsigned blocks; /* blocks so far: the index of the next one */
	/* Responses: the message that is open; -1: it has no number, -2: none. Chat: the choice that counts, of several */
	int64_t item;
	bool has_phase;            /* Responses: the seal before that message has it */
	struct wire_item *waiting; /* Responses: until the open message is done */
	size_t waiting_count, waiting_cap;
	struct wire_item arguments; /* Responses: of the last call, for an item that has none */
	struct wire_item begun;     /* Responses: the call whose end has not come, as JSON; empty: none */
	struct buf seal;            /* of the open thinking; goes in when a block follows it */
	bool sealed;                /* there was one */
	struct wire_calls calls;
	const char *stop_reason; /* Messages API stop reason; NULL: none yet */
	struct buf refusal;      /* its own words */
	struct usage usage;
	bool has_usage, over, ending;
	/* Chat */
	/* Of <think>...</think> in front of the text. AFTER: line ends are dropped; BEGUN: the text may turn out to be thinking */
	enum { THINK_FIRST, THINK_INSIDE, THINK_AFTER, THINK_BEGUN, THINK_OVER } think;
	struct buf held;          /* what may be one of these tags, or a part of it */
	struct buf details;       /* reasoning_details, with commas between them */
	struct buf signed_blocks; /* thinking_blocks, the same; those before signed_n are whole */
	size_t signed_n;
	uint64_t answer_bytes; /* so far */
};

void wire_stream_init(struct wire_stream *s, const struct wire_form *form, struct answer *answer,
		      const struct transcript *history, uint64_t request_bytes);
void wire_stream_feed(struct wire_stream *s, const char *p, size_t n); /* after a failure it does nothing */
/* A non-streamed answer, one JSON object. False: not an answer. */
bool wire_stream_whole(struct wire_stream *s, struct str json);
/* The end of the stream: takes an event that lacks its blank line, and closes an answer that has a stop reason. */
void wire_stream_end(struct wire_stream *s);
void wire_stream_release(struct wire_stream *s);

/* For forms */
/* counts.input: with what was read from and written to the cache, as these APIs count. Counts of zero say nothing: some servers send
 * them behind the real ones. usage: as it came, it may have a cost. */
void wire_take_usage(struct wire_stream *s, const struct json *usage, struct usage counts);
void wire_error(struct wire_stream *s, const char *what);
void wire_start(struct wire_stream *s, struct str id, const char *prefix, struct str model); /* once */
void wire_stop_block(struct wire_stream *s);
void wire_piece(struct wire_stream *s, bool thinking, const struct json *piece); /* opens a block if needed */
void wire_text(struct wire_stream *s, bool thinking, struct str text);           /* the same; any bytes */
/* Seals what was thought, or makes an empty thinking block that only has the seal. */
void wire_seal(struct wire_stream *s, struct str rest);
/* The same, in front of the block that is open: it has no events, only the block. rest needs no escapes. */
void wire_seal_before(struct wire_stream *s, struct str rest);
struct wire_call *wire_call_add(struct wire_stream *s, int64_t index); /* NULL: too many */
/* Of a call: JSON in a text, or the object itself */
static inline struct str wire_arguments(struct wire_stream *s, const struct json *v)
{
	return json_is(v, JSON_OBJECT) ? json_raw(v) : json_str(v, &s->scratch);
}
void wire_call_send(struct wire_stream *s, struct wire_call *call); /* all of it is there */
/* A word of its end by which the server refused, or tore the answer: "SAFETY", "content_filter: RECITATION", "error". False: none. */
bool wire_end_by_word(struct wire_stream *s, struct str reason);
/* The server said why it stopped: calls that wait are passed on. */
void wire_finish(struct wire_stream *s, const char *stop_reason);
void wire_close(struct wire_stream *s); /* after wire_finish: no more events */
