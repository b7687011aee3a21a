/* SPDX-License-Identifier: MIT
 * catalog_file.c - a catalog of models as a file: {"catalog": {PROVIDER: {"models": {ID: {"cost", "limit"}}}}, "signature": BASE64}. The
 * signature is Ed25519, over the bytes of the catalog as they stand in the file. */
#include "core/model/catalog.h"
#include <openssl/evp.h>
#include "lib/base/base64.h"

enum { KEY_BYTES = 32, SIGNATURE_BYTES = 64, LARGEST_PRICE = 1000 };
enum { LEAST_WINDOW = 1000, LARGEST_WINDOW = 100000000 };

static bool is_signed_with(const char *key, struct str bytes, struct str signature)
{
	AUTO_BUF struct buf raw = { 0 };
	EVP_PKEY *public = NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (base64_decode(&raw, str_from(key), NULL) == 0 && raw.n == KEY_BYTES)
	public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)raw.p, raw.n);
	bool good = public && signature.n == SIGNATURE_BYTES &&
		    EVP_DigestVerifyInit(context, NULL, NULL, NULL, public) == 1 &&
		    EVP_DigestVerify(context, (const unsigned char *)signature.p, signature.n,
				     (const unsigned char *)bytes.p, bytes.n) == 1;
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(public);
	return good;
}

/* The number of a member; false: it is not one between the bounds. One that is absent is `usual`. */
static bool read_number(const struct json *object, const char *key, double least, double most, double usual,
			double *ret)
{
	const struct json *v = json_get(object, key);

	*ret = v ? json_double(v) : usual;
	return !v || (json_is(v, JSON_NUMBER) && *ret >= least && *ret <= most);
}

static bool read_price(const struct json *cost, struct model_price *ret)
{
	return json_get(cost, "input") && json_get(cost, "output") &&
	       read_number(cost, "input", 0, LARGEST_PRICE, 0, &ret->input) &&
	       read_number(cost, "output", 0, LARGEST_PRICE, 0, &ret->output) &&
	       read_number(cost, "cache_read", 0, LARGEST_PRICE, ret->input, &ret->read) &&
	       read_number(cost, "cache_write", 0, LARGEST_PRICE, ret->input, &ret->write_5m) &&
	       read_number(cost, "cache_write_1h", 0, LARGEST_PRICE, ret->write_5m, &ret->write_1h);
}

/* The first member that is not known; NULL: all are. */
static const struct json *unknown_member(const struct json *object, const char *const *known)
{
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		size_t i = 0;
		while (known[i] && !json_str_is(m.key, known[i]))
			i++;
		if (!known[i])
			return m.key;
	}
	return NULL;
}

static int read_model(struct arena *a, const char *provider, const struct json *key, const struct json *value,
		      struct model_info *ret, struct err *err)
{
	static const char *const members[] = { "cost", "limit", "modalities", "tool_call", "interleaved", NULL };
	static const char *const prices[] = { "input",          "output", "cache_read", "cache_write",
					      "cache_write_1h", "tiers",  "above",      NULL };
	static const char *const limits[] = { "context", "output", NULL };
	const struct json *cost = json_get(value, "cost"), *limit = json_get(value, "limit");
	const struct json *tiers = json_get(cost, "tiers");
	const char *id = json_cstr(key, a);
	double context = 0, output = 0, above = 0, before = 0;
	const char *why = NULL;
	size_t count = 0;

