/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that the program starts, waits for and signals, and the two ends of a process that no other hook sees:
 * exec and os._exit. The functions of the modules posix and _posixsubprocess are replaced by wrappers with the same
 * attributes. Audit events would give less information, and make every other event of the interpreter slower. */
#include "hook/children.h"
#include "hook/command.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "record/definitions.h"
#include "record/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* One call of a wrapped function. */
struct call {
	PyObject *const *args;
	Py_ssize_t n;    /* number of arguments without keywords */
	PyObject *names; /* names of the keyword arguments, which follow; NULL: none */
	PyObject *result;
	uint64_t begin; /* ticks */
};
typedef void callback(const struct call *c);

/* One wrapped function. */
struct row {
	const char *name;
	PyCFunctionWithKeywords function; /* cast from a METH_FASTCALL function */
	callback *before, *after;         /* called before and after the original; after: only if it did not fail */
	PyObject *original;               /* owned */
	PyMethodDef def;
};

static PyObject *call(struct row *row, PyObject *const *args, Py_ssize_t n, PyObject *keywords);

static bool recording(void)
{
	return sp_process.header && !sp_process.forked && !sp_process_is_foreign() &&
	       sp_process.header->ended == SP_RAW_RUNNING;
}

/* Writes a CHILD definition. Times are ticks; 0: not in this record. */
static void define(long pid, unsigned flags, const struct sp_command *c, uint64_t begin, uint64_t end, int status)
{
	const struct sp_raw_child child = {begin, end, status, 0};
	const struct sp_text text[2] = {{c && c->p ? c->p : "", c ? c->n : 0}, {(const char *)&child, sizeof child}};
	sp_define(SP_RAW_DEF_CHILD, flags, (uint32_t)pid, 0, text, 2);
}

/* Returns an argument, borrowed; NULL if it is not given. */
static PyObject *argument(const struct call *c, Py_ssize_t i, const char *name)
{
	if (i < c->n)
		return c->args[i];
	for (Py_ssize_t k = 0; c->names && k < PyTuple_GET_SIZE(c->names); k++)
		if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(c->names, k), name) == 0)
			return c->args[c->n + k];
	return NULL;
}

static long as_long(PyObject *o)
{
	long n = o && PyLong_Check(o) ? PyLong_AsLong(o) : -1;
	if (PyErr_Occurred())
		PyErr_Clear();
	return n;
}

/* ---- start of a process ---- */

static void started(PyObject *argv, const struct call *c)
{
	struct sp_command command = {0};
	if (argv)
		sp_command_sequence(&command, argv);
	define(as_long(c->result), 0, &command, c->begin, 0, 0);
	sp_command_free(&command);
}

static void after_fork(const struct call *c)
{
	PyObject *r = c->result;
	const long pid = as_long(PyTuple_Check(r) && PyTuple_GET_SIZE(r) ? PyTuple_GET_ITEM(r, 0) : r);
	if (pid > 0 && recording())
		define(pid, SP_RAW_CHILD_FORKED, NULL, c->begin, 0, 0);
	else if (pid > 0)
		sp_process_forks_unrecorded();
}

static void after_spawn(const struct call *c)
{
	started(argument(c, 1, "argv"), c);
}

static void after_fork_exec(const struct call *c)
{
	started(argument(c, 0, "args"), c);
}

static void after_system(const struct call *c)
{
	struct sp_command command = {0};
	PyObject *line = argument(c, 0, "command");
	if (line)
		sp_command_add(&command, line, true);
	define(0, SP_RAW_CHILD_ENDED, &command, c->begin, sp_ticks(), (int)as_long(c->result));
	sp_command_free(&command);
}

/* ---- waits and signals ---- */

static void ended(long pid, long status)
{
	if (pid > 0 && !WIFSTOPPED((int)status) && !WIFCONTINUED((int)status))
		define(pid, SP_RAW_CHILD_ENDED, NULL, 0, sp_ticks(), (int)status);
}

static void after_wait(const struct call *c)
{
	PyObject *r = c->result;
	if (PyTuple_Check(r) && PyTuple_GET_SIZE(r) >= 2)
		ended(as_long(PyTuple_GET_ITEM(r, 0)), as_long(PyTuple_GET_ITEM(r, 1)));
}

/* (si_pid, si_uid, si_signo, si_status, si_code), or None */
static void after_waitid(const struct call *c)
{
	PyObject *r = c->result;
	if (!PyTuple_Check(r) || PyTuple_GET_SIZE(r) < 5)
		return;
	const long pid = as_long(PyTuple_GET_ITEM(r, 0));
	const int status = (int)as_long(PyTuple_GET_ITEM(r, 3)), code = (int)as_long(PyTuple_GET_ITEM(r, 4));
	if (code == CLD_EXITED)
		ended(pid, (status & 0xff) << 8);
	else if (code == CLD_KILLED || code == CLD_DUMPED)
		ended(pid, status & 0x7f);
}

