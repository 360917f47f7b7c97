/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, pause and end of a measurement. */
#include "base/owner/owner.h"
#include "hook/attach.h"
#include "hook/calibrate.h"
#include "hook/children.h"
#include "hook/collections.h"
#include "hook/command.h"
#include "hook/control.h"
#include "hook/greenlet.h"
#include "hook/hook.h"
#include "hook/launch.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/process/heap.h"
#include "hook/serial.h"
#include "hook/stacks.h"
#include "hook/waits/waits.h"
#include "record/definitions.h"
#include "record/events/interpose.h"
#include "record/filter.h"
#include "record/heap/recorder.h"
#include "record/machine.h"
#include "record/metrics.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const struct sp_hook *_Atomic sp_hook_used;

const struct sp_hook *const sp_hooks[] = {
#if PY_VERSION_HEX >= 0x030C0000
    &sp_hook_monitoring,
    &sp_hook_setprofile,
    &sp_hook_evalframe,
#else
    &sp_hook_evalframe,
    &sp_hook_setprofile,
    &sp_hook_monitoring,
#endif
    NULL,
};

/* With a t, as its programs are named, without the GIL. */
#ifdef Py_GIL_DISABLED
#define VERSION PY_VERSION "t"
#else
#define VERSION PY_VERSION
#endif

/* ---- start ---- */

static int64_t starter = -1; /* the interpreter in which the last measurement began */

bool sp_control_began_here(void)
{
	return PyInterpreterState_GetID(PyInterpreterState_Get()) == starter;
}

static const struct sp_hook *hook_choose(const struct sp_settings *s)
{
	for (int i = 0; sp_hooks[i]; i++) {
		const struct sp_hook *h = sp_hooks[i];
		if (!strcmp(s->hook, "auto")) {
			if (!h->missing() && (h->c_calls || !s->c_calls))
				return h;
		} else if (!strcmp(s->hook, h->name)) {
			const char *why = h->missing();
			if (!why && s->c_calls && !h->c_calls)
				why = "it cannot see C functions";
			if (!why)
				return h;
			PyErr_Format(PyExc_ValueError, "hook: %s does not work here: %s", h->name, why);
			return NULL;
		}
	}
	PyErr_Format(PyExc_ValueError, "hook: '%s' is not one of auto, monitoring, evalframe, setprofile", s->hook);
	return NULL;
}

/* Returns the directory of the standard library, that of the module os. Owned. */
static char *library_directory(void)
{
	PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
	PyObject *os = modules ? PyDict_GetItemString(modules, "os") : NULL;
	PyObject *file = os && PyModule_CheckExact(os) ? PyDict_GetItemString(PyModule_GetDict(os), "__file__") : NULL;
	const char *p = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
	PyErr_Clear();
	const char *slash = p ? strrchr(p, '/') : NULL;
	return slash ? strndup(p, (size_t)(slash - p)) : NULL;
}

/* Returns sys.prefix, the directory of the environment; empty: it has been removed. Borrowed. */
static const char *prefix_directory(void)
{
	PyObject *prefix = PySys_GetObject("prefix"); /* borrowed */
	const char *p = prefix && PyUnicode_Check(prefix) ? PyUnicode_AsUTF8(prefix) : NULL;
	PyErr_Clear();
	return p ? p : "";
}

static void meta_command(void)
{
	struct sp_command c = {0};
	sp_command_own(&c);
	if (c.n)
		sp_define_meta("command", c.p, c.n);
	sp_command_free(&c);
}

static void meta_machine(void)
{
	struct utsname u;
	char text[sizeof u.sysname + sizeof u.release + 1];
	if (uname(&u) == 0) {
		int n = snprintf(text, sizeof text, "%s %s", u.sysname, u.release);
		sp_define_meta("os", text, (size_t)n);
		sp_define_meta("processor", u.machine, strlen(u.machine));
	}
	char name[SP_MACHINE_NAME];
	if (sp_machine_name(name))
		sp_define_meta("cpu", name, strlen(name));
}

static void meta_settings(void)
{
	char *all = NULL; /* owned */
	size_t bytes = 0;
	FILE *to = open_memstream(&all, &bytes);
	for (const struct sp_setting *row = sp_setting_table; to && row->name; row++) {
		char *value = sp_settings_text(&sp_process.settings, row);
		fprintf(to, "%s=%s\n", row->name, value ? value : "");
		free(value);
	}
	if (to && !fclose(to))
		sp_define_meta("settings", all, bytes);
	free(all);
}

