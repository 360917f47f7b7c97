/* SPDX-License-Identifier: BSD-3-Clause */
/* Docstrings of the functions that `import spartito` provides. tests/py/record/test_public_docs.py runs the examples.
 * The line before "--" is the signature that inspect.signature() shows. */
#ifndef SP_HOOK_PUBLIC_DOCS_H
#define SP_HOOK_PUBLIC_DOCS_H

#define SP_DOC_STOP                                                                                                    \
	"stop($module, /)\n--\n\n"                                                                                     \
	"Stop measuring this process and complete the experiment. Without a measurement nothing happens.\n\n"          \
	"    >>> import spartito\n"                                                                                    \
	"    >>> spartito.stop()\n"

#define SP_DOC_ACTIVE                                                                                                  \
	"active($module, /)\n--\n\n"                                                                                   \
	"Return whether this process is being measured. It stays True between pause() and resume().\n\n"               \
	"    >>> import spartito\n"                                                                                    \
	"    >>> spartito.active() == (spartito.experiment() is not None)\n"                                           \
	"    True\n"

#define SP_DOC_EXPERIMENT                                                                                              \
	"experiment($module, /)\n--\n\n"                                                                               \
	"Return the directory of the running measurement as a str, or None if there is no measurement.\n\n"            \
	"    >>> import spartito\n"                                                                                    \
	"    >>> directory = spartito.experiment()\n"

#define SP_DOC_PAUSE                                                                                                   \
	"pause($module, /)\n--\n\n"                                                                                    \
	"Stop recording in all threads of this process until resume(). Regions that are open stay open; the results\n" \
	"show the time of the pause as `recording off`. Without a measurement nothing happens.\n\n"                    \
	"    >>> import spartito\n"                                                                                    \
	"    >>> spartito.pause()\n"                                                                                   \
	"    >>> spartito.resume()\n"

#define SP_DOC_RESUME                                                                                                  \
	"resume($module, /)\n--\n\n"                                                                                   \
	"Record again after pause(). Without a pause or a measurement nothing happens.\n\n"                            \
	"    >>> import spartito\n"                                                                                    \
	"    >>> spartito.resume()\n"

#define SP_DOC_PARAMETER                                                                                               \
	"parameter($module, name, value, /)\n--\n\n"                                                                   \
	"Label the current call of the innermost region with a value. Calls with different values have\n"              \
	"different call paths.\n\n"                                                                                    \
	"name: str. value: int (64 bits), str or float.\n"                                                             \
	"TypeError: another type. OverflowError: an int that does not fit into 64 bits.\n\n"                           \
	"    >>> import spartito\n"                                                                                    \
	"    >>> with spartito.region('solve'):\n"                                                                     \
	"    ...     spartito.parameter('order', 2)\n"

#define SP_DOC_COUNTER                                                                                                 \
	"counter($module, name, value, /)\n--\n\n"                                                                     \
	"Record the value that a quantity of the program has now. The values are in the trace (trace=True or\n"        \
	"`spartito run --trace`); a profile does not hold them.\n\n"                                                   \
	"name: str. value: float, or what float() converts.\n"                                                         \
	"TypeError: another type.\n\n"                                                                                 \
	"    >>> import spartito\n"                                                                                    \
	"    >>> spartito.counter('queue length', 12)\n"

#define SP_DOC_MARKER                                                                                                  \
	"marker($module, text, /)\n--\n\n"                                                                             \
	"Record a text at the current time. Markers are in the trace (trace=True or `spartito run --trace`); a\n"      \
	"profile does not hold them.\n\n"                                                                              \
	"text: str. TypeError: another type.\n\n"                                                                      \
	"    >>> import spartito\n"                                                                                    \
	"    >>> spartito.marker('mesh is refined')\n"

#define SP_DOC_LINES                                                                                                   \
	"lines($module, function, /)\n--\n\n"                                                                          \
	"Record each source line of a function, method or class from now on, whenever this process is measured.\n"     \
	"Usable as a decorator: returns its argument unchanged. Calls cost nothing without a measurement.\n\n"         \
	"function: a Python function, a class (all its methods), a method, property or functools.partial.\n"           \
	"TypeError: something without source lines.\n\n"                                                               \
	"    >>> import spartito\n"                                                                                    \
	"    >>> @spartito.lines\n"                                                                                    \
	"    ... def square(x):\n"                                                                                     \
	"    ...     return x * x\n"                                                                                   \
	"    >>> square(3)\n"                                                                                          \
	"    9\n"

#define SP_DOC_REGION                                                                                                  \
	"region(name=None, group=None, file=None, line=0, function=False)\n--\n\n"                                     \
	"A part of the program that appears in the results like a function: a context manager for `with` and\n"        \
	"`async with`, and a decorator of functions, methods, coroutines and generators. It costs next to\n"           \
	"nothing without a measurement.\n\n"                                                                           \
	"name: str; a decorator without a name takes the function's qualified name. group: str, shown as the\n"        \
	"region's module. file, line: shown as its source location; default: where it is created.\n"                   \
	"TypeError: a name that is no str, or something to decorate that cannot be called.\n\n"                        \
	"    >>> import spartito\n"                                                                                    \
	"    >>> with spartito.region('assemble'):\n"                                                                  \
	"    ...     total = sum(range(10))\n"                                                                         \
	"    >>> @spartito.region\n"                                                                                   \
	"    ... def solve(n):\n"                                                                                      \
	"    ...     return n + 1\n"                                                                                   \
	"    >>> solve(1)\n"                                                                                           \
	"    2\n"

#endif