/* Records only signals that end a process, repeated ones once, and at most MAX: a program may send millions. */
static void after_kill(const struct call *c)
{
	enum { MAX = 1 << 16 };
	static long last_pid, last_signal, count;
	const long pid = c->n > 1 ? as_long(c->args[0]) : 0, number = c->n > 1 ? as_long(c->args[1]) : 0;
	const bool ends = number == SIGTERM || number == SIGKILL || number == SIGINT || number == SIGHUP ||
	                  number == SIGQUIT || number == SIGABRT;
	if (pid <= 0 || !ends || (pid == last_pid && number == last_signal) || count++ >= MAX)
		return;
	last_pid = pid;
	last_signal = number;
	define(pid, SP_RAW_CHILD_SIGNALLED, NULL, c->begin, 0, (int)number);
}

/* ---- this process becomes another program, or exits ---- */

/* A child of fork without a file gets it now: otherwise its exec would not be recorded anywhere. */
static void before_exec(const struct call *c)
{
	struct sp_command command = {0};
	PyObject *argv = argument(c, 1, "argv");
	sp_process_forked();
	if (!argv || !recording())
		return;
	sp_command_sequence(&command, argv);
	if (command.n)
		sp_define_meta("exec", command.p, command.n);
	sp_command_free(&command);
	sp_process_exec(true);
}

static void before_exit(const struct call *c)
{
	PyObject *given = argument(c, 0, "status");
	char text[24];
	if (!given || !PyLong_Check(given) || !recording())
		return; /* the original may raise an exception */
	const long status = PyLong_AsLong(given);
	if ((status == -1 && PyErr_Occurred()) || status != (int)status) {
		PyErr_Clear();
		return;
	}
	sp_define_meta("status", text, (size_t)snprintf(text, sizeof text, "%d", (int)status & 0xff));
	sp_process_stop(SP_RAW_ENDED_EXITED);
}

/* ---- the wrappers ---- */

enum which {
	FORK,
	FORKPTY,
	POSIX_SPAWN,
	POSIX_SPAWNP,
	SYSTEM,
	WAIT,
	WAIT3,
	WAIT4,
	WAITID,
	WAITPID,
	KILL,
	KILLPG,
	EXECV,
	EXECVE,
	EXIT,
	POSIX_FUNCTIONS,
	FORK_EXEC = POSIX_FUNCTIONS,
	FUNCTIONS
};

static struct row rows[FUNCTIONS];

#define WRAPPER(function, which)                                                                                       \
	static PyObject *function(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords)           \
	{                                                                                                              \
		(void)module;                                                                                          \
		return call(&rows[which], args, n, keywords);                                                          \
	}
WRAPPER(on_fork, FORK)
WRAPPER(on_forkpty, FORKPTY)
WRAPPER(on_posix_spawn, POSIX_SPAWN)
WRAPPER(on_posix_spawnp, POSIX_SPAWNP)
WRAPPER(on_system, SYSTEM)
WRAPPER(on_wait, WAIT)
WRAPPER(on_wait3, WAIT3)
WRAPPER(on_wait4, WAIT4)
WRAPPER(on_waitid, WAITID)
WRAPPER(on_waitpid, WAITPID)
WRAPPER(on_kill, KILL)
WRAPPER(on_killpg, KILLPG)
WRAPPER(on_execv, EXECV)
WRAPPER(on_execve, EXECVE)
WRAPPER(on_exit_now, EXIT)
WRAPPER(on_fork_exec, FORK_EXEC)

#define ROW(name, function, before, after)                                                                             \
	{                                                                                                              \
		name, (PyCFunctionWithKeywords)(void (*)(void))(function), before, after, NULL,                        \
		{                                                                                                      \
			0                                                                                              \
		}                                                                                                      \
	}
