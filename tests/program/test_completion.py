#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The completion scripts, each in its own shell, and the manual page in its own formatter."""
import json
import os
import pathlib
import shutil
import subprocess

from lab import CADRE, Skip, main

LIMIT_S = 60

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_cadre "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""

# What is offered, one a line, instead of the listing that people see. zpty gives completion the terminal it needs.
ZSH_INSIDE = r"""
PROMPT= PS2= RPROMPT=
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit && compinit -D -u -d $COMPLETIONS/dump
zstyle ':completion:*' list-grouped false
compadd() {
	local -a here
	builtin compadd -O here "$@"
	(($#here)) && print -rl -- $here >> $COMPLETIONS/offered
	builtin compadd "$@"
}
finish() { zle complete-word; print -r -- THE-END }
zle -N finish
bindkey '^I' finish
setopt no_list_beep no_auto_menu
print -r -- READY
"""
ZSH = r"""
zmodload zsh/zpty
zpty -b inner zsh -f -i
zpty -w inner "source $COMPLETIONS/inside; "
zpty -r -m inner answer '*READY*' || exit 1
zpty -w -n inner "$LINE"$'\t'
zpty -r -m inner answer '*THE-END*' || exit 1
zpty -d inner
"""


def need(program):
    path = shutil.which(program)
    if not path:
        raise Skip(f"{program} is not installed")
    return path


def script(lab, shell, name):
    """The script of a shell, in a directory of its own; `cadre` in that directory is the program."""
    place = pathlib.Path(lab.home, shell)
    if not place.exists():
        place.mkdir()
        (place / "cadre").symlink_to(CADRE)
        made = lab.cadre("completion", shell)
        assert made.code == 0 and not made.err, made
        (place / name).write_text(made.out)
    return place / name


def shell_env(lab, place, **more):
    kept = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return {**kept, "HOME": str(lab.home), "PATH": f"{place}:{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8", **more}


def said_by(lab, argv, **more):
    done = subprocess.run(argv, env=shell_env(lab, **more), cwd=lab.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0 and not done.stderr, done
    return [line for line in done.stdout.splitlines() if line]


def in_bash(lab, *words):
    path = script(lab, "bash", "cadre.bash")
    return said_by(lab, [need("bash"), "--norc", "-c", BASH, "bash", str(path), *words], place=path.parent)


def in_fish(lab, line):
    """Texts behind the tab are what fish shows beside a word."""
    path = script(lab, "fish", "cadre.fish")
    lines = said_by(lab, [need("fish"), "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", str(path), line],
                    place=path.parent)
    return [word.split("\t")[0] for word in lines]


def in_zsh(lab, line):
    place = script(lab, "zsh", "_cadre").parent
    (place / "inside").write_text(ZSH_INSIDE)
    (place / "offered").write_text("")
    said_by(lab, [need("zsh"), "-f", "-c", ZSH], place=place, COMPLETIONS=str(place), LINE=line)
    return [word.split(":")[0] for word in (place / "offered").read_text().splitlines()]


def session(lab, title):
    lab.model("rule\n  text an answer")
    done = lab.cadre("-p", "--output-format", "json", "--name", title, "hi")
    assert done.code == 0, done
    return json.loads(done.out)["session_id"]


def bash_completes_flags_values_commands_and_their_words(lab):
    assert in_bash(lab, "cadre", "--mo") == ["--model"]
    assert in_bash(lab, "cadre", "--output-format", "j") == ["json"]
    assert in_bash(lab, "cadre", "--output-format", "=", "st") == ["stream-json"]
    assert in_bash(lab, "cadre", "se") == ["sessions"]
    assert in_bash(lab, "cadre", "sessions", "s") == ["search", "show"]
    assert in_bash(lab, "cadre", "sessions", "prune", "--o") == ["--older-than"]
    pathlib.Path(lab.work, "notes.txt").write_text("")
    assert in_bash(lab, "cadre", "--settings", "no") == ["notes.txt"]


def fish_completes_flags_values_commands_and_their_words(lab):
    assert in_fish(lab, "cadre --mo") == ["--model"]
    assert in_fish(lab, "cadre --output-format j") == ["json"]
    assert in_fish(lab, "cadre se") == ["sessions"]
    assert in_fish(lab, "cadre sessions s") == ["search", "show"]
    assert in_fish(lab, "cadre sessions prune --o") == ["--older-than"]
    pathlib.Path(lab.work, "notes.txt").write_text("")
    assert in_fish(lab, "cadre --settings no") == ["notes.txt"]


def zsh_completes_flags_values_commands_and_their_words(lab):
    assert "--model" in in_zsh(lab, "cadre --mo")
    assert in_zsh(lab, "cadre --output-format j") == ["json"]
    assert in_zsh(lab, "cadre se") == ["sessions"]
    assert in_zsh(lab, "cadre sessions s") == ["search", "show"]
    assert "--older-than" in in_zsh(lab, "cadre sessions prune --o")
    pathlib.Path(lab.work, "notes.txt").write_text("")
    assert "notes.txt" in in_zsh(lab, "cadre --settings no")


def every_shell_completes_the_ids_of_sessions(lab):
    one = session(lab, "A title: with a colon")
    assert in_bash(lab, "cadre", "--resume", one[:4]) == [one]
    assert in_bash(lab, "cadre", "-p", "-r", "") == [one]
    assert in_bash(lab, "cadre", "sessions", "show", "") == [one]
    assert in_bash(lab, "cadre", "rewind", "") == [one]
    assert in_fish(lab, f"cadre --resume {one[:4]}") == [one]
    assert one in in_fish(lab, "cadre sessions export ")
    assert in_fish(lab, "cadre tasks ") == [one]
    assert one in in_zsh(lab, f"cadre --resume {one[:4]}")
    assert one in in_zsh(lab, "cadre sessions show ")
    assert one in in_zsh(lab, "cadre rewind ")


def the_manual_page_is_formatted_without_a_warning(lab):
    page = lab.cadre("manual").out
    done = subprocess.run([need("groff"), "-ww", "-man", "-Tutf8", "-rLL=100n", "-P-cbou"], input=page.encode(), capture_output=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()[-2000:]
    text = done.stdout.decode()
    plain = text.replace("\u2010", "-")
    for expected in ("CADRE(1)", "--resume", "sessions", "--fallback-model"):
        assert expected in plain, expected


def titles_of_sessions_cannot_act_on_the_terminal(lab):
    lab.model("rule\n  text ok\n")
    assert lab.cadre("-p", "hello\x1b]0;x\x07 \u009b31m\u202e there").code == 0
    for done in (lab.cadre("-p", "--resume"), lab.cadre("completion", "reply", "--", "--resume", "")):
        said = done.out + done.err
        assert "hello" in said and "there" in said and not set("\x1b\x07\u009b\u202e") & set(said), done


if __name__ == "__main__":
    main(titles_of_sessions_cannot_act_on_the_terminal, bash_completes_flags_values_commands_and_their_words, fish_completes_flags_values_commands_and_their_words,
         zsh_completes_flags_values_commands_and_their_words, every_shell_completes_the_ids_of_sessions,
         the_manual_page_is_formatted_without_a_warning)