static void meta(const struct sp_hook *h)
{
	static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID",   "LSB_JOBID",
	                                   "COBALT_JOBID", "FLUX_JOB_ID", "JOB_ID"};
	char text[PATH_MAX];
	meta_command();
	const struct sp_settings *s = &sp_process.settings;
	ssize_t n = readlink("/proc/self/exe", text, sizeof text);
	if (*s->executable)
		sp_define_meta("executable", s->executable, strlen(s->executable));
	else if (n > 0)
		sp_define_meta("executable", text, (size_t)n);
	if (*s->own)
		sp_define_meta("own", s->own, strlen(s->own));
	if (*s->machine)
		sp_define_meta("machine", s->machine, strlen(s->machine));
	if (getcwd(text, sizeof text))
		sp_define_meta("cwd", text, strlen(text));
	char *library = library_directory();
	if (library)
		sp_define_meta("library", library, strlen(library)); /* a sampler filters with the same directories */
	free(library);
	const char *prefix = prefix_directory();
	sp_define_meta("prefix", prefix, strlen(prefix));
	sp_names_write_cells(true);
	meta_machine();
	sp_define_meta("spartito", SP_VERSION, strlen(SP_VERSION));
	sp_define_meta("python", VERSION, sizeof VERSION - 1);
	sp_define_meta("hook", h->name, strlen(h->name));
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		const char *id = getenv(jobs[i]);
		if (id && *id) {
			sp_define_meta("job", id, strlen(id));
			break;
		}
	}
	meta_settings();
}

/* Begins in the starting thread: first measures the cost of an event, which discards what the thread recorded, then
 * records the open frames. */
static int begin_here(const struct sp_hook *h, bool booting)
{
	sp_calibrate_before(h);
	if (booting)
		PyErr_Clear();
	if (PyErr_Occurred() || h->install())
		return -1;
	sp_hook_used = h;
	struct sp_thread *t = sp_thread_new();
	if (!t)
		return 0;
	sp_calibrate_after(t);
	if (booting)
		PyErr_Clear();
	if (PyErr_Occurred()) {
		SP_SAVE_EXCEPTION;
		h->remove();
		sp_hook_used = NULL;
		SP_RESTORE_EXCEPTION;
		return -1;
	}
	sp_thread_name(t, "MainThread", t->loc.tid == (uint64_t)getpid() ? 10 : 0);
	sp_greenlet_watch_thread();
	t->booting = booting && sp_process.instrumented;
	if (t->booting)
		sp_thread_events_hold(t);
	if (!sp_process.instrumented)
		sp_hook_off();
	sp_control_beneath(sp_lines_install);
	/* during the start-up the open frames began before the program; without functions its call tree contains only
	 * user regions */
	if (sp_process.settings.open_frames && (sp_process.instrumented || !booting))
		sp_hook_adopt(t, sp_frame_current(PyThreadState_Get()));
	return 0;
}

static int filter_of(struct sp_filter **f, const struct sp_settings *s)
{
	char why[512] = "";
	struct sp_owners owners = {0};
	char *library = library_directory(), cwd[PATH_MAX];
	const char *prefix = prefix_directory();
	if (library)
		sp_owners_add(&owners, SP_OWNER_LIBRARY, library, strlen(library));
	sp_owners_add(&owners, SP_OWNER_PREFIX, prefix, strlen(prefix));
	if (getcwd(cwd, sizeof cwd))
		sp_owners_add(&owners, SP_OWNER_PROGRAM, cwd, strlen(cwd));
	int r = sp_filter_new(f, s, &owners, why, sizeof why);
	sp_owners_clear(&owners);
	free(library);
	if (r)
		PyErr_Format(PyExc_ValueError, "filter: %s", *why ? why : strerror(-r));
	return r ? -1 : 0;
}

PyObject *sp_control_takes(PyObject *self, PyObject *args)
{
	(void)self;
	const char *pattern;
	PyObject *functions, *f, *i = NULL;
	struct sp_filter *patterns;
	char why[512] = "";
	bool taken = false;
	if (!PyArg_ParseTuple(args, "sO", &pattern, &functions))
		return NULL;
	int r = sp_patterns_new(&patterns, pattern, why, sizeof why);
	if (r)
		return PyErr_Format(PyExc_ValueError, "%s", *why ? why : strerror(-r));
	if ((i = PyObject_GetIter(functions)))
		while (!taken && (f = PyIter_Next(i))) {
			const char *module, *qualname, *file;
			if (PyArg_ParseTuple(f, "sss", &module, &qualname, &file))
				taken = sp_pattern_takes(patterns, module, qualname, file);
			Py_DECREF(f);
			if (PyErr_Occurred())
				break;
		}
	Py_XDECREF(i);
	sp_filter_free(patterns);
	return PyErr_Occurred() ? NULL : PyBool_FromLong(taken);
}

