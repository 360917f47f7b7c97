/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Python's events come from. Each hook is one file behind one row of struct sp_hook; what they share is here. */
#ifndef SP_HOOK_HOOK_H
#define SP_HOOK_HOOK_H

#include "hook/frames.h"
#include "record/hot.h"
#include "record/settings.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/clock.h"

struct sp_hook {
	const char *name;
	const char *what; /* for `spartito doctor` */
	/* NULL if it works with this Python, otherwise why not. */
	const char *(*missing)(void);
	bool c_calls;            /* can see C functions */
	bool entered_is_current; /* at an enter, the frame entered is already the thread's current one */
	unsigned key_tag;        /* bit 0 of this hook's keys, see setprofile.c */
	/* In the current interpreter, for all its threads. 0, or -1 with a Python exception. */
	int (*install)(void);
	void (*remove)(void);
	/* The same for a while, and cheap; NULL: remove and install serve. 0, or -1 with a Python exception. */
	void (*suspend)(void);
	int (*resume)(void);
	/* Has somebody else taken our place? */
	bool (*taken)(void);
};

extern const struct sp_hook sp_hook_evalframe, sp_hook_monitoring, sp_hook_setprofile;
extern const struct sp_hook *const sp_hooks[];     /* best first for this version; NULL at the end */
extern const struct sp_hook *_Atomic sp_hook_used; /* NULL: none installed */

/* ---- what a code object is to us: one word in a slot of its own, decided at its first event ---- */

enum {
	SP_SLOT_REGION = 1,
	SP_SLOT_HINT = 2,  /* a pointer to the qualified name, found in the enclosing code (before 3.11) */
	SP_SLOT_LABEL = 2, /* with SP_SLOT_REGION: which region it is depends on the call, see label.c */
	SP_SLOT_FILTERED = 4,
	SP_SLOT_WATCH = 8, /* something happens when it is entered: see watch.c */
	SP_SLOT_GENERATOR = 16,
	SP_SLOT_LINES = 32,     /* its lines are recorded; then it has a region also where it is filtered */
	SP_SLOT_LIBRARY = 64,   /* where memory is recorded: no function of the program's own */
	SP_SLOT_GENERATION = 8, /* shift: 24 bits, so that a second measurement defines again */
	SP_SLOT_ID = 32         /* shift */
};
#define SP_SLOT_MASK UINT64_C(0xffffff0f)

extern uint64_t sp_slot_ok;      /* (slot & SP_SLOT_MASK) of a region to be recorded in the plain way */
extern Py_ssize_t sp_slot_index; /* of our slot in the code objects' extra data */

static inline uint64_t sp_slot_of(const PyCodeObject *code)
{
	const struct {
		Py_ssize_t n;
		void *extra[];
	} *e = code->co_extra;
	return SP_LIKELY(e && e->n > sp_slot_index) ? (uint64_t)e->extra[sp_slot_index] : 0;
}

/* Decided, and left out: neither the function nor the C functions that it calls are recorded. */
static inline bool sp_slot_is_filtered(uint64_t slot)
{
	return slot & SP_SLOT_FILTERED &&
	       (slot & (SP_SLOT_MASK & ~UINT64_C(0xe))) == (sp_slot_ok & SP_SLOT_MASK & ~UINT64_C(0xe));
}

/* names.c, of cells cells.c. Asks for the slot in the current interpreter; -1 with an exception. */
int sp_names_init(void);
/* Everything is decided anew: nothing may be recorded at this moment but by the calling thread, which has the GIL. */
void sp_names_new_generation(void);
void sp_names_set_directories(const char *cwd);
/* Decides what code is; f is a frame that runs it, or NULL. */
uint64_t sp_names_slot(PyCodeObject *code, sp_frame *f);
/* The same anew, for a function that was marked: its module's name, or NULL, and its qualified name. */
uint64_t sp_names_decide(PyCodeObject *code, PyObject *module, PyObject *qualname);
/* The region of a C function or method descriptor; 0: not one, or filtered. key is what its leave will be matched with.
 */
uint32_t sp_names_c_function(struct sp_thread *t, PyObject *callable, uint64_t *key);
uint64_t sp_names_c_key(PyObject *callable); /* 0: not a C function */
/* File, absolute, and line of the innermost frame of the program; owned, NULL: there is none. */
char *sp_names_caller(uint32_t *line);
char *sp_names_file(PyCodeObject *code);  /* as regions have it; owned, NULL: no memory */
char *sp_names_file_of(const char *name); /* the same of a name that is of no cell; without the GIL */
/* numbers: the dictionary of a notebook's shell, from the file that a cell is compiled as to the cell's number; NULL:
 * none. Code of a cell is of the module and file In[NUMBER]. */
