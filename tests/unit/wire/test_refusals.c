/* SPDX-License-Identifier: MIT
 * test_refusals.c - how servers say no: the words of each, and what they have to mean here. A new sighting is a new line. */
#include "unit.h"
#include "core/wire/failure.h"
#include "test_wire.h"

enum { AGAIN = -1 }; /* until the deadline */

static const struct {
	const char *server;
	int status;
	const char *body, *name;
	bool too_long;
	int tries;
} refusals[] = {
	/* too long */
	{ "Anthropic", 400,
	  "{'error':{'type':'invalid_request_error','message':'prompt is too long: 210000 tokens > 200000 maximum'}}",
	  "invalid_request", true, 1 },
	{ "Anthropic", 400,
	  "{'error':{'message':'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000'}}",
	  "invalid_request", true, 1 },
	{ "Anthropic", 413, "{'error':{'type':'request_too_large','message':'Request exceeds the maximum size'}}",
	  "invalid_request", true, 1 },
	{ "OpenAI", 400,
	  "{'error':{'message':'Your input exceeds the context window of this model.','code':'context_length_exceeded'}}",
	  "invalid_request", true, 1 },
	{ "OpenAI", 400, "{'error':{'message':'no','code':'context_length_exceeded'}}", "invalid_request", true, 1 },
	{ "Gemini", 400,
	  "[{'error':{'code':400,'message':'The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).','status':'INVALID_ARGUMENT'}}]",
	  "invalid_request", true, 1 },
	{ "xAI", 400, "{'error':'This model maximum prompt length is 131072 but the request contains 200000 tokens.'}",
	  "invalid_request", true, 1 },
	{ "Groq", 400,
	  "{'error':{'message':'Please reduce the length of the messages or completion.','code':'context_length_exceeded'}}",
	  "invalid_request", true, 1 },
	{ "Bedrock", 400, "{'message':'Input is too long for requested model.'}", "invalid_request", true, 1 },
	{ "Kimi", 400, "{'error':{'message':'Invalid request: Your request exceeded model token limit: 131072'}}",
	  "invalid_request", true, 1 },
	{ "Copilot", 400,
	  "{'error':{'message':'prompt token count of 140000 exceeds the limit of 128000','code':'model_max_prompt_tokens_exceeded'}}",
	  "invalid_request", true, 1 },
	{ "Qwen", 400, "{'error':{'message':'Range of input length should be [1, 129024]'}}", "invalid_request", true,
	  1 },
	{ "Z.ai", 400, "{'error':{'code':'1261','message':'Prompt exceeds max length'}}", "invalid_request", true, 1 },
	{ "Together", 422,
	  "{'error':{'message':'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193'}}",
	  "invalid_request", true, 1 },
	{ "Mistral", 400,
	  "{'object':'error','message':'Prompt contains 40000 tokens, too large for model with 32768 maximum context length'}",
	  "invalid_request", true, 1 },
	{ "Ollama", 400, "{'error':{'message':'prompt too long; exceeded max context length by 12 tokens'}}",
	  "invalid_request", true, 1 },
	{ "llama.cpp", 400,
	  "{'error':{'code':400,'message':'the request exceeds the available context size','type':'exceed_context_size_error','n_ctx':8192}}",
	  "invalid_request", true, 1 },
	{ "vLLM", 400,
	  "{'object':'error','message':'This models maximum context length is 8192 tokens.','type':'BadRequestError'}",
	  "invalid_request", true, 1 },
	{ "LiteLLM", 400, "{'error':{'message':'litellm.ContextWindowExceededError: no'}}", "invalid_request", true,
	  1 },
	{ "LM Studio", 400, "{'error':'The number of tokens to keep is greater than the context length'}",
	  "invalid_request", true, 1 },
	{ "DeepSeek", 400,
	  "{'error':{'message':'This models maximum context length is 131072 tokens. However, you requested 140000'}}",
	  "invalid_request", true, 1 },
	{ "OpenRouter", 400,
	  "{'error':{'message':'This endpoints maximum context length is 200000 tokens','code':400}}",
	  "invalid_request", true, 1 },
	{ "DeepInfra", 500, "{'detail':'input is longer than the models context window'}", "server_error", true,
	  AGAIN },
	{ "MiniMax", 400, "{'error':{'message':'context window exceeds limit'}}", "invalid_request", true, 1 },
	/* limits of rate that speak of tokens */
	{ "OpenAI", 429,
	  "{'error':{'message':'Rate limit reached: too many tokens per min','code':'rate_limit_exceeded'}}",
	  "rate_limit", false, 5 },
	{ "Bedrock", 400, "{'message':'ThrottlingException: too many tokens'}", "invalid_request", false, 1 },
	{ "Bedrock", 429, "{'message':'Too many tokens, please wait before trying again.'}", "rate_limit", false, 5 },
	{ "Groq", 429, "{'error':{'message':'Rate limit reached. Please try again in 11.054s.'}}", "rate_limit", false,
	  AGAIN },
	{ "Groq", 498, "{'error':{'message':'capacity exceeded'}}", "rate_limit", false, 5 },
	{ "Gemini", 429,
	  "[{'error':{'code':429,'status':'RESOURCE_EXHAUSTED','message':'quota','details':[{'retryDelay':'13s'}]}}]",
	  "rate_limit", false, AGAIN },
	{ "Anthropic", 429, "{'error':{'type':'rate_limit_error','message':'slow'}}", "rate_limit", false, 5 },
	{ "Mistral", 429, "{'message':'Requests rate limit exceeded'}", "rate_limit", false, 5 },
	{ "Foundry", 429, "{'error':{'code':'429','message':'Please retry after 20 seconds.'}}", "rate_limit", false,
	  AGAIN },
	/* unpaid */
	{ "OpenAI", 429, "{'error':{'message':'You exceeded your current quota','type':'insufficient_quota'}}",
	  "billing_error", false, 1 },
	{ "OpenAI", 429, "{'error':{'message':'x','code':'billing_hard_limit_reached'}}", "billing_error", false, 1 },
	{ "Gemini", 429,
	  "{'error':{'message':'quota','details':[{'quotaId':'GenerateRequestsPerDayPerProjectPerModel'}]}}",
	  "billing_error", false, 1 },
	{ "DeepSeek", 402, "{'error':{'message':'Insufficient Balance'}}", "billing_error", false, 1 },
	{ "OpenRouter", 402, "{'error':{'code':402,'message':'more credits'}}", "billing_error", false, 1 },
	{ "Kimi", 429, "{'error':{'type':'insufficient_quota','message':'check your plan'}}", "billing_error", false,
	  1 },
	{ "xAI", 403, "{'code':'x','error':'Your team has reached its monthly spend limit.'}", "billing_error", false,
	  1 },
	{ "LiteLLM", 429, "{'error':{'message':'insufficient_balance'}}", "billing_error", false, 1 },
	/* credentials */
	{ "Anthropic", 401, "{'error':{'type':'authentication_error','message':'invalid x-api-key'}}",
	  "authentication_failed", false, 1 },
	{ "OpenAI", 401, "{'error':{'message':'Incorrect API key provided','code':'invalid_api_key'}}",
	  "authentication_failed", false, 1 },
	{ "Bedrock", 403, "{'message':'The security token included in the request is expired'}",
	  "authentication_failed", false, 1 },
	{ "Vertex", 401,
	  "[{'error':{'code':401,'message':'Request had invalid authentication credentials','status':'UNAUTHENTICATED'}}]",
	  "authentication_failed", false, 1 },
	{ "Foundry", 401, "{'error':{'code':'401','message':'Access denied due to invalid subscription key'}}",
	  "authentication_failed", false, 1 },
	{ "vLLM", 401, "{'error':'Unauthorized'}", "authentication_failed", false, 1 },
	/* no such model */
	{ "Anthropic", 404, "{'error':{'type':'not_found_error','message':'model: x'}}", "model_not_found", false, 1 },
	{ "Ollama", 404, "{'error':{'message':'model x not found'}}", "model_not_found", false, 1 },
	{ "llama.cpp", 404, "{'error':{'code':404,'message':'File Not Found'}}", "model_not_found", false, 1 },
	{ "FastAPI", 404, "{'detail':'Not Found'}", "model_not_found", false, 1 },
	{ "Vertex", 404, "[{'error':{'code':404,'message':'Publisher Model was not found','status':'NOT_FOUND'}}]",
	  "model_not_found", false, 1 },
	/* the server's own trouble */
	{ "Anthropic", 529, "{'error':{'type':'overloaded_error','message':'Overloaded'}}", "overloaded", false,
	  AGAIN },
	{ "Bedrock", 503, "{'message':'Bedrock is unable to process your request.'}", "server_error", false, AGAIN },
	{ "Bedrock", 424, "{'message':'ModelErrorException'}", "server_error", false, AGAIN },
	{ "Bedrock", 408, "{'message':'Model has timed out'}", "server_error", false, AGAIN },
	{ "Gemini", 503, "[{'error':{'code':503,'message':'The model is overloaded','status':'UNAVAILABLE'}}]",
	  "server_error", false, AGAIN },
	{ "OpenAI", 500, "{'error':{'message':'The server had an error'}}", "server_error", false, AGAIN },
	{ "nginx", 502, "<html><head><title>502 Bad Gateway</title></head></html>", "server_error", false, AGAIN },
	{ "nginx", 504, "", "server_error", false, AGAIN },
	{ "Cloudflare", 520, "<!DOCTYPE html><title>x</title>", "server_error", false, AGAIN },
	/* other mistakes */
	{ "Mistral", 422, "{'detail':[{'loc':['body','x'],'msg':'Extra inputs are not permitted'}]}", "invalid_request",
	  false, 1 },
	{ "Bedrock", 400, "{'message':'invalid beta flag'}", "invalid_request", false, 1 },
	{ "Groq", 400, "{'error':{'message':'Failed to call a function','code':'tool_use_failed'}}", "invalid_request",
	  false, 1 },
	{ "llama.cpp", 400, "{'error':{'message':'failed to parse grammar'}}", "invalid_request", false, 1 },
};

