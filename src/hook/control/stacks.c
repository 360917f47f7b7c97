/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a thread's stack of open frames agree with the interpreter's: at its first event, and after a time in which
 * functions or everything were not recorded. */
#include "hook/greenlet.h"
#include "hook/hook.h"
#include "hook/naming.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/variables.h"
#include "hook/watch.h"
#include "record/adapter.h"
#include "record/heap/recorder.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/tally.h"
#include "record/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t sp_hook_key_of(const PyCodeObject *code)
{
	const struct sp_hook *h = sp_hook_used; /* load once: a stop sets it to NULL */
	return (uint64_t)code | (h ? h->key_tag : 0);
}

/* ---- the interpreter's frames ---- */

/* The interpreter's frames of a thread. */
struct frames {
	sp_frame **all; /* owned; outermost first */
	size_t n;
};

/* Without memory the result is empty, and the frames are counted as lost. */
static struct frames frames_of(struct sp_thread *t, sp_frame *innermost)
{
	struct frames fs = {NULL, 0};
	size_t n = 0;
	for (sp_frame *f = innermost; f; f = sp_frame_back(f))
		n++;
	fs.all = malloc((n + 1) * sizeof(sp_frame *));
	if (!fs.all) {
		t->loc.lost_events += 2 * n;
		return fs;
	}
	fs.n = n;
	for (sp_frame *f = innermost; f; f = sp_frame_back(f))
		fs.all[--n] = f;
	return fs;
}

/* Pushes the open frames that began unseen, from number `first` on. They get time, but no visit. With the settings
 * scorep and omnitrace such frames stay unseen, as in those tools, and so do those of the starting thread without the
 * setting open_frames. */
static void adopt(struct sp_thread *t, const struct frames *fs, size_t first)
{
	uint64_t now = sp_ticks();
	const bool unseen = sp_process.settings.scorep || sp_process.settings.omnitrace ||
	                    (!sp_process.settings.open_frames && !t->loc.id);
	for (size_t i = first; i < fs->n; i++) {
		PyCodeObject *code = sp_frame_code(fs->all[i]);
		uint64_t slot = sp_names_slot(code, fs->all[i]);
		if (slot & SP_SLOT_WATCH && !sp_slot_is_hidden(slot))
			sp_watch_enter(fs->all[i], false, true);
		if (slot >> SP_SLOT_ID && !(slot & SP_SLOT_FILTERED) && !unseen)
			sp_stack_inherit(t, (uint32_t)(slot >> SP_SLOT_ID), sp_hook_key_of(code), (uint64_t)fs->all[i],
			                 SP_RAW_FRAME_INHERITED, now);
	}
}

void sp_hook_adopt(struct sp_thread *t, sp_frame *innermost)
{
	struct frames fs = frames_of(t, innermost);
	adopt(t, &fs, 0);
	free(fs.all);
}

sp_frame *sp_hook_caller(sp_frame *entered)
{
	sp_frame *f = sp_frame_current(PyThreadState_Get());
	return f && f == entered ? sp_frame_back(f) : f;
}

/* Returns the calling thread's state if it holds the GIL, otherwise NULL: regions from C may begin without the GIL. */
static PyThreadState *state_with_gil(void)
{
	PyThreadState *ts = sp_thread_state();
	return ts && ts->thread_id == PyThread_get_thread_ident() ? ts : NULL;
}

static sp_frame *innermost_open(PyThreadState *ts)
{
	sp_frame *f = sp_frame_current(ts);
	const struct sp_hook *h = sp_hook_used; /* load once: a stop sets it to NULL */
	bool entered = h && h->entered_is_current && !sp_stack_enters_other;
	return f && entered ? sp_frame_back(f) : f;
}

/* The keys of Python functions are the addresses of their code, except for bit 0, which distinguishes hooks; all other
 * keys have bit 1 or 2 set. */
static bool is_python_key(uint64_t key)
{
	return key && !(key & 6);
}

