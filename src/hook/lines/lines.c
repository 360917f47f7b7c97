/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which functions have their lines recorded: those that a pattern names, decided when their code first runs,
 * and those that the program marks. */
#include "hook/lines/lines.h"
#include "hook/control.h"
#include "hook/hook.h"
#include "hook/naming.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sp_filter *patterns; /* owned; NULL: no patterns. Under the GIL or sp_serial_names */

/* ---- code objects by their address; under the process lock, because each interpreter may have its own GIL ---- */

struct table {
	struct sp_line_code *p; /* owned; open-addressed */
	uint32_t mask, n;
};
static struct table events, marks; /* marks: functions marked by the program, for all measurements */

static struct sp_line_code *find(const struct table *t, const PyCodeObject *code)
{
	uint32_t i = sp_lines_hash((uint64_t)code) & t->mask;
	if (!t->p)
		return NULL;
	while (t->p[i].code && t->p[i].code != code)
		i = (i + 1) & t->mask;
	return &t->p[i];
}

static int grow(struct table *t)
{
	const uint32_t n = t->p ? t->mask + 1 : 0, more = n ? n * 2 : 16;
	struct table fresh = {calloc(more, sizeof *fresh.p), more - 1, t->n};
	if (!fresh.p)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		if (t->p[i].code)
			*find(&fresh, t->p[i].code) = t->p[i];
	free(t->p);
	*t = fresh;
	return 0;
}

/* Adds an entry. Returns NULL without memory. Keeps a reference to the code object, so that its address is not
 * reused. */
static struct sp_line_code *add(struct table *t, PyCodeObject *code, bool *fresh)
{
	if ((!t->p || (t->n + 1) * 2 > t->mask) && grow(t))
		return NULL;
	struct sp_line_code *c = find(t, code);
	*fresh = !c->code;
	if (*fresh) {
		Py_INCREF(code);
		*c = (struct sp_line_code){.code = code,
		                           .interpreter = PyInterpreterState_GetID(PyInterpreterState_Get())};
		t->n++;
	}
	return c;
}

/* Frees the table. References to code objects of other interpreters are kept: those interpreters may have ended, or
 * may be running now. */
static void forget(struct table *t)
{
	const int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get());
	for (uint32_t i = 0; t->p && i <= t->mask; i++) {
		if (t->p[i].code && t->p[i].interpreter == here)
			Py_DECREF(t->p[i].code);
		free(t->p[i].line_at);
	}
	free(t->p);
}

/* Gives a copy of the entry: the table may grow meanwhile, for another interpreter. */
static bool known_in(const struct table *t, const PyCodeObject *code, struct sp_line_code *copy)
{
	pthread_mutex_lock(&sp_process.lock);
	const struct sp_line_code *c = find(t, code);
	const bool known = c && c->code;
	if (known)
		*copy = *c;
	pthread_mutex_unlock(&sp_process.lock);
	return known;
}

/* Visits a copy of the table: visit() may add entries. */
static int each(const struct table *t, int (*visit)(PyCodeObject *code, PyObject *module, PyObject *qualname))
{
	const int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get());
	uint32_t n = 0;
	int r = 0;
	pthread_mutex_lock(&sp_process.lock);
	struct sp_line_code *all = malloc((t->n + 1) * sizeof *all);
	for (uint32_t i = 0; all && t->p && i <= t->mask; i++)
		if (t->p[i].code && t->p[i].interpreter == here)
			all[n++] = t->p[i];
	pthread_mutex_unlock(&sp_process.lock);
	for (uint32_t i = 0; i < n && !r; i++)
		r = visit(all[i].code, all[i].module, all[i].qualname);
	free(all);
	return r;
}

/* ---- the lines of a code object ---- */

enum { MAX_LINES = 1 << 20 };

/* The lines of a code object. */
struct extent {
	uint32_t *line_at; /* owned; the line of each instruction; NULL: no memory */
	size_t n;
	uint32_t first, last;
};

/* Sets the line of the instructions [from, to); 0 or less: no line. */
static void set_lines(struct extent *x, size_t from, size_t to, long line)
{
	if (line <= 0 || line > INT32_MAX)
		return;
	if ((uint32_t)line < x->first)
		x->first = (uint32_t)line;
	if ((uint32_t)line > x->last)
		x->last = (uint32_t)line;
	for (; from < to && from < x->n; from++)
		x->line_at[from] = (uint32_t)line;
}