static struct row rows[FUNCTIONS] = {
    [FORK] = ROW("fork", on_fork, NULL, after_fork),
    [FORKPTY] = ROW("forkpty", on_forkpty, NULL, after_fork),
    [POSIX_SPAWN] = ROW("posix_spawn", on_posix_spawn, NULL, after_spawn),
    [POSIX_SPAWNP] = ROW("posix_spawnp", on_posix_spawnp, NULL, after_spawn),
    [SYSTEM] = ROW("system", on_system, NULL, after_system),
    [WAIT] = ROW("wait", on_wait, NULL, after_wait),
    [WAIT3] = ROW("wait3", on_wait3, NULL, after_wait),
    [WAIT4] = ROW("wait4", on_wait4, NULL, after_wait),
    [WAITID] = ROW("waitid", on_waitid, NULL, after_waitid),
    [WAITPID] = ROW("waitpid", on_waitpid, NULL, after_wait),
    [KILL] = ROW("kill", on_kill, NULL, after_kill),
    [KILLPG] = ROW("killpg", on_killpg, NULL, after_kill),
    [EXECV] = ROW("execv", on_execv, before_exec, NULL),
    [EXECVE] = ROW("execve", on_execve, before_exec, NULL),
    [EXIT] = ROW("_exit", on_exit_now, before_exit, NULL),
    [FORK_EXEC] = ROW("fork_exec", on_fork_exec, NULL, after_fork_exec),
};

static PyObject *call(struct row *row, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
	struct call c = {args, n, keywords, NULL, recording() ? sp_ticks() : 0};
	if (row->before)
		row->before(&c);
	c.result = PyObject_Vectorcall(row->original, args, (size_t)n, keywords);
	if (sp_process.forked && sp_process.settings.sampler)
		sp_process_forked(); /* a sampler finds the process by its file */
	if (row->before == before_exec) {
		SP_SAVE_EXCEPTION;
		sp_process_exec(false); /* the exec failed */
		SP_RESTORE_EXCEPTION;
	} else if (c.result && row->after && ((c.begin && recording()) || row->after == after_fork)) {
		const int error = errno;
		row->after(&c);
		errno = error;
	}
	return c.result;
}

/* Replaces the function in the module's dictionary, and in the dictionaries of others that contain the same
 * function. */
static void wrap(struct row *row, PyObject *module, PyObject *const *others, size_t n)
{
	PyObject *dict = PyModule_GetDict(module), *found = PyDict_GetItemString(dict, row->name); /* borrowed */
	if (!found || !PyCFunction_CheckExact(found) || row->original)
		return;
	PyMethodDef *theirs = ((PyCFunctionObject *)found)->m_ml;
	row->def = (PyMethodDef){theirs->ml_name, (PyCFunction)(void (*)(void))row->function,
	                         METH_FASTCALL | METH_KEYWORDS, theirs->ml_doc};
	PyObject *name = PyObject_GetAttrString(found, "__module__");
	PyObject *mine = name ? PyCFunction_NewEx(&row->def, PyCFunction_GET_SELF(found), name) : NULL;
	if (mine) {
		Py_INCREF(found);
		row->original = found;
	}
	for (size_t i = 0; mine && i <= n; i++) {
		PyObject *where = i < n ? others[i] : dict;
		if (PyDict_GetItemString(where, row->name) == row->original)
			PyDict_SetItemString(where, row->name, mine);
	}
	Py_XDECREF(name);
	Py_XDECREF(mine);
}

/* Imports a module. Returns it, owned; NULL if there is no such module, or with an exception of the program, raised
 * during the import by a signal handler. */
static PyObject *imported(const char *name)
{
	PyObject *m = PyImport_ImportModule(name);
	if (!m && PyErr_ExceptionMatches(PyExc_ImportError))
		PyErr_Clear();
	return m;
}

int sp_children_watch(void)
{
	PyObject *posix = imported("posix"), *os = posix ? imported("os") : NULL;
	PyObject *other = os && PyModule_Check(os) ? PyModule_GetDict(os) : NULL;
	PyObject *starter = PyErr_Occurred() ? NULL : imported("_posixsubprocess");
	SP_SAVE_EXCEPTION;
	for (int i = 0; posix && other && i < POSIX_FUNCTIONS; i++)
		wrap(&rows[i], posix, &other, 1);
	if (starter)
		wrap(&rows[FORK_EXEC], starter, NULL, 0);
	/* since 3.12 the module subprocess has a separate reference to the function; subprocess may already be
	 * loaded */
	PyObject *loaded = PyDict_GetItemString(PyImport_GetModuleDict(), "subprocess"); /* borrowed */
	PyObject *dict = loaded && PyModule_Check(loaded) ? PyModule_GetDict(loaded) : NULL;
	PyObject *now = starter ? PyDict_GetItemString(PyModule_GetDict(starter), "fork_exec") : NULL;
	if (dict && now && PyDict_GetItemString(dict, "_fork_exec") == rows[FORK_EXEC].original)
		PyDict_SetItemString(dict, "_fork_exec", now);
	Py_XDECREF(starter);
	Py_XDECREF(os);
	Py_XDECREF(posix);
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	return PyErr_Occurred() ? -1 : 0;
}
