# SPDX-License-Identifier: BSD-3-Clause
"""`spartito pack` and `unpack`: the unpacked files equal the packed ones, other tools can read the archive, and no content is
trusted."""

import hashlib
import io
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile

import pytest
from commandline import run
from spartito import _analyse
from test_finalize import EXTENSION, compiled_functions, extension  # noqa: F401
from test_native import ONLY

HEAD, FOOT = 0x184D2A50, 0x184D2A51
PROGRAM = "def g(): pass\ndef f():\n    for i in range(1000): g()\nf()\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    directory = tmp_path_factory.mktemp("packed")
    (directory / "program.py").write_text(PROGRAM)
    spartito = [sys.executable, "-m", "spartito"]
    done = run(spartito, "run", "-q", "--trace", "--lines", "f", "-o", "x", "--", sys.executable, "program.py", cwd=directory)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(spartito, "pack", "x", cwd=directory)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("wrote x.spartito: ")
    return directory


@pytest.fixture
def packed(measured, tmp_path):
    """A copy of the packed experiment in an empty directory."""
    return shutil.copy(measured / "x.spartito", tmp_path / "x.spartito")


def files(directory):
    return {str(p.relative_to(directory)): (p.read_bytes(), int(p.stat().st_mtime)) for p in directory.rglob("*") if p.is_file()}


def test_what_goes_in_comes_out(spartito, measured, packed, tmp_path):
    done = run(spartito, "unpack", "x.spartito", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("wrote x: ")
    assert files(tmp_path / "x") == files(measured / "x")
    assert {"experiment.json", "source/index.json"} < set(files(tmp_path / "x"))
    assert (tmp_path / "x").stat().st_mode == (measured / "x").stat().st_mode
    assert packed.stat().st_size < sum(len(data) for data, _ in files(measured / "x").values())
    done = run(spartito, "unpack", "x.spartito", "-o", "y", cwd=tmp_path)
    assert done.returncode == 0 and files(tmp_path / "y") == files(tmp_path / "x")


@pytest.mark.skipif(not (shutil.which("zstd") and shutil.which("tar")), reason="no zstd, or no tar")
def test_foreign_tools_read_it(measured, packed, tmp_path):
    script = "zstd -q -d -c x.spartito | tar x && cd x && sha256sum --quiet -c SHA256SUMS"
    subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=tmp_path, check=True)
    (tmp_path / "x" / "SHA256SUMS").unlink()
    assert files(tmp_path / "x") == files(measured / "x")


