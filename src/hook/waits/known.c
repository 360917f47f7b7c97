/* SPDX-License-Identifier: BSD-3-Clause */
/* Information about locks and other objects that threads wait for, by their addresses. */
#include "base/addresses.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/waits/waits.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/thread.h"

#include <stdlib.h>
#include <string.h>

/* ---- slots ---- */

/* One object. */
struct slot {
	uintptr_t address;            /* 0: free */
	struct sp_raw_object *object; /* NULL: no thread has waited for it */
	uint64_t count;               /* number of acquisitions */
	uint64_t holder_node;
	uint64_t since;          /* ticks: when the holder acquired it */
	PyCodeObject *code;      /* owned; the code that made the object; NULL: unknown */
	PyObject *watch;         /* owned; a weak reference; NULL: the object's type reports its end */
	struct sp_asker *askers; /* waits whose holder is not known yet; each is owned by its thread */
	int at;
	uint32_t made_by, holder;
};

static struct sp_addresses slots;

static struct slot *find(const void *o)
{
	return sp_addresses_find(&slots, sizeof(struct slot), o);
}

static struct slot *slot_at(size_t i)
{
	return sp_addresses_slot(&slots, sizeof(struct slot), i);
}

/* NULL: no memory. */
SP_COLD static struct slot *add(const void *o)
{
	struct slot *s = sp_addresses_add(&slots, sizeof *s, o);
	if (s)
		s->made_by = s->holder = SP_RAW_NONE;
	return s;
}

/* Called when the object is freed. */
void sp_known_forget(const void *o)
{
	SP_SERIAL(sp_serial_waits);
	struct slot *s = find(o);
	if (!s)
		return;
	PyCodeObject *code = s->code;
	PyObject *watch = s->watch;
	if (s->object && !sp_process.forked) {
		s->object->freed = 1;
		sp_object_set_holder(s->object, SP_RAW_NONE);
	}
	sp_addresses_remove(&slots, sizeof *s, s);
	Py_XDECREF(watch);
	Py_XDECREF((PyObject *)code);
}

static uint64_t node_of(const struct sp_thread *t)
{
	return ((const struct sp_raw_frame *)t->loc.top)->node;
}

/* ---- holders that are known later ---- */

/* A wait that began when the lock's holder was unknown. It is not on the stack of its thread, which may end in the
 * wait. */
struct sp_asker {
	struct sp_asker *next;
	uint64_t holder_node;
	uint32_t holder; /* SP_RAW_NONE: still unknown */
};

struct sp_asker *sp_known_ask(const void *o)
{
	SP_SERIAL(sp_serial_waits);
	struct slot *s = find(o);
	struct sp_asker *a = s ? malloc(sizeof *a) : NULL;
	if (a) {
		*a = (struct sp_asker){.next = s->askers, .holder = SP_RAW_NONE};
		s->askers = a;
	}
	return a;
}

SP_COLD static void answer(struct slot *s)
{
	for (struct sp_asker *a = s->askers; a; a = a->next) {
		a->holder = s->holder;
		a->holder_node = s->holder_node;
	}
	s->askers = NULL;
}

bool sp_known_answered(const void *o, struct sp_asker *a, uint32_t *holder, uint64_t *node)
{
	SP_SERIAL(sp_serial_waits);
	struct slot *s = find(o);
	struct sp_asker **p = s ? &s->askers : NULL;
	while (p && *p && *p != a)
		p = &(*p)->next;
	if (p && *p)
		*p = a->next;
	const bool known = a->holder != SP_RAW_NONE;
	*holder = a->holder;
	*node = known ? a->holder_node : 0;
	free(a);
	return known;
}

/* ---- acquisitions and releases ---- */

SP_WAITS_TOGETHER void sp_known_acquired(struct sp_thread *t, const void *o)
{
	SP_SERIAL(sp_serial_waits);
	struct slot *s = find(o);
	if (SP_UNLIKELY(!s) && !(s = add(o)))
		return;
	s->holder = t->loc.id;
	s->holder_node = node_of(t);
	if (SP_UNLIKELY(s->askers != NULL))
		answer(s);
	s->since = sp_ticks();
	s->count++;
	if (SP_UNLIKELY(s->object != NULL)) {
		s->object->count = s->count;
		sp_object_acquired(t, s->object, s->holder_node, s->since);
	}
}

SP_WAITS_TOGETHER void sp_known_released(const void *o)
{
	SP_SERIAL(sp_serial_waits);
	struct slot *s = find(o);
	if (SP_UNLIKELY(!s))
		return;
	s->holder = SP_RAW_NONE;
	s->askers = NULL; /* the thread that releases it had never been noted as holder */
	if (SP_UNLIKELY(s->object != NULL) && !sp_process.forked)
		sp_object_released(sp_self, s->object);
}

/* ---- creation and end of objects ---- */

void sp_known_made(const void *o)
{
	struct sp_thread *t = sp_self;
	struct sp_waits_site p;
	if (!o || !t || !sp_waits_at_home())
		return;
	SP_SERIAL(sp_serial_waits);
	sp_known_forget(o); /* an earlier object at this address, whose end was not reported */
	struct slot *s = add(o);
	if (!s)
		return;
	sp_waits_find_site(NULL, &p);
	Py_XINCREF((PyObject *)p.code);
	s->code = p.code;
	s->at = p.at;
	s->made_by = t->loc.id;
}

/* ---- records ---- */

static PyObject *object_ended(PyObject *address, PyObject *reference)
{
	(void)reference;
	void *o = PyLong_AsVoidPtr(address);
	PyErr_Clear();
	if (o && sp_waits_at_home())
		sp_known_forget(o);
	Py_RETURN_NONE;
}