TEST(each_servers_words_mean_what_they_should)
{
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		struct failure f = { .retry_after_ms = -1 };
		char body[512];
		snprintf(body, sizeof body, "%s", refusals[i].body);
		for (char *p = body; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		print_message("# %s %d %s\n", refusals[i].server, refusals[i].status, body);

		failure_from_body(&f, refusals[i].status, str_from(body));

		CHECK_CSTR(failure_name(&f), refusals[i].name);
		CHECK_INT(failure_is_too_long(&f), refusals[i].too_long);
		if (refusals[i].tries == AGAIN) {
			CHECK(failure_retry_delay_ms(&f, 1000, 0) >= 0);
		} else {
			CHECK_INT(failure_retry_delay_ms(&f, (unsigned)refusals[i].tries, 0), -1);
			CHECK(refusals[i].tries == 1 ||
			      failure_retry_delay_ms(&f, (unsigned)refusals[i].tries - 1, 0) >= 0);
		}
	}
}

TEST(the_window_that_a_refusal_names_is_read)
{
	static const struct {
		const char *body;
		int64_t window;
	} rows[] = {
		{ "prompt is too long: 210000 tokens > 200000 maximum", 200000 },
		{ "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", 200000 },
		{ "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 1048576 },
		{ "This model maximum prompt length is 131072 but the request contains 200000 tokens.", 131072 },
		{ "Your request exceeded model token limit: 131072", 131072 },
		{ "prompt token count of 140000 exceeds the limit of 128000", 128000 },
		{ "Range of input length should be [1, 129024]", 129024 },
		{ "`inputs` tokens + `max_new_tokens` must be <= 8193", 8193 },
		{ "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768 },
		{ "the request exceeds the available context size (8192 tokens), try increasing it", 8192 },
		{ "maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, "
		  "4000 in the completion)",
		  8192 },
		{ "maximum context length is 128,000 tokens, you sent 130,500", 128000 },
		{ "the context window has 16384 tokens, the request 20000", 16384 },
		{ "prompt too long; exceeded max context length by 12 tokens", 0 },
		{ "context window exceeds limit", 0 },
		{ "input is longer than the context window: 5000 + 6000 + 7000", 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .retry_after_ms = -1 };
		char body[256];
		snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", rows[i].body);
		print_message("# %s\n", rows[i].body);
		failure_from_body(&f, 400, str_from(body));
		CHECK(f.too_long);
		CHECK_INT(f.window, rows[i].window);
	}
}

TEST(a_time_to_wait_is_found_in_the_text)
{
	static const struct {
		const char *body;
		int64_t ms;
	} rows[] = {
		{ "{\"error\":{\"message\":\"Please try again in 11.054s.\"}}", 11054 },
		{ "{\"error\":{\"message\":\"try again in 1m2.5s\"}}", 62500 },
		{ "{\"error\":{\"message\":\"try again in 20ms\"}}", 20 },
		{ "{\"error\":{\"message\":\"retry after 20 seconds\"}}", 20000 },
		{ "[{\"error\":{\"details\":[{\"retryDelay\": \"13.5s\"}],\"message\":\"x\"}}]", 13500 },
		{ "{\"error\":{\"message\":\"try again in a while\"}}", -1 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .retry_after_ms = -1 };
		failure_from_body(&f, 429, str_from(rows[i].body));
		CHECK_INT(f.retry_after_ms, rows[i].ms);
	}
}

int test_refusals(void)
{
	return RUN_TESTS(T(each_servers_words_mean_what_they_should), T(the_window_that_a_refusal_names_is_read),
			 T(a_time_to_wait_is_found_in_the_text));
}
