#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh CADRE [DIR]: agents at work on a copy of this repository, played by the embedded scripted model: no key, no network.
# Everything it writes is below DIR (build/demo) and named at the end; the checkout itself is not touched.
set -eu
cadre=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
demo=$(realpath -m "${2:-$root/build/demo}")
prompt=${PROMPT:-Explore this repository, plan a tour for newcomers, write it and have it verified.}

verbose= # a terminal shows the tree
[ -t 2 ] || verbose=--verbose

say() { printf '\n== %s\n' "$*"; }

rm -rf "$demo"
mkdir -p "$demo/config"
# A clone needs no network; a source tree without git becomes a repository of its own.
if git -C "$root" rev-parse --verify -q HEAD >/dev/null 2>&1; then
	git clone -q --no-hardlinks "$root" "$demo/repository"
else
	mkdir "$demo/repository"
	(cd "$root" && tar -c --exclude='./build*' --exclude=./.git .) | tar -x -C "$demo/repository"
	git -C "$demo/repository" init -q
	git -C "$demo/repository" add -A
	git -C "$demo/repository" -c user.name=demo -c user.email=demo@localhost commit -q -m 'as it is'
fi

export CLAUDE_CONFIG_DIR="$demo/config"
export CLAUDE_CODE_TMPDIR="$demo/tmp"
unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN
cd "$demo/repository"

say "cadre -p \"$prompt\""
# shellcheck disable=SC2086 # no word, or one
"$cadre" -p --provider scripted $verbose --permission-mode acceptEdits --trace "$demo/trace.json" "$prompt" \
	--allowed-tools Bash

say "cadre tasks: who did what"
"$cadre" tasks

say "cadre logs: the worker"
worker=$("$cadre" tasks --json | sed -n 's/.*"agentId":"\([^"]*\)"[^{}]*"description":"Write the tour".*/\1/p')
"$cadre" logs "$worker"

say "cadre -p \"Form a small team: ...\": members that stay, talk to each other and share a task list"
cat <<'END'
The lead makes two tasks; the second waits for the first. It starts two members, counter and writer, and gives each a task.
counter works, completes task 1 and sends writer the number. That wakes writer, which was idle. The lead reads the report
and asks both to shut down.

END
# shellcheck disable=SC2086
CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1 "$cadre" -p --provider scripted $verbose \
	"Form a small team: one counts the source files, one sums it up." --allowed-tools Bash

say "cadre team tasks demo: the list that they shared"
"$cadre" team tasks demo

say "cadre logs writer: idle until the message came"
"$cadre" logs writer

say "cadre tasks: both members have shut down"
"$cadre" tasks

say "what was written"
worktree=$(git worktree list --porcelain | sed -n 's/^worktree //p' | sed -n 2p)
echo "the tour, in a worktree    ${worktree:-none}"
echo "sessions and transcripts   $demo/config"
echo "trace, for ui.perfetto.dev $demo/trace.json"
