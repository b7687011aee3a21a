/* SPDX-License-Identifier: MIT
 * dialect_cloud.c - Bedrock and Vertex: converts their requests to the Messages API, and puts events into Bedrock frames. */
#include "dialect.h"
#include <zlib.h>
#include "lib/base/base64.h"

struct cloud_path {
	struct str model;
	const char *version; /* that the body must name */
	bool invoke, frames; /* of Bedrock; with stream */
};

/* /model/NAME/invoke-with-response-stream, .../publishers/anthropic/models/NAME:streamRawPredict, and both without stream. The name
 * stays encoded. */
static bool read_path(struct str path, struct cloud_path *ret)
{
	const struct str model = STR("/model/"), models = STR("/publishers/anthropic/models/");
	bool whole = str_ends(path, STR("/invoke"));
	struct str invoke = whole ? STR("/invoke") : STR("/invoke-with-response-stream");
	struct str predict = str_ends(path, STR(":rawPredict")) ? STR(":rawPredict") : STR(":streamRawPredict");
	const char *at = memmem(path.p, path.n, models.p, models.n);

	*ret = (struct cloud_path){ 0 };
	if (str_starts(path, model) && str_ends(path, invoke)) {
		ret->model = (struct str){ path.p + model.n, path.n - model.n - invoke.n };
		ret->frames = !whole;
		ret->invoke = true;
		ret->version = "bedrock-2023-05-31";
	} else if (at && str_ends(path, predict)) {
		ret->model.p = at + models.n;
		ret->model.n = path.n - predict.n - (size_t)(ret->model.p - path.p);
		ret->version = "vertex-2023-10-16";
	}
	return ret->version;
}

static bool cloud_takes(struct str path)
{
	return read_path(path, &(struct cloud_path){ 0 });
}

static bool frames_takes(struct str path)
{
	struct cloud_path cloud;

	return read_path(path, &cloud) && cloud.frames;
}

static int cloud_request(struct translation *t, struct str path, struct str body, struct err *err)
{
	struct cloud_path cloud;
	const struct json *root;
	struct buf *out = &t->body;
	bool versioned = false;

	read_path(path, &cloud);
	if (json_parse(&t->reader, body.p, body.n, &root, err) < 0)
		return -(int)err->kind;
	buf_addstr(out, "{\"model\":");
	json_add_quoted(out, cloud.model);
	if (cloud.invoke)
		buf_addf(out, ",\"stream\":%s", cloud.frames ? "true" : "false");
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct str key = json_raw(m.key), value = json_raw(m.value);
		bool version = json_str_is(m.key, "anthropic_version");
		if (json_str_is(m.key, "model") || (cloud.invoke && json_str_is(m.key, "stream")))
			return err_set(err, ERR_PARSE, STR_FMT ": Extra inputs are not permitted", STR_ARG(key));
		versioned = versioned ||
			    (version && (json_str_is(m.value, cloud.version) || json_str_is(m.value, "2026-10-21")));
		if (!version && !json_str_is(m.key, "anthropic_beta"))
			buf_addf(out, "," STR_FMT ":" STR_FMT, STR_ARG(key), STR_ARG(value));
	}
	buf_addch(out, '}');
	return versioned ? 0 : err_set(err, ERR_PARSE, "anthropic_version: must be %s", cloud.version);
}

static void add_be32(struct buf *out, uint32_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addch(out, (char)(n >> shift));
}

static void add_header(struct buf *out, const char *name, const char *value)
{
	size_t n = strlen(value);

	buf_addch(out, (char)strlen(name));
	buf_addstr(out, name);
	buf_addch(out, 7); /* a string */
	buf_addch(out, (char)(n >> 8));
	buf_addch(out, (char)n);
	buf_addstr(out, value);
}

static uint32_t frame_checksum(const struct buf *b, size_t from)
{
	return (uint32_t)crc32(0, (const unsigned char *)b->p + from, (uInt)(b->n - from));
}

static void add_frame(struct buf *out, const char *exception, struct str payload)
{
	AUTO_BUF struct buf headers = { 0 };
	size_t start = out->n;

	add_header(&headers, exception ? ":exception-type" : ":event-type", exception ? exception : "chunk");
	add_header(&headers, ":content-type", "application/json");
	add_header(&headers, ":message-type", exception ? "exception" : "event");
	add_be32(out, (uint32_t)(16 + headers.n + payload.n));
	add_be32(out, (uint32_t)headers.n);
	add_be32(out, frame_checksum(out, start));
	buf_append(out, buf_str(&headers));
	buf_append(out, payload);
	add_be32(out, frame_checksum(out, start));
}

static void frames_wrap(struct buf *out, size_t from)
{
	AUTO_BUF struct buf events = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	static const struct {
		const char *type, *exception;
	} exceptions[] = {
		{ "rate_limit_error", "throttlingException" },
		{ "overloaded_error", "serviceUnavailableException" },
		{ "invalid_request_error", "validationException" },
	};

	buf_add(&events, out->p + from, out->n - from);
	out->n = from;
	struct str rest = buf_str(&events);
	while (rest.p) {
		struct str data = str_cut(&rest, '\n');
		AUTO_BUF struct buf payload = { 0 };
		const struct json *root;
		if (!str_starts(data, STR("data: ")))
			continue;
		data = str_tail(data, 6);
		if (json_parse(&reader, data.p, data.n, &root, NULL) < 0 || json_str_is(json_get(root, "type"), "ping"))
			continue; /* Bedrock sends none */
		if (json_str_is(json_get(root, "type"), "error")) {
			const struct json *error = json_get(root, "error");
			struct str said = json_raw(json_get(error, "message"));
			buf_addf(&payload, "{\"message\":" STR_FMT "}", STR_ARG(said));
			const char *exception = "internalServerException";
			for (size_t i = 0; i < COUNT_OF(exceptions); i++)
				if (json_str_is(json_get(error, "type"), exceptions[i].type))
					exception = exceptions[i].exception;
			add_frame(out, exception, buf_str(&payload));
			continue;
		}
		buf_addstr(&payload, "{\"bytes\":\"");
		base64_add(&payload, data);
		buf_addstr(&payload, "\",\"p\":\"abcdefgh\"}");
		add_frame(out, NULL, buf_str(&payload));
	}
}

static void frames_error(struct buf *out, unsigned status, struct str type, struct str message)
{
	json_addf(out, "{message:'%.*s'}", STR_ARG(message));
}

const struct dialect dialect_frames = {
	.takes = frames_takes,
	.request = cloud_request,
	.error = frames_error,
	.wrap = frames_wrap,
	.events_type = "application/vnd.amazon.eventstream",
};

const struct dialect dialect_cloud = { .takes = cloud_takes, .request = cloud_request };