void sp_names_set_cells(PyObject *numbers);
/* To who samples this process; anew: nothing is told in this measurement yet. */
void sp_names_tell_cells(bool anew);
bool sp_names_is_cell(const char *file); /* a region's file */
/* Writes the text of the cell In[7] of another process's notebook. 0, or -1: it is not known. */
int sp_cells_source(const char *file, FILE *to);
void sp_names_forget(void);

/* label.c. The settings of that name, for functions whose slots are decided from here on. 0, or -1 with an exception.
 */
int sp_label_start(const struct sp_settings *s);
/* Other words for that, while the program runs. 0, or -1 with an exception. */
int sp_label_change(const char *words);
/* The slot of a function with SP_SLOT_LABEL with the region of this call: of frame f, which is being entered. */
uint64_t sp_label_slot(uint64_t slot, sp_frame *f);
static inline bool sp_slot_is_labelled(uint64_t slot)
{
	return (slot & 0xf & ~SP_SLOT_WATCH) == (SP_SLOT_REGION | SP_SLOT_LABEL);
}

/* watch.c: functions of the library that tell us something. */
bool sp_watch_wanted(const char *module, const char *name);
/* begins: f is entered now, and was not open before; recorded: that is an event. */
void sp_watch_enter(sp_frame *f, bool begins, bool recorded);

/* A generator of our own (spartito/user.py): not recorded, but the user regions it opens are suspended with it. */
static inline bool sp_slot_is_hidden(uint64_t slot)
{
	return slot & SP_SLOT_GENERATOR && slot & SP_SLOT_WATCH && !(slot >> SP_SLOT_ID);
}

/* ending.c. Ends the measurement with the interpreter, or with the process; once. */
void sp_hook_end_handlers(void);

/* ---- stacks.c: the slow way into an event ---- */

/* An event can come while an exception is on its way. */
#if PY_VERSION_HEX >= 0x030C0000
#define SP_SAVE_EXCEPTION    PyObject *exception = PyErr_GetRaisedException()
#define SP_RESTORE_EXCEPTION PyErr_SetRaisedException(exception)
#else
#define SP_SAVE_EXCEPTION                                                                                              \
	PyObject *e_type, *e_value, *e_trace;                                                                          \
	PyErr_Fetch(&e_type, &e_value, &e_trace)
#define SP_RESTORE_EXCEPTION PyErr_Restore(e_type, e_value, e_trace)
#endif

uint64_t sp_hook_key_of(const PyCodeObject *code);
/* Makes the frames known that are open in a thread whose stack is empty. */
void sp_hook_adopt(struct sp_thread *t, sp_frame *innermost);
/* The thread's stack as it is open now, where functions are not recorded. */
void sp_hook_settle(struct sp_thread *t);
/* walk.c. The calling thread's own state, of the interpreter that it runs now; *gil: it has the GIL. Own frames stay as
 * they are while the thread is not in the interpreter, so that they may be read in any case. NULL: there is none, or
 * the interpreter is on its way out. */
PyThreadState *sp_hook_own_state(bool *gil);
/* attach.c. From where to where the code of the object file reaches that has this address in it; 0, 0: there is none.
 */
void sp_hook_code_of(const void *inside, uintptr_t code[2]);
/* For sp_stack_walk. */
struct sp_raw_node *sp_hook_walk(struct sp_thread *t, uint64_t *unnamed);
/* Notes where a user region stands that has just begun, where functions are not recorded. */
void sp_hook_walk_region(struct sp_thread *t);
/* For sp_stack_out_of_date and sp_stack_still_open. */
void sp_hook_out_of_date(struct sp_thread *t);
bool sp_hook_still_open(const struct sp_raw_frame *s);

/* The address to which the calling thread's C stack has grown when a quarter of the room that it has now is used; NULL:
 * not known. Reads /proc/self/maps in the main thread. */
char *sp_hook_stack_low(void);

/* The calling thread's location, its stack in agreement with the interpreter's; NULL: not recorded. entered: the
 * frame that is being entered, not yet part of the stack, or NULL. */
