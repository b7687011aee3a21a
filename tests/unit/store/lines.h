/* SPDX-License-Identifier: MIT
 * lines.h - lines of session files as a person would write them for a test. UUID and PARENT are any short names; NONE is
 * the parent of a first line. */
#pragma once

/* clang-format off */
#define NONE "null"
#define OF(uuid) "\"" uuid "\""
#define TEXT_BLOCK(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define CALL_BLOCK(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Read\",\"input\":{\"file_path\":\"/x\"}}"
#define RESULT_BLOCK(id, text) "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" text "\"}"

/* A line without its end, so that tests can leave it out. */
#define USER_LINE(uuid, parent, blocks)                                                                 \
	"{\"parentUuid\":" parent ",\"isSidechain\":false,\"type\":\"user\",\"uuid\":\"" uuid           \
	"\",\"message\":{\"role\":\"user\",\"content\":[" blocks "]}}"
#define ANSWER_LINE(uuid, parent, id, partial, blocks, stop)                                            \
	"{\"parentUuid\":" parent ",\"type\":\"assistant\",\"uuid\":\"" uuid "\"" partial               \
	",\"message\":{\"id\":\"" id "\",\"role\":\"assistant\",\"content\":[" blocks "],\"stop_reason\":" stop "}}"

#define PROMPT(uuid, parent, text) USER_LINE(uuid, parent, TEXT_BLOCK(text)) "\n"
#define RESULT(uuid, parent, id, text) USER_LINE(uuid, parent, RESULT_BLOCK(id, text)) "\n"
#define PART(uuid, parent, id, block) ANSWER_LINE(uuid, parent, id, ",\"partial\":true", block, "null") "\n"
#define CLOSE(uuid, parent, id, stop) ANSWER_LINE(uuid, parent, id, "", "", "\"" stop "\"") "\n"
/* As another program writes a block: nothing says that it is partial. */
#define FOREIGN(uuid, parent, id, block) ANSWER_LINE(uuid, parent, id, "", block, "null") "\n"
#define BOUNDARY(uuid, before)                                                                          \
	"{\"parentUuid\":null,\"logicalParentUuid\":" before ",\"type\":\"system\",\"subtype\":\"compact_boundary\"" \
	",\"uuid\":\"" uuid "\"}\n"
#define SUMMARY(uuid, parent, meta, text)                                                               \
	"{\"parentUuid\":" parent ",\"type\":\"user\"" meta ",\"isCompactSummary\":true,\"uuid\":\"" uuid        \
	"\",\"message\":{\"role\":\"user\",\"content\":[" TEXT_BLOCK(text) "]}}\n"
#define SEEN(uuid, parent, time, path)                                                                  \
	"{\"type\":\"user\",\"uuid\":\"" uuid "\",\"parentUuid\":" parent ",\"timestamp\":\"" time                \
	"\",\"message\":{\"content\":\"x\"},\"toolUseResult\":{\"filePath\":\"" path "\"}}\n"
#define FOUND(uuid, parent, names)                                                                      \
	"{\"type\":\"user\",\"uuid\":\"" uuid "\",\"parentUuid\":" parent ",\"message\":{\"content\":\"x\"},"          \
	"\"toolUseResult\":{\"matches\":[" names "],\"query\":\"q\",\"total_deferred_tools\":9}}\n"
#define FORK(uuid, session, from)                                                                       \
	"{\"parentUuid\":null,\"type\":\"fork-origin\",\"uuid\":\"" uuid "\",\"forkedFrom\":{\"sessionId\":\"" session \
	"\",\"uuid\":\"" from "\"}}\n"
/* clang-format on */
