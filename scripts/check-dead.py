#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-dead.py [BUILD]: TAP. Each function and table that a file of src/ exports has a reason to be exported: another file of
src/ or modeld/ uses it, a header in include/ declares it, or its own file uses it and a unit test or a fuzzer enters there. Everything else is
to be static, or is dead: what only tests use goes together with those tests.

It reads the symbol tables of the object files in BUILD (default build-test), so it sees what the linker sees: a comment, a
declaration or code that the preprocessor left out is no use."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def symbols(objects):
    """Yields (object, kind, name) for each global symbol; kind as nm prints it."""
    if not objects:
        return
    out = subprocess.run(["nm", "--print-file-name", "--extern-only", "--format=posix", *map(str, objects)],
                         check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        file, name, kind = re.match(r"(.*): (\S+) (\S)", line).groups()
        yield file, kind, name


def wanted_by(objects):
    return {name for _, kind, name in symbols(objects) if kind == "U"}


def complaints(objects, tests, promised, sources):
    """sources: the name of an object file without .o -> the text of its source."""
    wanted = wanted_by(objects) | promised | {"main"}
    entered = wanted_by(tests)
    for file, kind, name in sorted(symbols(objects), key=lambda s: (s[0], s[2])):
        if kind not in "TDBRVW" or name.startswith("__") or name in wanted:
            continue
        file = pathlib.Path(file).name.removesuffix(".o")
        code = re.sub(r"""\"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|/\*.*?\*/""", "", sources.get(file, ""), flags=re.S)
        if len(re.findall(rf"\b{name}\b", code)) < 2:
            yield f"{file}: {name} is dead" + (": only tests use it" if name in entered else "")
        elif name not in entered:
            yield f"{file}: {name} is used in its own file only: make it static"


def check_itself():
    """What each reason is worth, with two small files and a test."""
    files = {
        "a.c": "int used(void) { return 1; }\nint own(void) { return used(); }\nint entered(void) { return 3; }\n"
               "int table[2] = { 1 }; /* table */\nint tested(void) { return 4; }\n"
               "int promised(void) { return own() + entered(); }\n",
        "b.c": "int used(void); int main(void) { return used(); }\n",
        "test.c": "int tested(void); int entered(void); int test(void) { return tested() + entered(); }\n",
    }
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in files.items():
            (pathlib.Path(tmp) / name).write_text(text)
            subprocess.run(["cc", "-c", name, "-o", name + ".o"], cwd=tmp, check=True)
        objects = [pathlib.Path(tmp) / "a.c.o", pathlib.Path(tmp) / "b.c.o"]
        return list(complaints(objects, [pathlib.Path(tmp) / "test.c.o"], {"promised"}, files))


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build-test"
    objects = [*(build / "src").glob("libroom_*.a.p/*.o"), *(build / "cadre.p").glob("*.o"), *(build / "modeld").glob("*.p/*.o")]
    tests = [*(build / "tests").glob("*.p/*.o"), *(build / "fuzz").glob("*.p/*.o")]
    promised = set(re.findall(r"\b(cadre_\w+)\(", "".join(h.read_text() for h in (ROOT / "include").glob("*.h"))))
    sources = {}
    for file in (ROOT / "src").rglob("*.c"):
        text = file.read_text()
        sources[str(file.relative_to(ROOT / "src")).replace("/", "_")] = text
        sources[str(file.relative_to(ROOT)).replace("/", "_")] = text
    # An object whose source is gone is a rest of an earlier build.
    ours = {o for o in objects if ("libroom_" in o.parent.name and not o.name.startswith("meson-")) or o.name.startswith("src_")}
    objects = [o for o in objects if o not in ours or o.name.removesuffix(".o") in sources]
    found = list(complaints(objects, tests, promised, sources)) if len(objects) > 100 and tests else [f"{build} is not built"]
    expected = ["a.c: own is used in its own file only: make it static", "a.c: table is dead", "a.c: tested is dead: only tests use it"]
    seen = check_itself()
    checks = [("nothing that src exports is dead", not found, found), ("what is dead is found", seen == expected, seen)]
    for number, (name, ok, detail) in enumerate(checks, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {name}")
        for line in [] if ok else detail:
            print("# " + line)
    print(f"1..{len(checks)}")
    sys.exit(not all(ok for _, ok, _ in checks))


main()