struct sp_thread *sp_hook_thread(sp_frame *entered);
/* Threads that begin from here on are left out where their class is of one of these packages; takes over the names,
 * each with NUL behind it and one more at the end. NULL: none. */
void sp_hook_leave_out(char *packages);
/* The frame that calls entered, or, for NULL, the current one. A frame that is being entered may not know its caller.
 */
sp_frame *sp_hook_caller(sp_frame *entered);
/* The calling thread's location at a leave. The first event after a fork, or after a pause, may be one: the thread's
 * frames then begin anew or are moved, and *now is not before that. NULL: not recorded. */
struct sp_thread *sp_hook_leaver_slow(uint64_t *now);
static inline struct sp_thread *sp_hook_leaver(uint64_t *now)
{
	struct sp_thread *t = sp_self;
	if (SP_LIKELY(t && t->epoch == sp_epoch))
		return t;
	return sp_hook_leaver_slow(now);
}

/* Everything that is not the plain way for an enter: unknown code, new thread, watched, filtered. Returns the thread
 * if the enter is to be recorded, with the slot decided; keeps exception and errno. */
struct sp_thread *sp_hook_enter_slow(PyCodeObject *code, sp_frame *f, uint64_t *slot);

/* The thread and slot for entering f, which runs code; NULL: do not record. */
static inline struct sp_thread *sp_hook_enter(PyCodeObject *code, sp_frame *f, uint64_t *slot)
{
	struct sp_thread *t = sp_self;
	*slot = sp_slot_of(code);
	if (SP_LIKELY(t && (*slot & SP_SLOT_MASK) == sp_slot_ok))
		return t;
	return sp_hook_enter_slow(code, f, slot);
}

/* keep.c: object is kept until the calling thread's state goes, or another of that name takes its place; NULL: none.
 * slot() is the calling thread's own variable, which points to it meanwhile. 0, or -1 with an exception. */
int sp_keep(const char *name, PyObject **(*slot)(void), PyObject *object);

/* chain.c: the program's own sys.setprofile, under the setprofile hook. 0, or -1 with an exception. */
int sp_chain_install(void);
void sp_chain_restore(void);
bool sp_chain_used(void); /* whether the program ever set a function of its own */
int sp_chain_call(PyFrameObject *f, int what, PyObject *arg);

/* module.c: UTF-8 of a str argument, with its length; NULL with TypeError, which calls it `what`. */
const char *sp_text_argument(PyObject *o, Py_ssize_t *n, const char *what);

/* spawn.c: the launcher's start of the program; see _measure.pyi. */
PyObject *sp_spawn(PyObject *self, PyObject *args);
PyObject *sp_saw_end(PyObject *self, PyObject *args);
PyObject *sp_control_takes(PyObject *self, PyObject *args); /* whether an item of a filter takes one of these */
/* witness.c: for the launcher, whether a signal was for its whole process group */
PyObject *sp_witness_begin(PyObject *self, PyObject *none);
PyObject *sp_witness_has(PyObject *self, PyObject *number);
PyObject *sp_witness_end(PyObject *self, PyObject *none);

/* region.c: a user region begins or ends, by its name, a str. place: NULL, or (group, file, line, function) of
 * struct sp_place, each of the first two may be None. 0, or -1 with an exception; ending 1: it was open, or is not
 * recorded. */
int sp_region_begin(PyObject *name, PyObject *place);
int sp_region_end(PyObject *name, PyObject *place);
/* The same for a rewind region; 1: it had begun, or nothing is recorded. */
int sp_region_rewind(PyObject *name, PyObject *place, int end, bool take_out);
/* Name and place from the arguments (name, group, file, line, function) of a call, or (region,); the place is a new
 * reference, or NULL. */
int sp_region_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **name, PyObject **place);
PyObject *sp_region_type(void); /* a new reference */

/* ---- task.c: a thread that has a task tells of these ---- */

/* The coroutine at the top of the stack, of that key, is suspended and hands out value, or ends with an exception. */
void sp_hook_task_suspends(struct sp_thread *t, uint64_t key, const PyObject *value, uint64_t now);
void sp_hook_task_raises(struct sp_thread *t, uint64_t key, const PyTypeObject *type); /* NULL: not known */
/* An instance's attribute without code of the program: its class has none of this name but, perhaps, a slot. A new
 * reference; NULL, without an exception: none. */
