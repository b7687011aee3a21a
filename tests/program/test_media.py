#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images, PDF documents and notebooks: real files, made here, against what the model server received of them."""
import base64
import ctypes
import json
import os
import pathlib
import random
import resource
import signal
import socket
import struct
import zlib

from lab import DEADLINE_S, Skip, main, until
from test_sandbox import USERS, hide

READ = "rule\n  turn 1\n%srule\n  text ok\n"
IMAGE_BASE64_LIMIT, IMAGE_GOOD_BYTES, IMAGE_GOOD_EDGE = 5 << 20, 500 * 1024, 1568
MEMORY_LIMIT_KB = 900 * 1024  # of a build with sanitizers
# The leak checker of gcc 12 dies when it looks at the thread-local data of libraries that were loaded late.
os.environ["LSAN_OPTIONS"] = os.environ.get("LSAN_OPTIONS", "") + ":use_tls=0"


# ---- files

def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, noise=False):
    rows = random.Random(1)
    line = b"\x40\x80\xc0" * width
    raw = b"".join(b"\0" + (rows.randbytes(3 * width) if noise else line) for _ in range(height))
    return png_of(width, height, zlib.compress(raw, 1))


def png_of(width, height, packed):
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def jpeg(width, height):
    """Noise, through libgd."""
    try:
        gd = ctypes.CDLL("libgd.so.3")
    except OSError as missing:
        raise Skip(str(missing)) from missing
    for name in ("gdImageCreateFromPngPtr", "gdImageJpegPtr"):
        getattr(gd, name).restype = ctypes.c_void_p
    source, size = png(width, height, noise=True), ctypes.c_int()
    image = gd.gdImageCreateFromPngPtr(len(source), source)
    data = gd.gdImageJpegPtr(ctypes.c_void_p(image), ctypes.byref(size), 95)
    made = ctypes.string_at(data, size.value)
    gd.gdFree(ctypes.c_void_p(data))
    gd.gdImageDestroy(ctypes.c_void_p(image))
    return made


