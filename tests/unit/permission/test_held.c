/* SPDX-License-Identifier: MIT
 * test_held.c - commands that are there to read, though no table says what they do, pass as reading: whole texts, where the kernel
 * holds reading, and where no rule must see what they are about. */
#include "guard/permission/permission.h"
#include "stage.h"
#include "tests.h"

static const char *const held[] = {
	"python3 -c 'print(1)'",
	"python3 -c 'open(\"x\", \"w\")'", /* the kernel's matter */
	"node -e 'console.log(1)'",
	"perl -ne 'print' f",
	"awk '{print $1}' f | sort | head -3",
	"make -n",
	"make -C src -pn | head",
	"npm ls --depth=0",
	"cargo metadata --offline --format-version 1",
	"timeout 5 make -n",
	"LC_ALL=C awk 1 f",
	"git log --oneline | awk '{print $1}'",
	"for x in a b; do echo $x; done",
	"for x in src/*; do wc -l \"$x\"; done",
	"while read l; do echo \"$l\"; done < f",
	"if [ -f f ]; then cat f; fi",
	"(cd src && ls)",
	"{ ls; cat f; }",
	"wc -l $(git ls-files)",
	"diff <(sort f) <(sort w.txt)",
	"xargs -n1 basename < f",
	"git ls-files -z | xargs -0 grep -c x",
	"echo f | xargs cat",
	"find . -name '*.c' -exec wc -l {} +",
	"find . -type f -exec grep -l x {} \\; -print",
	"while IFS=, read -r a b; do echo \"$b\"; done < f",
	"n=$(wc -l < f); echo \"$n\"",
	"test -z \"$(git status --porcelain)\" && echo clean",
	"git symbolic-ref --short HEAD",
	"git symbolic-ref -q HEAD",
	"git symbolic-ref HEAD",
	"cd src && cat ../docs/d.md",
	"cd src; python3 -c 'print(1)'; head -1 ../f",
	"cd src && ls ..",
	"git archive HEAD | tar -tf -",
	"git hash-object f",
	"nm f",
	"objdump -x f",
	"cargo --version",
	"terraform plan --help",
	"python3 -m json.tool f",
	"npx --offline tsc --noEmit",
	"python3 - <<'E'\nprint(1)\nE\n",
	"npm run",
	"rustc -V",
	"rustup toolchain list",
	"cargo locate-project",
	"ctest -N",
	"python3 -m pytest --collect-only -q",
	"PYTHONPATH=src python3 -c 'print(1)'",
	"GIT_PAGER=cat git log -1",
	"cd src && git status",
	"git -C src log -1",
	"git -c color.ui=false log -1",
	"git config user.name",
	"git format-patch -1 --stdout",
	"head -1 /usr/include/stdio.h",
	"cat /proc/meminfo",
	"cat /etc/hosts",
	"cd src; wc -l *.c; cd ..",
	"wc -l src/{x,y}.c",
	"grep -rn x --include=*.{c,h} .",
	"printf '%s\\n' {1..3}",
	"ls -d .*c",
	"n=f; wc -l \"$n\"; cat $n",
	"VERSION=$(cat f); echo \"$VERSION\"",
	"ROOT=$(pwd); ls \"$ROOT/src\"",
	"for x in src docs; do cat \"$x/k\"; done",
	"for x in a b; do git show -s $x; done",
	"for x in ls cat; do command -v $x; done",
	"read -r a < f; ls \"$a\"",
	"ps -o pid -p $$",
	"[ -z \"$FOO\" ] && echo empty",
	"i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
	"x=$(wc -l < f); if [ $x -gt 2 ]; then echo many; fi",
	"export A=1; readonly B=2; echo $A",
	"xargs -n 2 < f",
	"grep -R x src",
	"cat f | tee /dev/null | wc -l",
	"find . -exec grep -n x {} /dev/null \\;",
	"python3 -m pip --version",
	"python3 -m zipfile -l a.zip",
	"openssl rand -hex 8",
	"cargo fmt --all -- --check",
	"curl -V",
	"make -rpn",
};

