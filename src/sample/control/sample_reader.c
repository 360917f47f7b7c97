/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/sample_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "record/adapter.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/process.h"
#include "sample/control/state.h"

enum {
	FIRST_FRAMES = 256,
	MAX_FRAMES = 1 << 17,
	NATIVE_FRAMES = 512,
	TRIES = 4 /* reads of a stack that keeps changing */
};

/* ---- buffers ---- */

static bool reserve(struct sp_sample_reader *l, size_t python)
{
	const size_t mixed = python + (l->native ? NATIVE_FRAMES : 0) + SP_MARKS;
	void *p = realloc(l->python_frames, python * sizeof *l->python_frames);
	if (p)
		l->python_frames = p;
	void *m = realloc(l->mixed, mixed * sizeof *l->mixed);
	if (m)
		l->mixed = m;
	void *f = realloc(l->frames, (mixed + 2) * sizeof *l->frames);
	if (f)
		l->frames = f;
	if (!p || !m || !f)
		return false;
	l->python_capacity = python;
	l->mixed_capacity = mixed;
	return true;
}

int sp_sample_reader_open(struct sp_sample_reader *l, const struct sp_target *target, struct sp_python *python,
                          struct sp_native *native, const char *recorded)
{
	*l = (struct sp_sample_reader){.target = target, .python = python, .native = native, .cells = {.file = -1}};
	sp_marks_open(&l->marks, target, recorded);
	l->no_python = sp_samples_region("", "<no Python code>", "", 0, SP_RAW_REGION_C);
	l->no_stack = sp_samples_region("", "<no stack>", "", 0, SP_RAW_REGION_C);
	l->no_outer = sp_samples_region("", "<outer frames not read>", "", 0, SP_RAW_REGION_C);
	l->no_file = sp_samples_region("", "<code of no file>", "", 0, SP_RAW_REGION_C);
	if (native)
		l->native_frames = malloc(NATIVE_FRAMES * sizeof *l->native_frames);
	bool whole = l->no_python && l->no_stack && l->no_outer && l->no_file && (!native || l->native_frames);
	return whole && reserve(l, FIRST_FRAMES) ? 0 : -ENOMEM;
}

void sp_sample_reader_close(struct sp_sample_reader *l)
{
	free(l->states);
	free(l->python_frames);
	free(l->native_frames);
	free(l->mixed);
	free(l->frames);
	free(l->no_python);
	free(l->no_stack);
	free(l->no_outer);
	free(l->no_file);
	sp_marks_close(&l->marks);
	sp_cells_close(&l->cells);
	*l = (struct sp_sample_reader){.python = NULL};
}

/* ---- functions ---- */

static struct sp_sampled_region *left_out(void)
{
	struct sp_sampled_region *r = calloc(1, sizeof *r);
	if (r)
		r->left_out = true;
	return r;
}

static struct sp_sampled_region *python_region(const struct sp_cells *cells, struct sp_python_code *c)
{
	char cell[SP_CELL_NAME];
	const char *module = sp_module_name(c->module), *file = c->file;
	if (c->user)
		return c->user;
	unsigned flags = SP_RAW_REGION_PYTHON;
	flags |= c->coroutine ? SP_RAW_REGION_COROUTINE : c->generator ? SP_RAW_REGION_GENERATOR : 0u;
	if (sp_cells_name(cells, c, cell)) {
		file = cell;
		module = strcmp(module, "__main__") ? module : cell;
	}
	c->user = sp_samples_left_out(module, c->qualname, file)
	              ? left_out()
	              : sp_samples_region(module, c->qualname, file, c->first_line, flags);
	return c->user;
}

/* As in record/events/native.c; the model finds names and lines by the build id. */
static struct sp_sampled_region *native_region(struct sp_native_function *f)
{
	if (f->user)
		return f->user;
	const char *name = f->name ? f->name : "";
	char *module = sp_native_module(f->object), *plain = sp_elf_demangle(name, false), *key = NULL;
	if (module && sp_samples_left_out(module, plain ? plain : name, f->object)) {
		f->user = left_out();
	} else if (module) {
		if (*f->build && *f->object == '/' && asprintf(&key, "object %s", f->object) >= 0)
			sp_define_meta(key, f->build, strlen(f->build));
		const uint32_t address = f->address <= UINT32_MAX ? (uint32_t)f->address : 0;
		/* memory that the kernel made has no file */
		f->user =
		    sp_samples_region(module, name, *f->object == '/' ? f->object : "", address, SP_RAW_REGION_NATIVE);
		free(key);
	}
	free(module);
	free(plain);
	return f->user;
}

/* ---- stacks ---- */

int sp_sample_begin(struct sp_sample_reader *l)
{
	int n = -EAGAIN;
	for (int i = 0; i < TRIES && n == -EAGAIN; i++)
		n = sp_python_threads(l->python, l->states, l->state_capacity);
	l->n_states = n;
	if (n <= (int)l->state_capacity)
		return n;
	struct sp_python_thread *more = realloc(l->states, ((size_t)n + 16) * sizeof *more);
	if (!more)
		return l->n_states = -ENOMEM;
	l->states = more;
	l->state_capacity = (size_t)n + 16;
	return sp_sample_begin(l);
}

/* Reads the Python frames; -EAGAIN: they keep changing. */
static int read_python(struct sp_sample_reader *l, pid_t tid)
{
	int n = l->n_states < 0 ? l->n_states : -EAGAIN;
	for (int i = 0; i < TRIES && n == -EAGAIN && l->n_states >= 0; i++)
		n = sp_python_stack_of(l->python, l->states, (size_t)l->n_states, tid, l->python_frames,
		                       l->python_capacity);
	if (n > (int)l->python_capacity && l->python_capacity < MAX_FRAMES && reserve(l, 2 * l->python_capacity))
		return read_python(l, tid);
	l->more = n > (int)l->python_capacity;
	return l->more ? (int)l->python_capacity : n;
}