def pdf(pages, padding=0):
    """Each page says its number. The table of places at its end is right, as strict readers want it."""
    kids = " ".join("%d 0 R" % (4 + 2 * i) for i in range(pages))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids),
               "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    for i in range(pages):
        text = "BT /F1 40 Tf 50 100 Td (page %d) Tj ET" % (i + 1)
        objects += ["<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
                    % (5 + 2 * i), "<</Length %d>>stream\n%s\nendstream" % (len(text), text)]
    out, places = b"%PDF-1.4\n" + b"%" + b"x" * padding + b"\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body.encode())
    table = "".join("%010d 00000 n \n" % place for place in places)
    return out + ("xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(places) + 1, table, len(places) + 1, len(out))).encode()


def put(lab, name, data):
    path = pathlib.Path(lab.work) / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


# ---- what the model got

def size_of(data):
    """Width and height, from the bytes of a PNG or JPEG."""
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    at = 2
    while data[at + 1] not in (0xc0, 0xc1, 0xc2):
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return width, height


def results(body):
    return [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]


def read(lab, *inputs):
    """One turn with these calls of Read; their results as the model got them."""
    calls = "".join("  call Read %s\n" % json.dumps(i if isinstance(i, dict) else {"file_path": i}) for i in inputs)
    model = lab.model(READ % calls, log=True)
    done = lab.start("-p", "look").wait(4 * DEADLINE_S)  # a hundred million pixels, on a busy machine
    assert done.code == 0 and done.out == "ok\n" and done.err == "", done
    return results(model.bodies()[1])


def media(result, kind):
    assert not result.get("is_error"), result
    found = [b["source"] for b in result["content"] if b["type"] == kind]
    return [(source["media_type"], base64.b64decode(source["data"], validate=True), source["data"]) for source in found]


# ---- tests

def small_images_reach_the_model_byte_for_byte(lab):
    files = {"a.png": png(60, 40, noise=True), "b.jpg": jpeg(64, 48), "no-name": png(1, 1)}
    for name, data in files.items():
        put(lab, name, data)
    for result, data in zip(read(lab, *files), files.values()):
        [(kind, got, _)] = media(result, "image")
        assert got == data and kind == ("image/jpeg" if data.startswith(b"\xff\xd8") else "image/png")


def large_images_are_made_to_fit_the_api(lab):
    files = {"noise.png": png(1500, 1400, noise=True), "wide.png": png(9000, 300), "photo.jpg": jpeg(2400, 1800)}
    sizes = [(1000, 933), (1568, 52), (1568, 1176)]  # noise is heavy at any quality: it loses pixels as well
    for name, data in files.items():
        put(lab, name, data)
    assert len(files["noise.png"]) > 6 << 20 and len(files["photo.jpg"]) > 3 << 20
    for result, size in zip(read(lab, *files), sizes):
        [(kind, got, text)] = media(result, "image")
        assert len(text) <= IMAGE_BASE64_LIMIT and len(got) <= IMAGE_GOOD_BYTES, (size, len(got))
        assert size_of(got) == size and max(size) <= IMAGE_GOOD_EDGE, size_of(got)
        assert kind == ("image/png" if got.startswith(b"\x89PNG") else "image/jpeg")


def hostile_files_are_errors_and_take_bounded_memory(lab):
    cut = jpeg(300, 300)
    notebook = {"cells": [{"cell_type": "code", "source": ["x"], "outputs": []}] * 100000, "nbformat": 4}
    files = {"huge.png": (png_of(100000, 100000, zlib.compress(b"\0" * 1000)), "100000 x 100000 pixels"),
             "cut.jpg": (cut[:len(cut) // 2], "damaged or incomplete JPEG"),
             "none.pdf": (b"%PDF-1.7\n" + random.Random(2).randbytes(5000), "not a PDF file"),
             "broken.ipynb": (b'{"cells": [{"source": ', "not JSON: line 1"),
             "digits.ipynb": (b'{"cells":[' + b"1," * (20 << 20) + b"1]}", "more than 100 MB or 4 million values"),
             "cells.ipynb": (json.dumps(notebook), "PARTIAL view"),
             # 33 million pixels each: they must be decoded, one after the other
             "bomb1.png": (png(5800, 5700), None), "bomb2.png": (png(5800, 5701), None),
             "bomb3.png": (png(5800, 5702), None)}
    for name, (data, _) in files.items():
        put(lab, name, data)
    for (name, (_, text)), result in zip(files.items(), read(lab, *files)):
        shown = result["content"]
        if text is None:
            assert max(size_of(media(result, "image")[0][1])) == IMAGE_GOOD_EDGE, name
            continue
        assert bool(result.get("is_error")) == (name != "cells.ipynb") and text in shown, (name, str(shown)[:300])
        assert len(shown) < 120000, name
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert most < MEMORY_LIMIT_KB, most
    print("# at most %d MB" % (most >> 10))


def an_image_in_a_result_is_the_same_after_the_session_is_resumed(lab):
    put(lab, "a.png", png(2000, 10, noise=True))
    model = lab.model(READ % '  call Read {"file_path": "a.png"}\n', log=True)
    assert lab.cadre("-p", "look").out == "ok\n"
    session = lab.transcripts()[0].stem
    pathlib.Path(lab.work, "a.png").unlink()
    assert lab.cadre("-p", "--resume", session, "again").code == 0
    first, second = model.bodies()[1], model.bodies()[-1]

    def plain(messages):
        return json.loads(json.dumps(messages), object_hook=lambda o: {k: v for k, v in o.items() if k != "cache_control"})

    count = len(first["messages"])
    assert any(b["type"] == "image" for b in results(first)[0]["content"])
    assert plain(second["messages"][:count]) == plain(first["messages"]) and len(second["messages"]) > count


def a_short_pdf_is_a_document_and_pages_are_images(lab):
    data = pdf(10)
    put(lab, "ten.pdf", data)
    put(lab, "long.pdf", pdf(30))
    put(lab, "heavy.pdf", pdf(1, padding=21 << 20))
    whole, pages, one, unsaid, many, heavy = read(
        lab, "ten.pdf", {"file_path": "long.pdf", "pages": "29-40"}, {"file_path": "heavy.pdf", "pages": "1"}, "long.pdf",
        {"file_path": "long.pdf", "pages": "1-21"}, "heavy.pdf")
    [(kind, got, text)] = media(whole, "document")
    assert kind == "application/pdf" and got == data and len(text) < 32 << 20
    for result, count in ((pages, 2), (one, 1)):
        images = media(result, "image")
        assert len(images) == count, result
        for kind, got, text in images:
            assert kind == "image/jpeg" and max(size_of(got)) == IMAGE_GOOD_EDGE and len(text) <= IMAGE_BASE64_LIMIT
    assert images and pages["content"][0]["text"] == "Page 29 of 30:"
    assert unsaid["is_error"] and "it has 30 pages, too many" in unsaid["content"]
    assert many["is_error"] and "at most 20 pages" in many["content"]
    assert heavy["is_error"] and "more than 20 MB" in heavy["content"]


def a_converter_that_runs_commands_writes_nothing_and_reaches_no_one(lab):                                         # check 86
    """A hole in a converter is a program of a stranger's: it is held, whether a sandbox is asked for or not, and without namespaces too."""
    put(lab, "a.pdf", pdf(3))
    programs = pathlib.Path(lab.folder, "bin")
    programs.mkdir()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    attack = ("for f in ~/PWNED %s/PWNED /tmp/cadre-PWNED-%d; do echo x >$f; done; exec 3<>/dev/tcp/127.0.0.1/%d; kill -9 $PPID; unshare -U true && echo x >&2; "
              "echo mine >$TMPDIR/f && cat $TMPDIR/f; " % (lab.work, os.getpid(), listener.getsockname()[1]))
    for name, text in (("pdfinfo", attack + "echo Pages: 3"), ("pdftoppm", attack + "exit 1")):
        (programs / name).write_text("#!/bin/bash\n%s\n" % text)
        (programs / name).chmod(0o755)
    lab.model(READ % '  call Read {"file_path": "a.pdf", "pages": "1-3"}\n')
    for lacking in ((), USERS):
        done = lab.cadre("-p", "look", env={"PATH": "%s:%s" % (programs, os.environ["PATH"])}, preexec_fn=hide(*lacking) if lacking else None)
        assert done.code == 0, (lacking, done)
        made = [p for p in (lab.home + "/PWNED", lab.work + "/PWNED", "/tmp/cadre-PWNED-%d" % os.getpid()) if os.path.exists(p)]
        assert not made, (lacking, made)
    try:
        listener.accept()
        raise AssertionError("it was reached")
    except BlockingIOError:
        pass
    listener.close()


def a_converter_gets_the_file_that_was_judged_and_no_name(lab):
    """What has the name by then may be a link to another file."""
    put(lab, "a.pdf", pdf(1))
    programs = pathlib.Path(lab.folder, "bin")
    programs.mkdir()
    for name, text in (("pdfinfo", "echo Pages: 1"), ("pdftoppm", "echo \"words: $*; file: $(head -c 5)\" >&2; exit 1")):
        (programs / name).write_text("#!/bin/sh\n%s\n" % text)
        (programs / name).chmod(0o755)
    lab.model(READ % '  call Read {"file_path": "a.pdf", "pages": "1"}\n', log=True)
    lab.cadre("-p", "look", env={"PATH": "%s:%s" % (programs, os.environ["PATH"])})
    said, = results(lab.models[-1].bodies()[-1])
    assert "file: %PDF-" in said["content"] and " -; file" in said["content"] and ".pdf; file" not in said["content"], said


def a_program_that_hangs_ends_with_the_agent(lab):
    put(lab, "a.pdf", pdf(3))
    programs = pathlib.Path(lab.folder, "bin")
    programs.mkdir()
    for name, text in (("pdfinfo", "echo Pages: 3"), ("pdftoppm", "exec sleep 600")):  # it is held, and can tell us nothing
        (programs / name).write_text("#!/bin/sh\n%s\n" % text)
        (programs / name).chmod(0o755)
    lab.model(READ % '  call Read {"file_path": "a.pdf", "pages": "1-3"}\n')
    run = lab.start("-p", "look", env={"PATH": "%s:%s" % (programs, os.environ["PATH"])})
    until(lambda: any(command.startswith("sleep 600") for _, command in lab.left()), "it was not started")
    run.kill(signal.SIGINT)
    run.wait()
    lab.wait_for_nobody()


def a_notebook_is_edited_in_place_and_can_be_taken_back(lab):
    cells = [{"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Größe\n", "x"]},
             {"cell_type": "code", "execution_count": 1, "id": "calc", "metadata": {}, "outputs": [
                 {"output_type": "display_data", "metadata": {}, "data": {
                     "image/png": base64.encodebytes(png(1700, 5, noise=True)).decode()}}], "source": ["plot()"]}]
    old = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
    path = put(lab, "a.ipynb", old + "\n")
    model = lab.model("""rule
  turn 1
  call Read {"file_path": "a.ipynb"}
rule
  turn 2
  call NotebookEdit {"notebook_path": "a.ipynb", "cell_id": "calc", "new_source": "plot(2)\\nshow()"}
rule
  turn 3
  call NotebookEdit {"notebook_path": "a.ipynb", "cell_id": "intro", "new_source": "", "edit_mode": "delete"}
rule
  text ok
""", log=True)
    done = lab.cadre("-p", "--allowedTools", "Edit", "--", "go", env={"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"})
    assert done.code == 0 and done.out == "ok\n", done
    shown = results(model.bodies()[1])[0]
    [(_, got, _)] = media(shown, "image")
    assert size_of(got)[0] == IMAGE_GOOD_EDGE and '<cell id="intro" type="markdown">' in shown["content"][0]["text"]
    cells[1].update(source=["plot(2)\n", "show()"], outputs=[], execution_count=None)
    new = json.dumps({"cells": cells[1:], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
    assert path.read_text() == new + "\n", path.read_text()
    back = lab.cadre("rewind", lab.transcripts()[0].stem)
    assert back.code == 0 and path.read_text() == old + "\n", back


if __name__ == "__main__":
    main(a_converter_gets_the_file_that_was_judged_and_no_name, a_converter_that_runs_commands_writes_nothing_and_reaches_no_one,
         small_images_reach_the_model_byte_for_byte, large_images_are_made_to_fit_the_api,
         hostile_files_are_errors_and_take_bounded_memory,
         an_image_in_a_result_is_the_same_after_the_session_is_resumed,
         a_short_pdf_is_a_document_and_pages_are_images, a_program_that_hangs_ends_with_the_agent,
         a_notebook_is_edited_in_place_and_can_be_taken_back)