/* Watches child processes and garbage collections. Returns false with an exception of the program, which ends a start
 * that the program asked for. A program that is booted knows nothing of that: it is recorded without what cannot be
 * watched, and META records say so. */
static bool watch(bool booting)
{
	static const char children[] =
	    "how child processes begin and end, because a module for that cannot be imported";
	static const char collections[] = "garbage collections, because the module gc cannot be imported";
	if (sp_children_watch()) {
		if (!booting)
			return false;
		PyErr_Clear();
		sp_define_meta("missing_children", children, sizeof children - 1);
	}
	if (sp_collections_start()) {
		if (!booting)
			return false;
		PyErr_Clear();
		sp_define_meta("missing_collections", collections, sizeof collections - 1);
	}
	return true;
}

static const char without_gil[] = "time waited for the GIL, because this build of Python has no GIL";

/* Without the GIL no thread waits for it. Returns whether the settings request these waits nevertheless. */
static bool wants_missing_gil(struct sp_settings *s)
{
#ifdef Py_GIL_DISABLED
	const bool wants = s->gil;
	s->gil = false;
	return wants;
#else
	s->gil = s->gil || s->waits;
	return false;
#endif
}

/* What events need to name functions and to compare stacks. Another thread may record something as soon as the
 * measurement has begun: this comes before it. Returns 0, or -1 with an exception. */
static int make_ready(void)
{
	char cwd[PATH_MAX];
	if (sp_names_init())
		return -1;
	if (getcwd(cwd, sizeof cwd))
		sp_names_set_directories(cwd);
	sp_stack_still_open = sp_hook_still_open;
	sp_stack_out_of_date = sp_hook_out_of_date;
	sp_stack_walk = sp_hook_walk;
	return 0;
}

/* Takes over the settings and the filter. An event of the measurement before may still be using those that are replaced
 * here. */
static int start_process(const char *dir, struct sp_settings *s, struct sp_filter *f, enum sp_raw_start how)
{
	SP_SERIAL(sp_serial_names);
	if (sp_label_start(s)) {
		sp_filter_free(f);
		return -1;
	}
	sp_world_stop();
	sp_names_new_generation();
	const int r = sp_process_start(dir, s, f, how);
	sp_world_start();
	if (!r)
		return 0;
	errno = -r;
	PyErr_SetFromErrnoWithFilename(PyExc_OSError, dir);
	return -1;
}

int sp_control_start(const char *dir, struct sp_settings *s, enum sp_raw_start how)
{
	char why[512] = "";
	if (sp_process.forked || (sp_process.header && sp_process.header->ended == SP_RAW_RUNNING)) {
		PyErr_SetString(PyExc_ValueError, "measuring already");
		return -1;
	}
	const struct sp_hook *h = hook_choose(s);
	if (!h)
		return -1;
	const bool no_gil = wants_missing_gil(s);
	bool without_io;
	if (sp_attach(s, how, &without_io))
		return -1;
	if (sp_lines_start(s, why, sizeof why)) {
		PyErr_Format(PyExc_ValueError, "lines: %s", *why ? why : "not enough memory");
		return -1;
	}
	struct sp_filter *f;
	if (filter_of(&f, s))
		return -1;
	if (sp_metrics_check(s->metrics, why, sizeof why)) {
		PyErr_Format(PyExc_ValueError, "metrics: %s", why);
		sp_filter_free(f);
		return -1;
	}
	if (make_ready()) {
		sp_filter_free(f);
		return -1;
	}
	if (start_process(dir, s, f, how))
		return -1;
	starter = PyInterpreterState_GetID(PyInterpreterState_Get());
	sp_hook_end_handlers();
	meta(h);
	sp_attach_missing(without_io);
	if (no_gil)
		sp_define_meta("missing_gil", without_gil, sizeof without_gil - 1);
	const bool booting = how == SP_RAW_STARTED_EXEC;
	const bool watched = watch(booting);
	sp_interpose_start((const void *)PyEval_SaveThread);
	sp_waits_start();
	if (watched && begin_here(h, booting) == 0 && sp_hook_heap_start() == 0)
		return 0;
	SP_SAVE_EXCEPTION;
	sp_control_stop();
	SP_RESTORE_EXCEPTION;
	return -1;
}