/* Reads Python and compiled frames as one consistent snapshot; without compiled frames if that is not possible. */
static int read_both(struct sp_sample_reader *l, pid_t tid, struct sp_thread_times *times, size_t *n_native,
                     bool *complete)
{
	int n = -EAGAIN, r = -EAGAIN;
	*n_native = 0;
	for (int i = 0; i < TRIES && l->native && r == -EAGAIN; i++) {
		r = i > 0 ? sp_target_times(l->target, tid, times) : 0;
		r = r ? r : sp_native_begin(l->native, tid, times);
		if (r)
			break;
		n = read_python(l, tid);
		r = sp_native_end(l->native);
	}
	if (r || n < 0)
		return read_python(l, tid);
	*n_native = sp_native_stack(l->native, l->native_frames, NATIVE_FRAMES, complete);
	return n;
}

static void take_frame(struct sp_sample_reader *l, const struct sp_mixed_frame *m)
{
	struct sp_sampled_region *r = m->python                     ? python_region(&l->cells, m->python->code)
	                              : m->native->function != NULL ? native_region(m->native->function)
	                                                            : l->no_file;
	if (r)
		l->frames[l->n++] = (struct sp_sampled_frame){r, m->python ? m->python->line : 0};
}

/* Combines the stacks. inside: number of Python frames to keep, with everything that they call. */
static void take_stack(struct sp_sample_reader *l, int n_python, int inside, size_t n_native, bool complete)
{
	size_t n = sp_native_mix(l->python_frames, n_python > 0 ? (size_t)n_python : 0, l->native_frames, n_native,
	                         complete, false, l->mixed, l->mixed_capacity);
	if (inside < n_python)
		while (n > 0 && !(l->mixed[n - 1].python && l->mixed[n - 1].python < l->python_frames + inside))
			n--;
	for (size_t i = 0; i < n; i++)
		take_frame(l, &l->mixed[i]);
	if (l->more && inside == n_python)
		l->frames[l->n++] = (struct sp_sampled_frame){l->no_outer, 0};
	if (n == 0 && inside == n_python)
		l->frames[l->n++] = (struct sp_sampled_frame){n_python < 0 ? l->no_stack : l->no_python, 0};
}

/* Adds the regions of one of the two kinds that the process records itself; innermost first. */
static void take_marks(struct sp_sample_reader *l, struct sp_sampled_region *const *marks, const bool *user, size_t n,
                       bool which)
{
	while (n-- > 0)
		if (user[n] == which)
			l->frames[l->n++] = (struct sp_sampled_frame){marks[n], 0};
}

/* Whether only start-up code runs: its outermost frames are the import of the first module, or `site`. */
static bool is_start_up(const struct sp_sample_reader *l, int n)
{
	static const char *const first[] = {"_frozen_importlib", "_frozen_importlib_external", "site"};
	const char *module = n > 0 ? sp_module_name(l->python_frames[n - 1].code->module) : "";
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (!strcmp(module, first[i]))
			return true;
	return false;
}

void sp_sample_thread(struct sp_sample_reader *l, pid_t tid, uint64_t state)
{
	struct sp_sampled_region *marks[SP_MARKS];
	bool user[SP_MARKS];
	struct sp_thread_times times;
	size_t n_native;
	bool complete = false;
	if (sp_target_times(l->target, tid, &times))
		times = (struct sp_thread_times){.letter = 'R', .syscall = -2};
	/* a cell may end during the sample: its region surrounds its code, so it is open before or after the stack is
	 * read */
	size_t n_marks = l->cells.kernel ? sp_marks_read(&l->marks, state, marks, user) : 0;
	int n = read_both(l, tid, &times, &n_native, &complete);
	const bool servant = sp_cells_servant(&l->cells, l->python_frames, n, l->target->pid, tid);
	const int inside = sp_cells_within(&l->cells, l->python_frames, n, tid == l->target->pid);
	l->starting = tid == l->target->pid && (n == 0 || is_start_up(l, n));
	l->unread = n < 0 && !n_native;
	const uint64_t thread = sp_python_state_of(l->states, l->n_states < 0 ? 0 : (size_t)l->n_states, tid);
	l->state = sp_thread_state(l->python, thread, &times, n_native ? l->native_frames : NULL, n_native);
	l->helper = servant || (n == 0 && l->state == SP_STATE_IDLE);
	l->n = 0;
	/* calls are innermost; the program's user regions are outside of all functions, as the process records them */
	struct sp_sampled_region *later[SP_MARKS];
	bool user_later[SP_MARKS];
	const size_t n_later = sp_marks_read(&l->marks, state, later, user_later);
	if (n_later || !n_marks || inside <= 0) {
		n_marks = n_later;
		memcpy(marks, later, n_later * sizeof *marks);
		memcpy(user, user_later, n_later * sizeof *user);
	}
	if (n_marks > 1 && l->cells.kernel && sp_process.settings.instrument)
		n_marks = 1; /* only the cell: if calls are recorded, the inner regions belong between functions */
	take_marks(l, marks, user, n_marks, false);
	take_stack(l, n, inside, n_native, complete);
	take_marks(l, marks, user, n_marks, true);
	l->helper |= l->n == 0; /* the thread is in the shell, and no cell has begun */
}