/* The step that lets the command pass; -1: none does. */
static int step_of(struct stage *s, const struct permission *p, const char *command)
{
	struct permission_verdict v = { 0 };

	permission_explain(p, *stage_bash(s, command), PERMISSION_HINT_NONE, &v);
	int step = v.decision == PERMISSION_ALLOW ? (int)v.step : -1;
	permission_verdict_release(&v);
	return step;
}

static void check_all(const struct permission *p, int step)
{
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(held); i++)
		if (step_of(&stage, p, held[i]) != step)
			fail_msg("%s: %d, not %d", held[i], step_of(&stage, p, held[i]), step);
}

TEST(what_is_there_to_read_passes_as_reading_in_every_mode)
{
	static const enum permission_mode modes[] = { PERMISSION_DEFAULT, PERMISSION_PLAN, PERMISSION_DONT_ASK,
						      PERMISSION_ACCEPT_EDITS, PERMISSION_AUTO };

	for (size_t i = 0; i < COUNT_OF(modes); i++)
		check_all(&(struct permission){ .mode = modes[i], .can_ask = true }, PERMISSION_STEP_READING);
}

TEST(what_is_there_to_read_is_asked_about_where_the_kernel_does_not_hold_it)
{
	check_all(&(struct permission){ .can_ask = true, .unenforced = PERMISSION_ALL_UNENFORCED }, -1);
	check_all(&(struct permission){ .can_ask = true, .unenforced = PERMISSION_EDITS_UNENFORCED }, -1);
}

TEST(what_is_there_to_read_is_asked_about_where_a_rule_must_see_what_it_does)
{
	static const char *const rules[] = { "deny Bash(curl *)", "ask Bash(git push *)", "deny Read(.env)",
					     "ask Read(./secrets/**)", "deny Edit(src/**)" };
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		struct permission p = { .can_ask = true };
		stage_rules(&stage, &p, rules[i]);
		check_all(&p, -1);
		permission_release(&p);
	}
}

