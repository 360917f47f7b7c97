# SPDX-License-Identifier: BSD-3-Clause
"""Cells of a notebook in order, (code, answers to input()…): each must do the same in a measured and in a plain kernel."""

PLAIN = (
    ('print("one")\nprint("two", end="")',),
    ("1 + 1",),
    ("_ * 10",),
    ('"shown"\n"only the last"',),
    ("7;",),
    ('text = """first\n  second\n    third \'\'\' "" \\\n joined"""\nprint(text)',),
    ('name = "x"\nprint(f"""{name}\n  {name!r:>5}\n%%time\n!ls""")',),
    ("# nothing but a comment",),
    ("",),
    ("from __future__ import annotations\ndef later(a: Unknown) -> None: ...\nlater.__annotations__",),
    ("unknown_name",),
    ("Grün = {'ß': '✓'}\nprint(Grün, '\\u2603')",),
    ("print('x' * 200_000)",),
    ("__name__, __builtins__ is not None, locals() is globals()",),
    ("__file__",),
    ("exec('made = 5')\neval('made + 1')",),
    ("import sys\nsys.getprofile() is None, sys.gettrace() is None, sys.modules['__main__'].__dict__ is globals()",),
    ("del made\nmade",),
    ("[y := 3, *(n * y for n in range(3))], {i for i in 'aa'}",),
    ("len(In), len(Out) > 0, _ih is In, __",),
    ("get_ipython().run_cell('nested = 4\\nprint(nested)').success, nested",),
    ("help(later)",),
    ("later?",),
)

STATE = (
    (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a):\n        return f(*a), f(*a)\n    return g\n\n"
        "@twice\n@functools.lru_cache(None)\ndef square(n):\n    print('called')\n    return n * n\nsquare(4)",
    ),
    ("square(4), square.__wrapped__.cache_info()",),
    ("class Shape:\n    sides = 3\n    def __repr__(self):\n        return f'{type(self).__name__} of {self.sides}'\n"
     "old = Shape()\nold",),
    ("class Shape:\n    sides = 4\nold, isinstance(old, Shape), Shape().sides",),
    ("class Square(Shape):\n    def __init__(self):\n        super().__init__()\n        self.area = self.sides ** 2\n"
     "Square().area",),
    ("import pickle\npickle.loads(pickle.dumps(Square())).area, Square.__module__",),
    ("import inspect\nprint(inspect.getsource(Square.__init__))",),
    ("opened = open('kept.txt', 'w+')\nopened.write('one\\ntwo\\n')",),
    ("opened.seek(0), opened.readline()",),
    ("next(opened), opened.close(), opened.closed",),
    ("opened.read()",),
    ("import socket\nhere, there = socket.socketpair()\nhere.send(b'through cells')",),
    ("there.recv(7), there.setblocking(False)",),
    ("server = socket.create_server(('127.0.0.1', 0))\nclient = socket.create_connection(server.getsockname())\n"
     "far, _a = server.accept()",),
    ("client.sendall(b'hello')\nfar.recv(5)",),
    ("for s in (here, there, server, client, far):\n    s.close()",),
    ("def count():\n    n = 0\n    while True:\n        n += (yield n) or 1\ncounter = count()\nnext(counter), next(counter)",),
    ("next(counter), counter.send(10)",),
    ("counter.close()\nlist(counter)",),
    ("changed = [1]\nsame_list = changed\nchanged.append(2)",),
    ("changed += [3]\nsame_list, same_list is changed",),
    ("table = dict(a=[1])\ntable['a'] *= 2\ntable |= {'b': 2}\ntable",),
    ("import numpy as np\nfield = np.zeros(3)\nview = field[1:]\nview += 2\nfield",),
    ("field[0] = view.sum()\nfield.base, view.base is field",),
    ("import contextlib\n@contextlib.contextmanager\ndef around():\n    print('in')\n    yield 1\n    print('out')\n"
     "with around() as n:\n    print(n)",),
    ("import weakref\nwatched = weakref.ref(old)\ndel old\nwatched() is None",),
    ("import warnings\nwarnings.warn('careful')",),
    ("import logging\nlogging.getLogger('cells').warning('from a logger')",),
)