int sp_control_stop(void)
{
	sp_process_forked();
	if (sp_hook_used) {
		bool on = sp_process.instrumented && sp_recording;
		if (on && sp_hook_used->taken && sp_hook_used->taken())
			sp_process_lost(SP_RAW_REASON_HOOK, 0, 0);
		if (on || sp_hook_used->suspend)
			sp_hook_used->remove();
	}
	sp_hook_heap_stop();
	sp_lines_remove();
	sp_waits_stop();
	sp_collections_stop();
	sp_hook_used = NULL;
	sp_world_stop();
	sp_process_stop(SP_RAW_ENDED_STOPPED);
	sp_world_start();
	return 0;
}

int sp_control_pause(void)
{
	sp_process_forked();
	if (!sp_recording || !sp_hook_used)
		return 0;
	if (sp_self)
		sp_hook_thread(NULL); /* handles the preceding pause if another thread ended it */
	if (sp_process.instrumented)
		sp_hook_off();
	sp_world_stop();
	sp_lines_pause();
	sp_process_pause();
	sp_world_start();
	return 0;
}

int sp_control_resume(void)
{
	sp_process_forked();
	if (sp_recording || !sp_hook_used || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return 0;
	if (sp_process.instrumented && sp_hook_on())
		return -1;
	sp_world_stop();
	sp_process_resume();
	sp_world_start();
	sp_hook_thread(NULL);
	return 0;
}

int sp_control_instrument(bool on)
{
	sp_process_forked();
	if (!sp_hook_used || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING ||
	    on == sp_process.instrumented)
		return 0;
	if (!on && sp_recording)
		sp_hook_off();
	else if (on && sp_recording && sp_hook_on())
		return -1;
	const bool out_of_date = on && sp_recording;
	/* a thread that sets the limit of its stack at the same time would not notice that it is out of date */
	sp_world_stop();
	sp_process.instrumented = on;
	if (out_of_date)
		sp_process_out_of_date();
	sp_world_start();
	if (out_of_date)
		sp_hook_thread(NULL);
	return 1;
}

int sp_control_label(const char *words)
{
	sp_process_forked();
	if (!sp_hook_used || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return 0;
	SP_SERIAL(sp_serial_names);
	if (sp_label_change(words))
		return -1;
	sp_names_new_generation();
	return 0;
}

void sp_control_annotate(bool on)
{
	sp_process_forked();
	if (!sp_hook_used || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return;
	SP_SERIAL(sp_serial_names);
	sp_process.settings.annotate = on;
	sp_names_new_generation();
}

int sp_control_filter(const char *items)
{
	sp_process_forked();
	if (!sp_hook_used || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return 0;
	struct sp_settings s = sp_process.settings;
	struct sp_filter *f;
	s.filter = strdup(items);
	if (!s.filter) {
		PyErr_NoMemory();
		return -1;
	}
	if (filter_of(&f, &s)) {
		free(s.filter);
		return -1;
	}
	SP_SERIAL(sp_serial_names);
	sp_world_stop();
	sp_process_filter(f, s.filter);
	/* before a thread continues, which would keep the earlier decision about a C function in its own cache */
	sp_names_new_generation();
	sp_world_start();
	return 0;
}

void sp_control_beneath(void (*install)(void))
{
	const bool on = sp_hook_used && sp_process.instrumented && sp_recording && !sp_hook_used->suspend;
	if (on)
		sp_hook_off();
	install();
	if (on && sp_hook_on()) {
		PyErr_Clear();
		sp_process_lost(SP_RAW_REASON_HOOK, 0, 0);
	}
}

int sp_control_switch(const struct sp_hook *to)
{
	const struct sp_hook *from = sp_hook_used;
	if (!sp_process.instrumented)
		return 0; /* the end of a recursion that began before functions were disabled */
	/* Installing the hook may import a module, and so let other threads run. Their calls are recorded as before
	 * until the new hook is set, which install() does last. Nothing that this thread runs for the installation
	 * belongs to the program. */
	const uint64_t generation = sp_slot_ok;
	const int error = errno;
	sp_heap_hush(1);
	struct sp_thread *t = sp_thread_hide();
	const int r = to->install();
	sp_thread_show(generation == sp_slot_ok ? t : NULL);
	sp_heap_hush(-1);
	if (r)
		PyErr_Clear();
	if (r || sp_hook_used != from) {
		/* it failed, or another thread has replaced the hook or ended the measurement meanwhile */
		if (sp_hook_used != to)
			to->remove();
		errno = error;
		return r;
	}
	from->remove();
	sp_hook_used = to;
	sp_define_meta("hook", to->name, strlen(to->name));
	errno = error;
	return 0;
}