TEST(what_is_there_to_read_passes_whole_or_not_at_all)
{
	static const char *const asked[] = {
		"python3 -c 'print(1)'; npm test",
		"npm test && python3 -c 'print(1)'",
		"python3 -c 'print(1)' > out.txt",
		"for x in a; do echo $x > out.txt; done",
		"for x in a; do rm \"$x\"; done",
		"for x in *; do cat \"$x/../k\"; done",
		"for x in a; do git -C \"$x\" log; done",
		"cd .. && git status",
		"cd src && cat ../../f",
		"cd src && ls ../..",
		"cd src && python3 x ../..",
		"git symbolic-ref -d HEAD",
		"git symbolic-ref -m x HEAD",
		"git -C .. log",
		"git -C src -C .. log",
		"git -c core.pager=less log",
		"git -c core.fsmonitor=x status",
		"git -c diff.external=x -c color.ui=false diff",
		"cd \"$x\" && make -n",
		"python3 x.py",
		"python3 -m http.server",
		"make",
		"npm install",
		"node x.js",
		"python3 -c 'print(1)' &",
		"f() { python3 -c 'print(1)'; }; f",
		"ls | xargs python3 -c 'print(1)'",
		"LD_PRELOAD=x python3 -c 'print(1)'",
		"PATH=. python3 -c 'print(1)'",
		"GIT_EXTERNAL_DIFF=x git diff",
		"GIT_PAGER=less git log -1",
		"GIT_PAGER=\"$x\" git log -1",
		/* What changes something, with a word that would make another form of it pass */
		"npm install ls",
		"cargo install tree",
		"cargo run -- -V",
		"pip install show",
		"npm run build",
		"bash build.sh -n",
		"python3 x.py -c",
		"python3 -m http.server --version x",
		"node x.js -p",
		"java -jar x.jar -version",
		"perl -pi -e s/a/b/ f",
		"ruby -i -pe 1 f",
		"gawk -i inplace 1 f",
		"clang-format -i f",
		"yq -i .a=1 f",
		"tar xf x.tar tf",
		"gcc -c -v f.c",
		"terraform fmt",
		"eslint --fix .",
		"fd -x rm",
		"env x=1 ls",
		"env ls",
		"npx --yes tsc --noEmit",
		"npx tsc --noEmit",
		"npx --no-install tsc --noEmit",
		"sqlite3 a.db 'delete from t'",
		"sh x --version",
		"./x --version",
		"x a/b --help",
		"make install --help x",
		"nm /etc/shadow",
		"objdump -d ..",
		"nm ~/x",
		"head -1 /etc/shadow",
		"cat /proc/1/environ",
		"ls | bash",
		"./python3 -c 'print(1)'",
		"awk 1 /etc/passwd < /etc/shadow",
		"for x in a; do cat ../x; done",
		"eval \"python3 -c 'print(1)'\"",
		"find . -exec rm {} +",
		"find . -exec sh -c 'cat $1' _ {} +",
		"find . -exec {} \\;",
		"find . -delete",
		"find . -exec cat {} \\; -fprint out",
		"find . -exec cat {}",
		"ls | xargs -I{} {} f",
		"ls | xargs -n1 sh -c",
		"ls | xargs rm",
		"ls | xargs -a list cat",
		"xargs -n1 basename < /etc/shadow",
		"wc -l $(rm f)",
		"cat <(rm f)",
		"PATH=. wc -l $(ls)",
		"IFS=x eval ls",
		"IFS=/; cat $(ls)",
		"LD_PRELOAD=x ls $(ls)",
		"git symbolic-ref HEAD refs/heads/x",
		"git hash-object -w f",
		"git archive -o out.tar HEAD",
		"git archive --output=out.tar HEAD",
		"git $(echo commit)",
		"sort -o out $(ls)",
		"$(echo rm) f",
		"cat ~/$(echo x)",
		"cat \"$HOME\"/$(echo x)",
		"sed -i s/a/b/ $(ls)",
		"sed -n '/x/{w out\np}' f",
		"cat $FILE",
		"FILE=/etc/shadow; cat $FILE",
		"FILE=~/x; cat \"$FILE\"",
		"FILE=x cat $FILE",
		"d=src; cat \"$d/../../f\"",
		"cat {/etc/shadow,f}",
		"cat {f,../../x}",
		"cat ../{a,b}",
		"ls .*",
		"echo ~/.s*",
		"cat /etc/passwd",
		"GIT_DIR=x; git log | awk 1",
		"export GIT_DIR=x; git log",
		"export PATH=x; ls",
		"[ -f f ] > out",
		"[ x ] < /dev/tcp/127.0.0.1/1",
		"command rm $(ls)",
		"command -p $x",
		"cargo fmt",
		"cargo build --check",
		"kubectl apply --client",
		"tee out < f",
		"tee /dev/null out",
		"patch -p1",
		"pip list --outdat",
		"openssl rand -out x 8",
		"xargs -n 2 rm < f",
	};
	STAGE(stage);
	struct permission p = { .mode = PERMISSION_ACCEPT_EDITS, .can_ask = true };

	stage_rules(&stage, &p, "allow Bash(npm test)");
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		if (step_of(&stage, &p, asked[i]) == PERMISSION_STEP_READING)
			fail_msg("passes: %s", asked[i]);
	p.mode = PERMISSION_DEFAULT;
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		if (step_of(&stage, &p, asked[i]) >= 0)
			fail_msg("passes in default: %s", asked[i]);
	struct tool_use *wish = stage_call(&stage, "Bash", "{'command':'make -n','dangerouslyDisableSandbox':true}");
	CHECK_INT(stage_decide(&p, wish), PERMISSION_ASK);
	CHECK_INT(stage_decide(&p, stage_call(&stage, "Monitor", "{'command':'make -n'}")), PERMISSION_ASK);
	permission_release(&p);
}

int test_held(void)
{
	return RUN_TESTS(T(what_is_there_to_read_passes_as_reading_in_every_mode),
			 T(what_is_there_to_read_is_asked_about_where_the_kernel_does_not_hold_it),
			 T(what_is_there_to_read_is_asked_about_where_a_rule_must_see_what_it_does),
			 T(what_is_there_to_read_passes_whole_or_not_at_all));
}