ERRORS = (
    ("def broken(:\n    pass",),
    ("if True:\nprint(1)",),
    ("def f():\n    x = 1\n  y = 2",),
    ("print('before'); 1 / 0; print('never')",),
    ("def inner(n):\n    return [][n]\n\ndef outer(n):\n    return inner(n + 1)\n\nouter(1)",),
    ("try:\n    outer(0)\nexcept IndexError as e:\n    raise RuntimeError('chained') from e",),
    ("class Own(Exception):\n    def __str__(self):\n        return 'own words'\nraise Own()",),
    ("assert not 'true', 'told'",),
    ("raise KeyboardInterrupt",),
    ("import sys\nsys.exit()",),
    ("def leave():\n    raise SystemExit(3)\nleave()",),
    ("import traceback\ntry:\n    outer(3)\nexcept IndexError:\n    traceback.print_exc()",),
    ("import sys\ndef deep(n):\n    return deep(n + 1)\ntry:\n    deep(0)\nexcept RecursionError as e:\n    print(e)",),
    ("class Bad:\n    def __repr__(self):\n        raise ValueError('no text')\nBad()",),
    ("'still' + ' here'",),
    ("return 5",),
    ("f'{unknown_name}'",),
    ("%nomagic here",),
)

AROUND = (
    ("import threading, queue\nasked, told = queue.Queue(), queue.Queue()\ndef serve():\n    for n in iter(asked.get, None):\n"
     "        told.put(n * 2)\nleft = threading.Thread(target=serve, daemon=True)\nleft.start()",),
    ("asked.put(21)\ntold.get(timeout=60)",),
    ("asked.put(None)\nleft.join(60)\nleft.is_alive()",),
    ("from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool:\n"
     "    sums = list(pool.map(sum, [[1], [2, 3]]))\nsums",),
    ("import asyncio\nawait asyncio.sleep(0, 'awaited')",),
    ("async def fetch(n):\n    await asyncio.sleep(0)\n    return n\nprint(await asyncio.gather(*map(fetch, range(3))))",),
    ("task = asyncio.ensure_future(fetch(9))\ntask.done()",),
    ("await task",),
    ("async def numbers():\n    for n in range(3):\n        yield n\n[n async for n in numbers()]",),
    ("async with asyncio.Lock() as lock:\n    await fetch(1)\n    1 / 0",),
    ("!echo from a shell; echo $((1 + 2))",),
    ("n = 4\nfiles = !printf 'a\\nb {n}\\n'\nfiles",),
    ("!exit 3\n_exit_code",),
    ("%env OF_A_CELL=5\nimport os\nos.environ['OF_A_CELL']",),
    ("%precision 3\n2 / 3",),
    ("%%capture caught\nprint('not shown')",),
    ("caught.stdout",),
    ("%%bash\necho of bash",),
    ("%%writefile ran.py\nprint('in a file', __name__)\nof_file = 6",),
    ("%run ran.py\nof_file",),
    ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(3)'], capture_output=True, text=True).stdout",),
    ("pid = os.fork()\nif not pid:\n    os._exit(4)\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",),
    ("import signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('signalled'))\n"
     "os.kill(os.getpid(), signal.SIGUSR1)\nprint('after')",),
    ("answer = input('name? ')\nprint('hello', answer)", "Ada"),
    ("import getpass\n[getpass.getpass('word: '), input()]", "secret", "more"),
    ("print('out')\nprint('err', file=sys.stderr)\nsys.stdout.flush()\nprint('again')",),
)

DISPLAY = (
    ("from IPython.display import HTML, Markdown, clear_output, display\n"
     "display(HTML('<b>bold</b>'), Markdown('*x*'))",),
    ("class Rich:\n    def _repr_html_(self):\n        return '<i>rich</i>'\n    def _repr_latex_(self):\n"
     "        return '$x$'\nRich()",),
    ("class Both:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
     "        return {'text/plain': 'plain', 'a/b': {'c': 1}}, {'m': 1}\n"
     "display(Both(), Both())\nBoth()",),
    ("class Picture:\n    def _repr_png_(self):\n        return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(40)\nPicture()",),
    ("handle = display('waiting', display_id=True)\nfor n in range(3):\n    handle.update(n)",),
    ("print('gone')\nclear_output()\nprint('stays')",),
    ("display(1, 2)\nprint('between')\ndisplay({'text/plain': 'raw'}, raw=True)\n3",),
    ("import html\nhtml",),
    ("list(range(2000))",),
)  # fmt: skip

CELLS = PLAIN + STATE + ERRORS + AROUND + DISPLAY
