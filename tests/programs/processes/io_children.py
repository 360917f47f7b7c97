# SPDX-License-Identifier: BSD-3-Clause
#: options  --io
#: visits  main 1; child 2
#: inherits  main 2; <module> 2
#: processes  4
#: free  outer inner
# A forked child uses descriptors of its parent; another one calls no Python function after the fork. I/O of subprocess
# in a child before exec (with a directory to change to: after vfork) is not recorded for the parent. Other programs
# run unchanged.
import os
import subprocess
import sys


def child(fd):
    os.write(fd, b"from the child")


def main():
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(w)
        os._exit(3)
    print(os.waitpid(pid, 0)[1] >> 8, os.read(r, 100), flush=True)
    pid = os.fork()
    if pid == 0:
        os.write(w, b"at once")
        os._exit(4)
    print(os.waitpid(pid, 0)[1] >> 8, os.read(r, 100), flush=True)
    code = "import os; os.write(1, b'a Python of its own\\n')"
    print(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=".").stdout, flush=True)
    print(subprocess.run("echo shell | cat; echo $0", shell=True, stdout=subprocess.PIPE).stdout, flush=True)
    print(os.system("exit 5") >> 8, flush=True)
    try:
        subprocess.run(["/no/such/program"])
    except FileNotFoundError as e:
        print(e.strerror)
    child(w)
    print(os.read(r, 100))


main()