#if PY_VERSION_HEX >= 0x030A0000
static int read_lines(struct extent *x, PyCodeObject *code)
{
	PyObject *it = PyObject_CallMethod((PyObject *)code, "co_lines", NULL), *row;
	while (it && (row = PyIter_Next(it))) {
		const size_t from = PyLong_AsSize_t(PyTuple_GET_ITEM(row, 0)) / 2;
		const size_t to = PyLong_AsSize_t(PyTuple_GET_ITEM(row, 1)) / 2;
		PyObject *line = PyTuple_GET_ITEM(row, 2);
		set_lines(x, from, to, line == Py_None ? 0 : PyLong_AsLong(line));
		Py_DECREF(row);
	}
	Py_XDECREF(it);
	return PyErr_Occurred() ? -1 : 0;
}
#else
/* Objects/lnotab_notes.txt: pairs of bytes, the distance to the next line's first instruction and the difference of
 * the line numbers. */
static int read_lines(struct extent *x, PyCodeObject *code)
{
	const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(code->co_lnotab);
	const unsigned char *end = p + PyBytes_GET_SIZE(code->co_lnotab);
	size_t from = 0, to = 0;
	long line = code->co_firstlineno;
	for (; p + 1 < end; p += 2) {
		to += p[0];
		set_lines(x, from / 2, to / 2, line);
		from = to;
		line += (signed char)p[1];
	}
	set_lines(x, from / 2, x->n, line);
	return 0;
}
#endif

static size_t instructions(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	return (size_t)Py_SIZE(code);
#else
	return (size_t)PyBytes_GET_SIZE(code->co_code) / 2;
#endif
}

static struct extent extent_of(PyCodeObject *code)
{
	const uint32_t first = (uint32_t)(code->co_firstlineno > 0 ? code->co_firstlineno : 1);
	struct extent x = {.n = instructions(code), .first = first, .last = first};
	x.line_at = calloc(x.n + 1, sizeof *x.line_at);
	if (x.line_at && read_lines(&x, code))
		PyErr_Clear();
	return x;
}

/* Call it without the process lock: it may run the garbage collector. */
int sp_lines_add_code(PyCodeObject *code, uint32_t region)
{
	struct extent x = {.line_at = NULL};
	bool fresh = false;
	if (region) {
		x = extent_of(code);
		if (!x.line_at || x.last - x.first >= MAX_LINES) {
			free(x.line_at);
			return -1;
		}
	}
	pthread_mutex_lock(&sp_process.lock);
	struct sp_line_code *c = add(&events, code, &fresh);
	if (c && region && !c->region) {
		c->region = region;
		c->first = x.first;
		c->lines = x.last - x.first + 1;
		c->instructions = x.n;
		c->line_at = x.line_at;
		x.line_at = NULL;
		fresh = true;
	}
	pthread_mutex_unlock(&sp_process.lock);
	free(x.line_at);
	if (c && fresh && region)
		sp_lines_make_stale((uint64_t)code);
	return c ? fresh : -1;
}

uint32_t sp_lines_line(const PyCodeObject *code, int offset)
{
	struct sp_line_code c;
	const size_t at = (size_t)(offset < 0 ? 0 : offset) / 2;
	return known_in(&events, code, &c) && c.line_at && at < c.instructions ? c.line_at[at] : 0;
}

/* ---- entries in a thread ---- */

struct sp_thread *sp_lines_thread(void)
{
	struct sp_thread *t = sp_self;
	if (!sp_recording)
		return NULL;
	if (!t || t->epoch != sp_epoch) {
		int error = errno;
		SP_SAVE_EXCEPTION;
		t = sp_hook_thread(NULL);
		SP_RESTORE_EXCEPTION;
		errno = error;
	}
	return t && sp_lines_of(t) ? t : NULL;
}

struct sp_line_function *sp_lines_function(struct sp_thread *t, const PyCodeObject *code)
{
	struct sp_line_function *f = sp_lines_find(t->lines, (uint64_t)code);
	if (SP_LIKELY(f && !f->stale))
		return f;
	struct sp_line_code c;
	const bool known = known_in(&events, code, &c);
	if (f && known)
		sp_lines_choose(t, f, c.region, c.first, c.lines);
	if (f)
		return f;
	return known ? sp_lines_add(t, (uint64_t)code, c.region, c.first, c.lines) : NULL;
}