/* Returns the number, from 1 on, of the outermost open frame that has ended unseen. *next: the number of the
 * interpreter's first frame without a recorded one. Recorded Python frames are a subset of the interpreter's, in the
 * same order; any other frame is open as long as the function that it began in. */
static size_t first_gone(const struct sp_thread *t, const struct frames *fs, size_t *next)
{
	const struct sp_raw_frame *base = (const struct sp_raw_frame *)t->loc.base;
	size_t depth = sp_stack_depth(t), at = 0;
	*next = 0;
	for (size_t i = 1; i <= depth; i++) {
		uint64_t key = sp_stack_key(&base[i]);
		if (!is_python_key(key))
			continue;
		while (at < fs->n && ((uint64_t)sp_frame_code(fs->all[at]) ^ key) >> 1)
			at++;
		if (at == fs->n)
			return i;
		*next = ++at;
	}
	return depth + 1;
}

/* Leaves frames that have ended unseen; user regions among them stay open. Returns the number of the interpreter's
 * first frame without a recorded one. */
static size_t settle(struct sp_thread *t, const struct frames *fs, uint64_t now)
{
	size_t next, gone = first_gone(t, fs, &next), depth = sp_stack_depth(t);
	if (gone <= depth)
		sp_stack_cut(t, gone, now);
	return next;
}

/* ---- after a pause, or when functions are recorded again ---- */

static void go_on(struct sp_thread *t, sp_frame *innermost, bool known)
{
	t->epoch = sp_epoch;
	sp_stack_limit(t);
	sp_stack_resumed(t);
	/* a thread without a state of the interpreter has no Python frames */
	struct frames fs = {NULL, 0};
	if (known)
		fs = frames_of(t, innermost);
	if (fs.all) {
		const size_t next = settle(t, &fs, sp_ticks());
		if (sp_process.instrumented) /* otherwise their ends would not be recorded */
			adopt(t, &fs, next);
	}
	free(fs.all);
	sp_stack_begun(t);
}

void sp_hook_out_of_date(struct sp_thread *t)
{
	PyThreadState *ts = state_with_gil();
	if (!sp_recording || sp_process_is_foreign())
		return;
	if (!ts) {
		go_on(t, NULL, false);
		return;
	}
	SP_SAVE_EXCEPTION;
	go_on(t, innermost_open(ts), true);
	SP_RESTORE_EXCEPTION;
}

/* ---- threads excluded by the package of their class ---- */

static char *servants; /* owned; packages, each followed by NUL, with one more NUL at the end; NULL: none. Under the
                            GIL or sp_serial_names */

void sp_hook_leave_out(char *packages)
{
	SP_SERIAL(sp_serial_names);
	free(servants);
	servants = packages;
}

/* Whether a thread that begins, in Thread._bootstrap(self), has a class of one of these packages. */
static bool is_servant(sp_frame *entered)
{
	if (!entered || PyUnicode_CompareWithASCIIString(sp_frame_code(entered)->co_name, "_bootstrap"))
		return false;
	SP_SERIAL(sp_serial_names);
	if (!servants)
		return false;
	PyObject *self = sp_frame_self(entered);
	PyObject *dict = self ? Py_TYPE(self)->tp_dict : NULL;
	PyObject *module = dict ? PyDict_GetItemString(dict, "__module__") : NULL; /* borrowed, like the others */
	const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
	PyErr_Clear();
	for (const char *p = servants; name && *p; p += strlen(p) + 1) {
		const size_t n = strlen(p);
		if (!strncmp(name, p, n) && (name[n] == '.' || !name[n]))
			return true;
	}
	return false;
}