	if (unknown_member(value, members) || unknown_member(cost, prices) || unknown_member(limit, limits))
		why = "it has a member that is not known";
	else if (!id || !id[0] || !json_is(value, JSON_OBJECT))
		why = "it is not an object with a name";
	*ret = (struct model_info){ .id = id, .provider = provider };
	if (cost && !read_price(cost, &ret->price))
		why = "a price is not between 0 and 1000 USD per million tokens";
	for (const struct json *t = json_first(tiers); t && !why; t = json_next(tiers, t), before = above, count++) {
		if (count == MOST_TIERS || unknown_member(t, prices) || !json_get(t, "above") ||
		    !read_number(t, "above", before + 1, LARGEST_WINDOW, 0, &above) ||
		    !read_price(t, &ret->tiers[count].price))
			why = "a tier cannot be read";
		else
			ret->tiers[count].above = (int64_t)above;
	}
	if (!read_number(limit, "context", LEAST_WINDOW, LARGEST_WINDOW, 0, &context) ||
	    !read_number(limit, "output", 1, LARGEST_WINDOW, 0, &output))
		why = "a limit is not between 1,000 and 100,000,000 tokens";
	const struct json *input = json_get(json_get(value, "modalities"), "input"),
			  *calls = json_get(value, "tool_call");
	const struct json *field = json_get(json_get(value, "interleaved"), "field");
	if ((input && !json_is(input, JSON_ARRAY)) ||
	    (calls && !json_is(calls, JSON_TRUE) && !json_is(calls, JSON_FALSE)))
		why = "modalities.input is not a list, or tool_call neither true nor false";
	if (input)
		ret->images = ret->pdf = -1;
	for (const struct json *v = json_first(input); v && !why; v = json_next(input, v)) {
		ret->images = json_str_is(v, "image") ? 1 : ret->images;
		ret->pdf = json_str_is(v, "pdf") ? 1 : ret->pdf;
	}
	ret->tools = !calls ? 0 : json_bool(calls) ? 1 : -1;
	if (json_str_is(field, "reasoning_content")) /* reasoning_details go back by themselves */
		ret->reasoning_field = "reasoning_content";
	if (why)
		return err_set(err, ERR_PARSE, "%s/%s: %s", provider, id ? id : "?", why);
	ret->context = (int64_t)context;
	ret->max_output = (int64_t)output;
	ret->price_source = cost ? "catalog" : NULL;
	ret->window_source = ret->context ? "catalog" : NULL;
	return 0;
}

int catalog_read(struct arena *a, struct str bytes, const char *const *keys, const struct model_info **ret_rows,
		 size_t *ret_count, struct err *err)
{
	static const char *const members[] = { "models", NULL };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_CATALOG, .depth = 16 } };
	AUTO_BUF struct buf signature = { 0 };
	const struct json *root;
	bool trusted = false;

	if (json_parse(&reader, bytes.p, bytes.n, &root, err) < 0)
		return err_wrap(err, "the catalog is not JSON");
	const struct json *catalog = json_get(root, "catalog");
	if (!json_is(catalog, JSON_OBJECT) ||
	    base64_decode(&signature, json_str(json_get(root, "signature"), a), NULL) < 0)
		return err_set(err, ERR_PARSE,
			       "not a catalog: {\"catalog\": {...}, \"signature\": \"...\"} was expected");
	for (; keys && *keys && !trusted; keys++)
		trusted = is_signed_with(*keys, json_raw(catalog), buf_str(&signature));
	if (!trusted)
		return err_set(
			err, ERR_DENIED,
			"the signature is not that of a trusted key: the file was changed, or its maker's key is not in "
			"modelCatalogKeys");
	size_t most = 0, count = 0;
	for (struct json_member p = json_members(catalog); p.key; p = json_member_next(catalog, p))
		most += json_get(p.value, "models") ? json_get(p.value, "models")->count : 0;
	struct model_info *rows = arena_calloc(a, (most + 1) * sizeof *rows);
	for (struct json_member p = json_members(catalog); p.key; p = json_member_next(catalog, p)) {
		const struct json *models = json_get(p.value, "models");
		const char *provider = json_cstr(p.key, a);
		if (!json_is(models, JSON_OBJECT) || unknown_member(p.value, members))
			return err_set(err, ERR_PARSE, "%s: {\"models\": {...}} was expected", provider);
		for (struct json_member m = json_members(models); m.key; m = json_member_next(models, m))
			if (read_model(a, provider, m.key, m.value, &rows[count++], err) < 0)
				return -(int)err->kind;
	}
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}
