/* SPDX-License-Identifier: MIT
 * command_list.h - every command, in the order of the alphabet: command.h and command.c include it with COMMAND defined.
 *
 * How to add one: 1. NAME.c with `const struct cadre_command command_NAME` and a function for each of its words; 2. its row here;
 * 3. rows in tests/unit/command/test_command.c; 4. a line where docs speak of its subject. Help, completion and the manual page take
 * it from the table. */

COMMAND(agents)
COMMAND(config)
COMMAND(logs)
COMMAND(mcp)
COMMAND(models)
COMMAND(permissions)
COMMAND(plugin)
COMMAND(rewind)
COMMAND(sandbox)
COMMAND(sessions)
COMMAND(skills)
COMMAND(stop)
COMMAND(tasks)
COMMAND(team)
COMMAND(tell)
COMMAND(trust)