def test_verbs_take_it_as_it_is(spartito, measured, packed, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    for words in (["report"], ["report", "lines"], ["report", "tree", "--json"], ["info", "--json"]):
        done, then = run(spartito, *words, "x.spartito", cwd=tmp_path), run(spartito, *words, "x", cwd=measured)
        assert (done.returncode, done.stderr) == (0, "")
        assert os.listdir(scratch) == [] and len(done.stdout.splitlines()) == len(then.stdout.splitlines())
        if "--json" not in words:
            assert done.stdout == then.stdout
    assert "experiment  x.spartito\n" in run(spartito, "info", "x.spartito", cwd=tmp_path).stdout
    for words in (["convert", "--to", "folded,pstats"], ["convert", "--per-rank", "--to", "pstats"], ["html"]):
        assert run(spartito, *words, "x.spartito", cwd=tmp_path).returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["scratch", "x-ranks", "x.folded", "x.html", "x.prof", "x.spartito"]
    other = shutil.copytree(measured / "x", tmp_path / "other")
    done = run(spartito, "diff", other, "x.spartito", cwd=tmp_path)
    assert re.search(r"^B  x\.spartito \(", done.stdout, re.MULTILINE)
    assert done.returncode == 0 and "__main__:f" in done.stdout
    assert os.listdir(scratch) == []


def test_verbs_that_write_into_an_experiment_ask_to_unpack_it(spartito, packed, tmp_path):
    for verb in ("finalize", "pack"):
        done = run(spartito, verb, "x.spartito", cwd=tmp_path)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == "spartito: x.spartito is not the directory of an experiment: unpack it with spartito unpack\n"


def test_names_of_compiled_functions_go_along(spartito, extension, tmp_path):  # noqa: F811
    for path in extension.iterdir():
        shutil.copy(path, tmp_path)
    done = run(spartito, "run", "-q", *ONLY, "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before = compiled_functions(spartito, tmp_path / "x")
    assert len(before) == 4 and run(spartito, "pack", "x", cwd=tmp_path).returncode == 0
    (tmp_path / ("nested" + EXTENSION)).unlink()
    assert run(spartito, "unpack", "x.spartito", "-o", "y", cwd=tmp_path).returncode == 0
    assert compiled_functions(spartito, tmp_path / "y") == before


def test_other_than_files_are_left_out_and_reported(spartito, measured, tmp_path):
    directory = shutil.copytree(measured / "x", tmp_path / "x")
    (directory / "link").symlink_to("/etc/passwd")
    (directory / "above").symlink_to("..")
    (directory / "preload.so").symlink_to("/nowhere")  # a link made by Spartito
    os.mkfifo(directory / "raw" / "pipe")
    (directory / "odd\nname").write_text("")
    done = run(spartito, "pack", "x", cwd=tmp_path)
    assert done.returncode == 0 and sorted(done.stderr.splitlines()) == [
        "spartito: x: not packed: 'odd\\nname', which has a name that not every machine can take",
        "spartito: x: not packed: above, which is a link",
        "spartito: x: not packed: link, which is a link",
        "spartito: x: not packed: raw/pipe, which is no file",
    ]
    assert run(spartito, "unpack", "x.spartito", "-o", "y", cwd=tmp_path).returncode == 0
    assert files(tmp_path / "y") == files(measured / "x")


def test_without_a_directory_the_newest_experiment_is_packed(spartito, measured, tmp_path):
    done = run(spartito, "pack", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "spartito pack: there is no experiment in the current directory: spartito pack DIR\n"
    shutil.copytree(measured / "x", tmp_path / "run")
    done = run(spartito, "pack", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "spartito: run, the newest experiment here\n")
    assert done.stdout.startswith("wrote run.spartito: ")


def test_bad_input_is_one_line(spartito, measured, packed, tmp_path):
    (tmp_path / "file").write_text("no pack\n")
    (tmp_path / "taken").mkdir()
    shutil.copytree(measured / "x", tmp_path / "run")
    (tmp_path / "empty").mkdir()
    for words, status, message in [
        (["pack", "run", "x"], 2, "spartito pack: one experiment at a time, not also 'x'"),
        (["pack", "none"], 1, "spartito: none: there is no such experiment"),
        (["pack", "empty"], 1, "spartito: empty: not an experiment: there is no directory raw in it"),
        (["pack", "run", "-o", "taken"], 1, "spartito: taken is a directory: name a file with -o"),
        (["pack", "run", "-o", "run/raw/x"], 1, "spartito: run/raw/x would be in the experiment that it packs: name another"),
        (["pack", "run", "-o", "none/x"], 1, "spartito: none/x: No such file or directory"),
        (["unpack"], 2, "spartito unpack: no file given: spartito unpack FILE"),
        (["unpack", "x.spartito", "file"], 2, "spartito unpack: one file at a time, not also 'file'"),
        (["unpack", "none"], 1, "spartito: none: there is no such file"),
        (["unpack", "run"], 1, "spartito: run is not a file"),
        (["unpack", "file"], 2, "spartito unpack: file does not end with .spartito: name the directory with -o"),
        (["unpack", "file", "-o", "y"], 1, "spartito: file: not a packed experiment"),
        (["unpack", "x.spartito", "-o", "taken"], 1, "spartito: taken already exists: name another directory with -o"),
        (["unpack", "x.spartito", "-o", "none/x"], 1, "spartito: "),
        (["report", "file"], 1, "spartito: file is not the directory of an experiment"),
    ]:
        before = sorted(os.listdir(tmp_path))
        done = run(spartito, *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (status, ""), words
        assert done.stderr.startswith(message) and done.stderr.count("\n") == 1, (words, done.stderr)
        assert sorted(os.listdir(tmp_path)) == before


def test_not_while_a_process_writes_it(spartito, tmp_path):
    (tmp_path / "program.py").write_text("import time\ndef f(): pass\nf()\nprint(flush=True)\ntime.sleep(100)\n")
    words = [*spartito, "run", "-q", "-o", "x", "--", sys.executable, "program.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        done = run(spartito, "pack", "x", cwd=tmp_path)
        p.send_signal(signal.SIGTERM)
    assert done.returncode == 1 and "a process still writes raw/" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "x.spartito").exists()
    assert run(spartito, "pack", "x", cwd=tmp_path).returncode == 0


def test_never_over_another_file_but_by_force(spartito, measured, tmp_path):
    directory = shutil.copytree(measured / "x", tmp_path / "x")
    (tmp_path / "x.spartito").write_text("the only one")
    (tmp_path / "link.spartito").symlink_to("nowhere")
    for words, path in ([], "x.spartito"), (["-o", "link.spartito"], "link.spartito"):
        done = run(spartito, "pack", "x", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"spartito: {path} already exists: name another file with -o, or give --force\n"
    assert (tmp_path / "x.spartito").read_text() == "the only one" and not (tmp_path / "nowhere").exists()
    done = run(spartito, "pack", "--force", "x", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    shutil.rmtree(directory)
    assert run(spartito, "unpack", "x.spartito", cwd=tmp_path).returncode == 0 and files(directory) == files(measured / "x")
    assert sorted(os.listdir(tmp_path)) == ["link.spartito", "x", "x.spartito"]


def test_one_that_is_made_meanwhile_stays(measured, tmp_path):
    from spartito.base.messages import Refused
    from spartito.experiments import packfile

    path = tmp_path / "y.spartito"

    def meanwhile(done, total):
        path.write_text("of another")

    with pytest.raises(Refused, match="already exists, made by another process at the same time"):
        packfile.pack(str(measured / "x"), str(path), False, meanwhile)
    assert os.listdir(tmp_path) == ["y.spartito"] and path.read_text() == "of another"


# ---- damage ----


def refused(capsys, path, tmp_path):
    """The error message of unpack(); no file must remain."""
    from spartito.cli.main import main

    (tmp_path / "into").mkdir(exist_ok=True)
    status = main(["unpack", str(path), "-o", str(tmp_path / "into" / "y")])
    output = capsys.readouterr()
    assert status == 1 and output.out == "" and output.err.count("\n") == 1, output.err
    assert os.listdir(tmp_path / "into") == []
    return output.err


def test_cut_files(capsys, packed, tmp_path):
    whole = packed.read_bytes()
    for n in {*range(0, 120), *range(120, len(whole), len(whole) // 50), *range(len(whole) - 50, len(whole))}:
        packed.write_bytes(whole[:n])
        assert "x.spartito: " in refused(capsys, packed, tmp_path)
    packed.write_bytes(whole + b"x")
    refused(capsys, packed, tmp_path)


def test_altered_files(capsys, packed, tmp_path):
    whole = packed.read_bytes()
    for n in {*range(0, 100), *range(100, len(whole), len(whole) // 50), *range(len(whole) - 45, len(whole))}:
        packed.write_bytes(whole[:n] + bytes([whole[n] ^ 1 << n % 8]) + whole[n + 1 :])
        assert "x.spartito: " in refused(capsys, packed, tmp_path)


# ---- malicious files with correct digests ----


def frame(magic, content):
    return struct.pack("<II", magic, len(content)) + content


def made(tar, count, total, head=None):
    """The bytes of a packed file with this tar archive."""
    zstd = _analyse.Compressor()
    announced = json.dumps(head or {"spartito pack": 1, "files": count, "bytes": total}).encode()
    text = frame(HEAD, announced) + zstd.add(tar) + zstd.end()
    return text + frame(FOOT, hashlib.sha256(text).digest())


def entry(name, data=b"", kind=tarfile.REGTYPE, link="", form=tarfile.GNU_FORMAT, size=None, changed=0):
    info = tarfile.TarInfo(name)
    info.mtime = changed
    info.type, info.linkname, info.size = kind, link, len(data) if size is None else size
    return info.tobuf(form) + data + bytes(-len(data) % 512)


def archive(*entries, sums=None):
    """Entries are (name, bytes), or the bytes of a tar entry. The list of digests of the former follows them."""
    texts = "".join(f"{hashlib.sha256(e[1]).hexdigest()}  {e[0]}\n" for e in entries if isinstance(e, tuple))
    blocks = [entry("x/" + e[0], e[1]) if isinstance(e, tuple) else e for e in entries]
    return b"".join(blocks) + entry("x/SHA256SUMS", texts.encode() if sums is None else sums) + bytes(1024)


GOOD = ("raw/a.raw", b"12345")


def test_made_by_hand(spartito, tmp_path):
    """Control for the next test: a generated file without the malicious part is unpacked."""
    (tmp_path / "x.spartito").write_bytes(made(archive(GOOD, ("b", b"")), 2, 5))
    done = run(spartito, "unpack", "x.spartito", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert {name: data for name, (data, _) in files(tmp_path / "x").items()} == {"raw/a.raw": b"12345", "b": b""}


def pax(name):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        t.addfile(tarfile.TarInfo(name))
    return out.getvalue()[:-9216]


@pytest.mark.parametrize(
    "tar, count, total, message",
    [
        (archive(GOOD, ("../evil", b"")), 2, 5, "refused: '../evil' leads out of it"),
        (archive(GOOD, ("raw/../../evil", b"")), 2, 5, "leads out of it"),
        (archive(GOOD, entry("/tmp/evil")), 2, 5, "is not in its directory"),
        (archive(GOOD, ("/tmp/evil", b"")), 2, 5, "leads out of it"),
        (archive(GOOD, ("./b", b"")), 2, 5, "leads out of it"),
        (archive(GOOD, entry("y/b")), 2, 5, "is not in its directory"),
        (archive(GOOD, entry("x")), 2, 5, "is not in its directory"),
        (archive(GOOD, ("a\\b", b"")), 2, 5, "not every machine"),
        (archive(GOOD, ("a\nb", b"")), 2, 5, "not every machine"),
        (archive(GOOD, ("/".join("a" * 17), b"")), 2, 5, "is too long"),
        (archive(GOOD, entry("x/b", kind=tarfile.SYMTYPE, link="/etc/passwd")), 2, 5, "refused: 'x/b' is no file"),
        (archive(GOOD, entry("x/b", kind=tarfile.LNKTYPE, link="x/raw/a.raw")), 2, 5, "is no file"),
        (archive(GOOD, entry("x/b", kind=tarfile.DIRTYPE)), 2, 5, "is no file"),
        (archive(GOOD, entry("x/b", kind=tarfile.CHRTYPE)), 2, 5, "is no file"),
        (archive(GOOD, entry("x/b", kind=tarfile.GNUTYPE_SPARSE)), 2, 5, "is no file"),
        (archive(GOOD, entry("x/" + "b" * 120)), 2, 5, "is no file"),
        (archive(GOOD, pax("x/" + "b" * 120)), 2, 5, "is no file"),
        (archive(GOOD, ("b", b""), ("b", b"")), 3, 5, "'b' is in it twice"),
        (archive(GOOD, ("raw", b"")), 2, 5, "'raw' is a file and a directory"),
        (archive(GOOD, ("raw/a.raw/b", b"")), 2, 5, "'raw/a.raw/b' is a file and a directory"),
        (archive(GOOD, ("b", b"")), 1, 5, "it contains more than it declares"),
        (archive(GOOD, ("b", bytes(10))), 2, 14, "it contains more than it declares"),
        (archive(GOOD, entry("x/b", b"1", size=1 << 60)), 2, 1 << 61, "are more than an experiment has"),
        (archive(GOOD, entry("x/b", b"1", size=1 << 20)), 2, (1 << 20) + 5, "damaged"),
        (archive(GOOD, entry("x/b", changed=1 << 62)), 2, 5, "refused: 'x/b' has a time that no file has"),
        (archive(GOOD, entry("x/b", changed=1 << 80)), 2, 5, "has a time that no file has"),
        (archive(GOOD, entry("x/b", changed=-(1 << 62))), 2, 5, "has a time that no file has"),
        (archive(GOOD, entry("x/b", size=3 << 30)), 2, (3 << 30) + 5, "3.0 GiB in 2 files are more than an experiment has"),
        (archive(GOOD), 1_000_000, 5, "5 B in 1,000,000 files are more than an experiment has"),
        (archive(GOOD), 2, 5, "it does not end as it should"),
        (archive(GOOD), 1, 6, "it does not end as it should"),
        (archive(GOOD) + b"more", 1, 5, "it does not end as it should"),
        (archive(GOOD)[:-1024], 1, 5, "the archive in it is truncated"),
        (archive(GOOD)[:-1025], 1, 5, "the archive in it is truncated"),
        (archive(GOOD, sums=b"0" * 64 + b"  raw/a.raw\n"), 1, 5, "a file in it is not what was packed"),
        (archive(GOOD, sums=b""), 1, 5, "a file in it is not what was packed"),
        (archive(GOOD, sums=b"1" * 10000), 1, 5, "its list of digests is too long"),
        (b"", 1, 5, "the archive in it is truncated"),
        (bytes(10240), 1, 5, "the archive in it is no tar file"),
        (os.urandom(4096), 1, 5, "the archive in it is no tar file"),
    ],
)
def test_harmful_archives(capsys, tmp_path, tar, count, total, message):
    (tmp_path / "x.spartito").write_bytes(made(tar, count, total))
    assert message in refused(capsys, tmp_path / "x.spartito", tmp_path)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("count, total", [(1, 320), (320, 1)], ids=["bytes", "files"])
def test_numbers_beyond_those_of_floats(capsys, tmp_path, count, total):
    (tmp_path / "x.spartito").write_bytes(made(archive(GOOD), 10**count, 10**total))
    assert "it does not say how much is in it" in refused(capsys, tmp_path / "x.spartito", tmp_path)


def checked(block):
    """A tar header with the right checksum."""
    block = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


NAMES = [b"x/../../evil", b"/tmp/evil", b"x/b", b"x", b"", b"x/raw", b"x/raw/a.raw/c", b"y/raw/a.raw", b"x/\xff\xfe"]
NAMES.append(b"x/" + b"d/" * 40)


def altered(dice, tar):
    """The archive with one malicious change and right checksums: a name, type, link, size or the order."""
    blocks = [tar[i : i + 512] for i in range(0, len(tar), 512)]
    headers = [i for i, block in enumerate(blocks) if block[257:262] == b"ustar"]
    at = dice.choice(headers)
    block, how = bytearray(blocks[at]), dice.randrange(6)
    if how == 0:
        block[:100] = dice.choice(NAMES).ljust(100, b"\0")[:100]
    elif how == 1:
        block[156] = dice.randrange(256)
        block[157:257] = dice.choice([b"/etc/passwd", b"../..", b"x/raw/a.raw"]).ljust(100, b"\0")
    elif how == 2:
        sizes = [b"%011o\0" % dice.randrange(1 << 33), b"\x80" + bytes(3) + dice.randbytes(8), b"\xff" * 12, b"-0000000001\0"]
        block[124:136] = dice.choice(sizes)
    elif how == 3:
        block[dice.randrange(512)] = dice.randrange(256)
    elif how == 4:
        blocks.insert(dice.randrange(len(blocks) + 1), blocks[dice.randrange(len(blocks))])
    else:
        blocks[at], blocks[other] = blocks[other := dice.randrange(len(blocks))], blocks[at]
    if how < 4:
        blocks[at] = checked(bytes(block))
    return b"".join(blocks)


def taken_or_refused(capsys, path, into):
    """Unpacks a file with any content: either one error line and no files, or one directory and no files elsewhere."""
    from spartito.cli.main import main

    status = main(["unpack", str(path), "-o", str(into / "y")])
    output = capsys.readouterr()
    assert sorted(os.listdir(into.parent)) == sorted([path.name, into.name]) and not os.path.exists("/tmp/evil")
    if status:
        assert status == 1 and output.out == "" and output.err.count("\n") == 1 and os.listdir(into) == [], output.err
        return {}
    found = files(into / "y")
    assert not any(p.is_symlink() or not (p.is_file() or p.is_dir()) for p in into.rglob("*"))
    shutil.rmtree(into / "y")
    return {name: data for name, (data, _) in found.items()}


def test_any_archive_leaves_nothing_elsewhere(capsys, tmp_path):
    dice, good = random.Random(3), {"raw/a.raw": b"12345", "b": b"x" * 3000}
    tar, taken = archive(*good.items()), 0
    (tmp_path / "into").mkdir()
    for _ in range(500):
        (tmp_path / "x.spartito").write_bytes(made(altered(dice, tar), 2, 3005))
        found = taken_or_refused(capsys, tmp_path / "x.spartito", tmp_path / "into")
        assert found in ({}, good)  # the digests include the names
        taken += bool(found)
    assert 0 < taken < 250


def test_any_stream_leaves_nothing_elsewhere(capsys, packed, tmp_path):
    """The compressed data is damaged, but the digest of the file matches."""
    dice, whole = random.Random(4), packed.read_bytes()[: -8 - 32]
    (tmp_path / "into").mkdir()
    for _ in range(300):
        text = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(text))
            text[at : at + dice.choice([0, 1, 1, 4, 50])] = dice.randbytes(dice.choice([0, 1, 1, 4]))
        packed.write_bytes(text + frame(FOOT, hashlib.sha256(text).digest()))
        taken_or_refused(capsys, packed, tmp_path / "into")


@pytest.mark.parametrize(
    "head, message",
    [
        ({"spartito pack": 2, "files": 1, "bytes": 5}, "packed by a newer Spartito: version 2, and this one reads 1"),
        ({"spartito pack": 1, "files": 1.0, "bytes": 5}, "it does not say how much is in it"),
        ({"spartito pack": 1, "files": -1, "bytes": 5}, "it does not say how much is in it"),
        ({"spartito pack": 1}, "not a packed experiment"),
        ([1], "not a packed experiment"),
        ({"spartito pack": 1, "files": 1, "bytes": 5, "more": "x" * 5000}, "not a packed experiment"),
    ],
)
def test_strange_heads(capsys, tmp_path, head, message):
    (tmp_path / "x.spartito").write_bytes(made(archive(GOOD), 1, 5, head))
    assert message in refused(capsys, tmp_path / "x.spartito", tmp_path)


def test_what_is_no_zstd(capsys, tmp_path):
    text = frame(HEAD, b'{"spartito pack": 1, "files": 1, "bytes": 5}') + b"no zstd at all, but of some length"
    (tmp_path / "x.spartito").write_bytes(text + frame(FOOT, hashlib.sha256(text).digest()))
    assert "damaged: zstd: " in refused(capsys, tmp_path / "x.spartito", tmp_path)


# ---- resource limits ----

LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
from spartito.cli.main import main
sys.exit(main())
"""
WATCHED = """
import resource, sys
from spartito.cli.main import main
status = main()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(status)
"""


def test_without_room_nothing_stays(spartito, measured, packed, tmp_path):
    (tmp_path / "into").mkdir()
    for words in (["pack", measured / "x", "-o", "into/y"], ["unpack", "x.spartito", "-o", "into/y"]):
        done = run([sys.executable, "-c", LIMITED], *words, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr == "spartito: into/y: File too large\n"
        assert os.listdir(tmp_path / "into") == []


def test_memory_does_not_grow_with_the_experiment(measured, tmp_path):
    peaks = []
    for size in (0, 200 << 20):
        directory = tmp_path / f"x{size}"
        shutil.copytree(measured / "x", directory)
        with open(directory / "raw" / "large", "wb") as f:
            f.truncate(size)
            f.seek(size // 2)
            f.write(os.urandom(1000))
        for words in (["pack", directory], ["unpack", f"{directory}.spartito", "-o", tmp_path / f"y{size}"]):
            done = run([sys.executable, "-c", WATCHED], *words)
            assert done.returncode == 0, done.stderr
            peaks.append(int(done.stdout.splitlines()[-1]))
        shutil.rmtree(tmp_path / f"y{size}")
    assert peaks[2] - peaks[0] < 40 << 10 and peaks[3] - peaks[1] < 40 << 10  # KiB; files are processed in pieces of 1 MiB