/* Makes a weak reference that reports the object's end. Returns NULL if the object does not support weak references. */
static PyObject *watch(PyObject *o)
{
	static PyMethodDef ended = {"ended", object_ended, METH_O, NULL};
	PyObject *address = PyLong_FromVoidPtr(o), *function = address ? PyCFunction_New(&ended, address) : NULL;
	PyObject *reference = function ? PyWeakref_NewRef(o, function) : NULL;
	PyErr_Clear();
	Py_XDECREF(function);
	Py_XDECREF(address);
	return reference;
}

/* Finds the lock inside an object of threading and similar modules; borrowed, NULL if unknown. Such a lock is made at
 * the same place as its object. */
static const struct slot *made_with(PyObject *o, int deep)
{
	static const char *const parts[] = {"_lock",         "_cond",    "mutex",  "_condition",
	                                    "_started",      "_flag",    "_event", "_shutdown_lock",
	                                    "_waitpid_lock", "_semlock", "_rlock"};
	const struct slot *s = find(o);
	if (s && s->code)
		return s;
	for (size_t i = 0; deep && i < sizeof parts / sizeof *parts; i++) {
		PyObject *part = sp_plain_attribute(o, parts[i]);
		const struct slot *found = part ? made_with(part, deep - 1) : NULL;
		Py_XDECREF(part); /* the object keeps a reference */
		if (found)
			return found;
	}
	return NULL;
}

SP_COLD static struct sp_raw_object *object_new(PyObject *o, unsigned kind, const char *type)
{
	struct slot *s = find(o);
	const bool is_lock = sp_waits_is_lock(o);
	PyObject *reference = is_lock || (s && s->watch) ? NULL : watch(o);
	bool own = false;
	const uint32_t name =
	    type ? sp_define_name(SP_RAW_DEF_STRING, type, strlen(type)) : sp_waits_object_name(o, kind, &own);
	struct sp_raw_object *r = sp_object_new(kind, own ? NULL : o, name);
	const struct slot *from = made_with(o, 3);
	if (r && from) {
		PyCodeObject *code = from->code;
		const uint32_t by = from->made_by;
		r->made_file = sp_waits_line(code, from->at, &r->made_line);
		r->made_by = by;
	}
	s = find(o);
	if (!s)
		s = add(o);
	if (s && reference) {
		Py_XDECREF(s->watch);
		s->watch = reference;
		reference = NULL;
	}
	Py_XDECREF(reference);
	if (!s || !r)
		return NULL;
	s->object = r;
	r->count = s->count;
	sp_object_set_holder(r, s->holder);
	r->holder_node = s->holder == SP_RAW_NONE ? 0 : s->holder_node;
	r->since = s->holder == SP_RAW_NONE ? 0 : s->since;
	return r;
}

SP_WAITS_TOGETHER struct sp_raw_object *sp_waits_object(PyObject *o, unsigned kind, const char *type)
{
	SP_SERIAL(sp_serial_waits);
	const struct slot *s = find(o);
	if (SP_LIKELY(s && s->object))
		return s->object;
	SP_SAVE_EXCEPTION;
	struct sp_raw_object *r = object_new(o, kind, type);
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	return r;
}

static uint32_t forking; /* location of the forking thread; SP_RAW_HOLDER_GONE: it does not hold the GIL */

/* Without the GIL another thread may be changing the table. In that case the child does not continue to run Python. */
static void before_fork(void)
{
	const PyThreadState *ts = sp_thread_state();
	const bool gil = ts && ts->thread_id == PyThread_get_thread_ident();
	forking = !gil ? SP_RAW_HOLDER_GONE : sp_self ? sp_self->loc.id : SP_RAW_NONE;
}

/* The child has one thread, whose location will be the first. Records are the parent's. */
static void in_child(void)
{
	if (forking == SP_RAW_HOLDER_GONE)
		return;
	for (size_t i = 0; slots.slots && i <= slots.mask; i++) {
		struct slot *s = slot_at(i);
		s->object = NULL;
		s->askers = NULL;
		s->made_by = SP_RAW_NONE;
		s->holder_node = s->since = 0;
		if (s->holder != SP_RAW_NONE)
			s->holder = s->holder == forking ? 0 : SP_RAW_HOLDER_GONE;
	}
}

/* Forgets everything that was known of objects before. */
bool sp_known_begin(void)
{
	SP_SERIAL(sp_serial_waits);
	static bool handlers;
	if (!slots.slots)
		sp_addresses_resize(&slots, sizeof(struct slot), 1024);
	for (size_t i = 0; slots.slots && i <= slots.mask; i++) {
		struct slot *s = slot_at(i);
		Py_CLEAR(s->watch);
		Py_CLEAR(s->code);
		memset(s, 0, sizeof *s);
	}
	slots.used = 0;
	if (slots.slots && !handlers)
		handlers = pthread_atfork(before_fork, NULL, in_child) == 0;
	return slots.slots && handlers;
}

void sp_known_end(void)
{
	SP_SERIAL(sp_serial_waits);
	for (size_t i = 0; slots.slots && i <= slots.mask; i++)
		slot_at(i)->object = NULL;
}

SP_WAITS_TOGETHER struct sp_raw_object *sp_known_holder(const void *o, uint32_t *holder, uint64_t *node)
{
	SP_SERIAL(sp_serial_waits);
	const struct slot *s = find(o);
	*holder = s ? s->holder : SP_RAW_NONE;
	*node = *holder == SP_RAW_NONE ? 0 : s->holder_node;
	return s ? s->object : NULL;
}