/* ---- patterns and marks ---- */

void sp_lines_missing(const char *why)
{
	char text[400];
	int n = snprintf(text, sizeof text, "lines of functions, because %s", why);
	sp_define_meta("missing_lines", text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* Records that a pattern has matched: the launcher names those that did not. */
static void matched(size_t number)
{
	char key[40];
	snprintf(key, sizeof key, "lines_matched %zu", number);
	sp_define_meta(key, "1", 1);
}

bool sp_lines_wanted(const PyCodeObject *code, const char *module, const char *qualname, const char *file)
{
	struct sp_line_code mark;
	const bool marked = marks.n && known_in(&marks, code, &mark);
	return (patterns && sp_patterns_take(patterns, module, qualname, file, matched)) || marked;
}

static bool installed; /* in some interpreter */

/* Decides the code again, which is now chosen, and enables its line events. */
static int choose_marked(PyCodeObject *code, PyObject *module, PyObject *qualname)
{
	const uint64_t slot = sp_names_decide(code, module, qualname);
	return slot & SP_SLOT_LINES ? sp_lines_events_choose(code, (uint32_t)(slot >> SP_SLOT_ID)) : 0;
}

int sp_lines_mark(PyObject *function)
{
	PyFunctionObject *fn = (PyFunctionObject *)function;
	PyCodeObject *code = (PyCodeObject *)fn->func_code;
	PyObject *module = PyDict_GetItemString(fn->func_globals, "__name__"), *qualname = fn->func_qualname;
	bool fresh = false;
	pthread_mutex_lock(&sp_process.lock);
	struct sp_line_code *c = add(&marks, code, &fresh);
	if (fresh) {
		Py_XINCREF(module);
		Py_INCREF(qualname);
		c->module = module;
		c->qualname = qualname;
	}
	pthread_mutex_unlock(&sp_process.lock);
	if (!c) {
		PyErr_NoMemory();
		return -1;
	}
	SP_SERIAL(sp_serial_control);
	sp_process_forked();
	if (!fresh || !sp_hook_used || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return 0;
	if (installed)
		return choose_marked(code, module, qualname);
	sp_control_beneath(sp_lines_install);
	return 0;
}

/* ---- start and end ---- */

int sp_lines_start(const struct sp_settings *s, char *why, size_t n)
{
	SP_SERIAL(sp_serial_names);
	sp_filter_free(patterns);
	patterns = NULL;
	return s->lines && *s->lines ? sp_patterns_new(&patterns, s->lines, why, n) : 0;
}

/* Chooses the functions that are already running in the starting thread. */
static void choose_open(void)
{
	for (sp_frame *f = sp_frame_current(PyThreadState_Get()); f; f = sp_frame_back(f)) {
		const uint64_t slot = sp_names_slot(sp_frame_code(f), f);
		if (slot & SP_SLOT_LINES && sp_lines_events_choose(sp_frame_code(f), (uint32_t)(slot >> SP_SLOT_ID)))
			PyErr_Clear();
	}
}

void sp_lines_install(void)
{
	if (!patterns && !marks.n)
		return;
	SP_SAVE_EXCEPTION;
	if (sp_lines_events_install(patterns != NULL) == 0) {
		installed = true;
		each(&marks, choose_marked);
		if (patterns)
			choose_open();
	} else {
		sp_lines_missing("sys.monitoring has no tool left for it");
	}
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
}

bool sp_lines_used(void)
{
	return installed;
}

static int unchoose(PyCodeObject *code, PyObject *module, PyObject *qualname)
{
	(void)module, (void)qualname;
	sp_lines_events_forget(code);
	return 0;
}

void sp_lines_remove(void)
{
	if (!installed)
		return;
	installed = false;
	pthread_mutex_lock(&sp_process.lock);
	struct table old = events;
	events = (struct table){NULL, 0, 0};
	pthread_mutex_unlock(&sp_process.lock);
	each(&old, unchoose);
	sp_lines_events_remove();
	forget(&old);
}

void sp_lines_pause(void)
{
	const uint64_t now = sp_ticks();
	pthread_mutex_lock(&sp_process.lock);
	for (struct sp_thread *t = sp_process.threads; t; t = t->next)
		sp_lines_close(t, now);
	pthread_mutex_unlock(&sp_process.lock);
}