struct sp_thread *sp_hook_thread(sp_frame *entered)
{
	struct sp_thread *t = sp_self;
	if (t && t->epoch == sp_epoch)
		return t;
	if (!sp_recording || (t && sp_process_is_foreign()))
		return NULL;
	if (!t) {
		if (is_servant(entered))
			sp_thread_hide();
		t = sp_thread_new();
		if (!t)
			return NULL;
		if (t->loc.tid == (uint64_t)getpid())
			sp_thread_name(t, "MainThread", 10);
		sp_greenlet_watch_thread();
		/* after a fork the stack already contains the frames, user regions among them */
		if (!sp_stack_depth(t) && sp_process.instrumented)
			sp_hook_adopt(t, sp_hook_caller(entered));
	} else {
		go_on(t, sp_hook_caller(entered), true);
	}
	return t;
}

SP_COLD struct sp_thread *sp_hook_leaver_slow(uint64_t *now)
{
	int error = errno;
	struct sp_thread *t = sp_recording ? sp_process_forked() : NULL;
	if (t && t->epoch != sp_epoch)
		sp_stack_resumed(t);
	*now = sp_ticks();
	errno = error;
	return t;
}

void sp_hook_unwinds(uint64_t key, const PyTypeObject *type)
{
	const PyObject *o = (const PyObject *)type;
	if (o && (o == PyExc_StopIteration || o == PyExc_StopAsyncIteration || o == PyExc_GeneratorExit))
		return;
	uint64_t now = sp_ticks();
	struct sp_thread *t = sp_hook_leaver(&now);
	if (t && sp_recording)
		sp_tally_exception(t, key);
}

/* While functions are not recorded, their ends are not seen: before a user region begins, frames that have ended are
 * left. */
void sp_hook_settle(struct sp_thread *t)
{
	if (sp_process.instrumented || !sp_stack_depth(t))
		return;
	struct frames fs = frames_of(t, sp_hook_caller(NULL));
	if (fs.all)
		settle(t, &fs, sp_ticks());
	free(fs.all);
}

/* Whether the inherited frame s is still among the callers. If an event enters a frame that is already current, that
 * frame does not count: it may be a new one at the old one's address. */
bool sp_hook_still_open(const struct sp_raw_frame *s)
{
	PyThreadState *ts = state_with_gil();
	if (!ts)
		return true;
	for (sp_frame *f = innermost_open(ts); f; f = sp_frame_back(f))
		if ((uint64_t)f == s->frame)
			return sp_hook_key_of(sp_frame_code(f)) == ~s->key;
	return false;
}

/* ---- the slow path into an event; keeps exception and errno ---- */

SP_COLD struct sp_thread *sp_hook_enter_slow(PyCodeObject *code, sp_frame *f, uint64_t *slot)
{
	static __thread bool inside SP_TLS_MODEL;
	if (!sp_recording || inside)
		return NULL;
	inside = true;
	sp_heap_hush(1);
	int error = errno;
	SP_SAVE_EXCEPTION;
	struct sp_thread *t = sp_hook_thread(f);
	if (t) {
		*slot = sp_names_slot(code, f);
		bool hidden = sp_slot_is_hidden(*slot);
		bool recorded = !(*slot & SP_SLOT_FILTERED) && (*slot >> SP_SLOT_ID || hidden);
		if (*slot & SP_SLOT_WATCH && f && !hidden)
			sp_watch_enter(f, true, recorded);
		if (!recorded)
			t = NULL;
		else if (sp_slot_is_labelled(*slot) && f && sp_frame_code(f) == code)
			*slot = sp_label_slot(*slot, f);
	}
	SP_RESTORE_EXCEPTION;
	errno = error;
	sp_heap_hush(-1);
	inside = false;
	return t;
}

SP_COLD char *sp_hook_stack_low(void)
{
	pthread_attr_t a;
	void *low;
	size_t size;
	char *limit = NULL;

	if (pthread_getattr_np(pthread_self(), &a))
		return NULL;
	if (!pthread_attr_getstack(&a, &low, &size)) {
		char *here = __builtin_frame_address(0);
		size_t capacity = here > (char *)low ? (size_t)(here - (char *)low) : 0;
		limit = here - capacity / 4;
	}
	pthread_attr_destroy(&a);
	return limit;
}