PyObject *sp_plain_attribute(PyObject *o, const char *name);
/* Somebody makes a task of it. */
void sp_hook_task_created(PyObject *coroutine);
/* As sp_hook_enter_generator(), where generators may belong to tasks. */
void sp_hook_enter_coroutine(struct sp_thread *t, uint64_t slot, uint64_t key, sp_frame *f, unsigned kind,
                             uint64_t now);

/* Around the suspension of a generator (frame f, or NULL: the thread's current one), which hands out value: its user
 * regions go with it. Cheap where it has none. */
static inline void sp_hook_suspends(struct sp_thread *t, uint64_t key, sp_frame *f, const PyObject *value, uint64_t now)
{
	if (SP_UNLIKELY(sp_is_user_key(sp_stack_key((const struct sp_raw_frame *)t->loc.top))))
		sp_stack_set_aside(t, key, (uint64_t)(f ? f : sp_frame_current(PyThreadState_Get())), now);
	if (SP_UNLIKELY(t->task != NULL))
		sp_hook_task_suspends(t, key, value, now);
}

/* A generator is entered, first or again; f as above. */
static inline void sp_hook_enter_generator(struct sp_thread *t, uint64_t slot, uint64_t key, sp_frame *f, unsigned kind)
{
	uint64_t now = sp_ticks();
	if (SP_UNLIKELY(t->aside.n | t->tasks))
		sp_hook_enter_coroutine(t, slot, key, f, kind, now);
	else if (SP_UNLIKELY(sp_slot_is_hidden(slot)))
		sp_stack_inherit(t, 0, key, 0, SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_HIDDEN, now);
	else
		sp_enter(t, (uint32_t)(slot >> SP_SLOT_ID), key, now, kind);
}

/* ---- command.c: a command line as text, words with blanks in quotes ---- */

struct sp_command {
	char *p; /* owned; not NUL-terminated; NULL: nothing */
	size_t n, room;
};
void sp_command_word(struct sp_command *c, const char *p, size_t n);
void sp_command_own(struct sp_command *c); /* of this process */
/* Runs no code of the program. whole: o is a command line itself. */
void sp_command_add(struct sp_command *c, PyObject *o, bool whole);
void sp_command_sequence(struct sp_command *c, PyObject *words); /* a list or tuple */
void sp_command_free(struct sp_command *c);

/* ---- children.c ---- */

/* Wraps, once, what starts processes, waits for them and ends this one. -1: with an exception of the program. */
int sp_children_watch(void);

/* ---- control.c ---- */

/* All return 0, or -1 with a Python exception. */
int sp_control_start(const char *dir, struct sp_settings *s, enum sp_raw_start how);
int sp_control_stop(void);
int sp_control_pause(void);
int sp_control_resume(void);
/* Whether functions are recorded from here on; user regions are in any case. 1: that changed it, 0: it was so, or
 * nothing is measured. */
int sp_control_instrument(bool on);
/* Other labels for functions that are entered from here on. */
int sp_control_label(const char *words);
void sp_control_annotate(bool on);
/* Another filter for functions that are entered from here on. */
int sp_control_filter(const char *items);
/* Goes on with another hook, for all threads; used by evalframe.c when the C stack runs out. */
int sp_control_switch(const struct sp_hook *to);
bool sp_control_boot(void);
/* host.c: spartito._measure.host() */
PyObject *sp_host(PyObject *self, PyObject *none);
/* On another host than the launcher's, SPARTITO_SAMPLER becomes the sampler of this one, which is started by whoever
 * comes first. Why there is none, to be freed; NULL: there is one, or none is asked for. */
char *sp_host_sampler(const char *dir);
/* Calls install() while our own hook is not there, which then comes on top of what that installs. */
void sp_control_beneath(void (*install)(void));

/* attach.c: readies what libraries beside _measure record with. s->io becomes false where it cannot be had. 0, or -1
 * with a Python exception. */
void sp_attach_mpi(void); /* before an MPI is loaded */
int sp_attach(struct sp_settings *s, enum sp_raw_start how, bool *without_io);
void sp_attach_missing(bool without_io); /* says so in the file */

/* calibrate.c: what an event costs here, into the header. The thread's stack must be empty; everything recorded is
 * thrown away. h: the hook, not yet installed. A process that measures again in the same way takes what it found
 * before. */
void sp_calibrate_before(const struct sp_hook *h);
void sp_calibrate_after(struct sp_thread *t);

/* greenlet.c: each greenlet has a stack of its own. */
void sp_greenlet_watch_thread(void);
void sp_greenlet_loaded(void);

#endif
