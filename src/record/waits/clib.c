/* SPDX-License-Identifier: BSD-3-Clause */
/* Records waits of the C library. An object gets a record at the first wait for it. From then on the library reports
 * its acquisitions and releases; the lock holder at the first wait is read from the object itself. */
#include "record/waits/clib.h"
#include "base/addresses.h"
#include "record/adapter.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/libc.h"
#include "record/metrics.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/waits/clib_private.h"
#include "record/waits/waits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_KNOWN = 200000, NAMED = 64 };

void (*_Atomic sp_clib_where)(struct sp_clib_where *w);
uint32_t (*_Atomic sp_clib_line)(const struct sp_clib_where *w, uint32_t *line);

/* An object that was reported as made, or that a thread waited for. */
struct known {
	uintptr_t address;
	struct sp_raw_object *object; /* NULL: no thread has waited for it */
	uint32_t made_file, made_line, made_by;
	uint32_t owner; /* gettid() of the lock holder in the record; 0: none */
	uint32_t epoch; /* sp_epoch of the record's measurement: a thread of an earlier one may be late */
};

/* Taken before the process lock if a function needs both. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sp_addresses table;
static uint64_t waited[SP_CLIB_FILTER / 64], known[SP_CLIB_FILTER / 64];
static bool missing;  /* the META record is written */
static bool handlers; /* signal handlers called functions that wait: the library sets it */

static void put_in(uint64_t *filter, const void *p)
{
	const uint32_t at = sp_clib_filter_at(p);
	__atomic_fetch_or(&filter[at / 64], UINT64_C(1) << at % 64, __ATOMIC_SEQ_CST);
}

static struct known *find(const void *p)
{
	return sp_addresses_find(&table, sizeof(struct known), p);
}

/* Returns NULL without memory, or if there are too many objects. */
static struct known *find_or_add(const void *p)
{
	struct known *k = find(p);
	if (!k && table.used < MAX_KNOWN)
		k = sp_addresses_add(&table, sizeof *k, p);
	else if (k)
		return k;
	if (k) {
		k->made_by = SP_RAW_NONE;
		put_in(known, p);
	} else if (!missing) {
		static const char why[] = "locks of the C library, because there were too many";
		missing = true;
		sp_define_meta("missing_clib_objects", why, sizeof why - 1);
	}
	return k;
}

/* Whether the calling thread holds a lock of the recorder. There are three cases: the recorder called the program's
 * allocator, which locks; a signal handler interrupted the recorder; a fork handler runs after the recorder's. */
static bool is_locking(void)
{
	const int *holder = sp_libc_mutex_holder(&sp_process.lock);
	const int owner = holder ? __atomic_load_n(holder, __ATOMIC_RELAXED) & SP_LIBC_HOLDER_MASK : 0;
	const struct sp_thread *t = sp_self; /* load once: a stop sets it to NULL */
	return sp_adapter_forks || (owner && owner == (t ? (int)t->loc.tid : (int)syscall(SYS_gettid)));
}

/* ---- files, identified by their names ---- */

static struct {
	uint32_t string, epoch;
	struct sp_raw_object *object;
} files[NAMED];
static unsigned files_next;

struct sp_raw_object *sp_object_of_file(unsigned kind, int fd)
{
	char link[40], name[4096];
	struct sp_raw_object *o = NULL;
	int error = errno;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	const ssize_t n = fd >= 0 ? readlink(link, name, sizeof name) : -1;
	const uint32_t string = n > 0 ? sp_adapter_v1.string(name, (size_t)n) : 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; string && !o && i < NAMED; i++)
		if (files[i].object && files[i].string == string && files[i].epoch == sp_epoch)
			o = files[i].object;
	if (string && !o && (o = sp_object_new(kind, NULL, string))) {
		files[files_next % NAMED].string = string;
		files[files_next % NAMED].epoch = sp_epoch;
		files[files_next++ % NAMED].object = o;
	}
	pthread_mutex_unlock(&lock);
	errno = error;
	return o;
}

/* ---- lock holders ---- */

/* Whether the object has a record in a mapped page: one of the calling thread's measurement or, for a thread without a
 * location, of the current one. */
static bool has_record(const struct known *k, const struct sp_thread *t)
{
	return k && k->object && k->epoch == (t ? t->epoch : sp_epoch) && (t || sp_recording || sp_process.paused);
}

/* The current call path of a thread. Of another thread, which may be in an event, it may be that of the call before:
 * readers of the file check it. Relaxed: no other data of the node is read. */
static uint64_t top_of(const struct sp_thread *t)
{
	const struct sp_raw_frame *f = (const struct sp_raw_frame *)__atomic_load_n(&t->loc.top, __ATOMIC_RELAXED);
	return f ? __atomic_load_n(&f->node, __ATOMIC_RELAXED) : 0; /* a location that is being made has no stack yet */
}

/* Sets the lock holder to the thread with that id, whose acquisition was not seen and whose call path is its current
 * one. The thread's stack stays mapped while the process lock is held. */
static void held_by(struct known *k, uint32_t owner, uint64_t now)
{
	struct sp_raw_object *o = k->object;
	uint32_t holder = SP_RAW_NONE;
	uint64_t node = 0;
	if (k->owner == owner)
		return;
	pthread_mutex_lock(&sp_process.lock);
	for (const struct sp_thread *t = owner ? sp_process.threads : NULL; t && holder == SP_RAW_NONE; t = t->next)
		if (t->loc.tid == owner && !t->loc.end) {
			holder = t->loc.id;
			node = top_of(t);
		}
	pthread_mutex_unlock(&sp_process.lock);
	k->owner = owner;
	sp_object_set_holder(o, holder);
	o->holder_node = node;
	o->since = holder == SP_RAW_NONE ? 0 : now;
}

static void acquired(const void *p)
{
	int error = errno;
	if (is_locking())
		return;
	struct sp_thread *t = sp_adapter_thread();
	pthread_mutex_lock(&lock);
	struct known *k = find(p);
	if (has_record(k, t)) {
		k->object->count++;
		k->owner = t ? (uint32_t)t->loc.tid : 0;
		if (t)
			sp_object_acquired(t, k->object, top_of(t), sp_ticks());
		else
			sp_object_set_holder(k->object, SP_RAW_NONE);
	}
	pthread_mutex_unlock(&lock);
	errno = error;
}

static void released(const void *p)
{
	int error = errno;
	if (is_locking())
		return;
	pthread_mutex_lock(&lock);
	struct known *k = find(p);
	if (has_record(k, NULL) && k->owner) {
		k->owner = 0;
		sp_object_released(sp_self, k->object);
	}
	pthread_mutex_unlock(&lock);
	errno = error;
}

/* ---- creation and destruction of objects ---- */

static void forget(struct known *k)
{
	if (has_record(k, NULL)) {
		k->object->freed = 1;
		if (k->object->kind !=
		    SP_RAW_WAIT_THREAD) /* a thread's record keeps its holder, which names the thread that ended */
			sp_object_set_holder(k->object, SP_RAW_NONE);
	}
	sp_addresses_remove(&table, sizeof *k, k);
}

static uint32_t place(const struct sp_clib_where *w, const void *caller, uint32_t *line)
{
	const uint32_t file = w->code && sp_clib_line ? sp_clib_line(w, line) : 0;
	if (file)
		return file;
	*line = 0;
	return sp_clib_place_name(caller);
}

static struct sp_clib_where where_now(void)
{
	struct sp_clib_where w = {NULL, 0, false};
	if (sp_clib_where)
		sp_clib_where(&w);
	return w;
}

static void made(const void *p, const void *caller)
{
	struct sp_thread *t = sp_self;
	int error = errno;
	if (!sp_recording || sp_process.forked || is_locking())
		return;
	const struct sp_clib_where w = where_now();
	uint32_t line = 0;
	const uint32_t file = place(&w, caller, &line);
	pthread_mutex_lock(&lock);
	struct known *k = find(p);
	if (k)
		forget(k); /* an earlier object at this address, whose end was not reported */
	k = find_or_add(p);
	if (k) {
		k->made_file = file;
		k->made_line = line;
		k->made_by = t ? t->loc.id : SP_RAW_NONE;
	}
	pthread_mutex_unlock(&lock);
	errno = error;
}

static void gone(const void *p)
{
	int error = errno;
	if (is_locking())
		return;
	pthread_mutex_lock(&lock);
	struct known *k = find(p);
	if (k)
		forget(k);
	pthread_mutex_unlock(&lock);
	errno = error;
}

/* ---- waits ---- */

_Static_assert(sizeof(struct sp_wait) <= sizeof(struct sp_clib_wait), "the library keeps room for a wait");

/* Returns the object of a wait, which gets a record. Needs the lock. name: a string for a new record; 0: only find an
 * existing one. Returns NULL if there is no record. */
static struct known *with_record(const struct sp_thread *t, const struct sp_clib_call *c, uint32_t name)
{
	if (t->epoch != sp_epoch)
		return NULL;
	struct known *k = name ? find_or_add(c->object) : find(c->object);
	if (k && k->object && k->epoch != t->epoch) {
		k->object = NULL;
		k->owner = k->made_file = k->made_line = 0;
		k->made_by = SP_RAW_NONE;
	}
	if (k && !k->object && name && (k->object = sp_object_new(c->kind, c->object, name))) {
		k->epoch = t->epoch;
		k->object->made_file = k->made_file;
		k->object->made_line = k->made_line;
		k->object->made_by = k->made_by;
		put_in(waited, c->object);
	}
	return k && k->object ? k : NULL;
}

static struct sp_raw_object *object_of(const struct sp_thread *t, const struct sp_clib_call *c, struct sp_wait_key *key)
{
	struct sp_raw_object *o = NULL;
	pthread_mutex_lock(&lock);
	struct known *k = with_record(t, c, 0);
	if (SP_UNLIKELY(!k)) {
		pthread_mutex_unlock(&lock); /* other threads may hold the linker's lock and wait for this one */
		const uint32_t name = sp_clib_object_name(c->kind, c->object);
		pthread_mutex_lock(&lock);
		k = with_record(t, c, name);
	}
	if (k) {
		/* the library reports later acquisitions; the current lock holder is stored in the object itself */
		const int owner = c->owner ? __atomic_load_n(c->owner, __ATOMIC_SEQ_CST) & SP_LIBC_HOLDER_MASK : 0;
		o = k->object;
		if (c->owner)
			held_by(k, owner > 0 ? (uint32_t)owner : 0, sp_ticks());
		key->object = o->id;
		key->holder = sp_object_holder(o);
		key->holder_node = key->holder == SP_RAW_NONE ? 0 : o->holder_node;
	}
	pthread_mutex_unlock(&lock);
	return o;
}

static bool begin(struct sp_clib_wait *buffer, const struct sp_clib_call *c)
{
	struct sp_wait *w = (struct sp_wait *)buffer;
	int error = errno;
	struct sp_thread *t = is_locking() ? NULL : sp_adapter_thread();
	if (!t || !sp_waits_wanted || sp_waits_within(t, w))
		return false;
	const struct sp_clib_where at = where_now();
	uint64_t unnamed = 0;
	struct sp_wait_key key = {.node = (uint64_t)sp_stack_node(t, &unnamed),
	                          .code = (uint64_t)(at.code ? at.code : c->caller),
	                          .at = (uint32_t)at.at,
	                          .holder = SP_RAW_NONE,
	                          .kind = c->kind};
	struct sp_raw_object *o = NULL;
	if (c->object) {
		o = object_of(t, c, &key);
	} else if (c->kind == SP_RAW_WAIT_FILE_LOCK) {
		o = sp_object_of_file(c->kind, c->fd);
		key.object = o ? o->id : 0;
	}
	struct sp_raw_wait *row = sp_waits_find(t, &key);
	if (SP_UNLIKELY(!row)) {
		uint32_t line = 0, file = place(&at, c->caller, &line);
		row = sp_waits_add(t, &key, file, line);
	}
	sp_wait_begin(w, t, key.node, row, o, c->flags);
	errno = error;
	return true;
}

static void end(struct sp_clib_wait *buffer, enum sp_clib_end how)
{
	struct sp_wait *w = (struct sp_wait *)buffer;
	int error = errno;
	if (how == SP_CLIB_NO_WAIT)
		sp_wait_drop(w);
	else
		sp_wait_end(w, how == SP_CLIB_ACQUIRED);
	errno = error;
}

/* ---- start, fork ---- */

const struct sp_clib_recorder *sp_clib_start(const uintptr_t own[2], const uintptr_t python[2],
                                             const uintptr_t allocator[2])
{
	static struct sp_clib_recorder r = {.version = 1,
	                                    .size = sizeof(struct sp_clib_recorder),
	                                    .waited = waited,
	                                    .known = known,
	                                    .handlers = &handlers,
	                                    .begin = begin,
	                                    .end = end,
	                                    .acquired = acquired,
	                                    .released = released,
	                                    .made = made,
	                                    .gone = gone};
	r.own_begin = own[0];
	r.own_end = own[1];
	r.python_begin = python[0];
	r.python_end = python[1];
	r.allocator_begin = allocator[0];
	r.allocator_end = allocator[1];
	return &r;
}

void sp_clib_forget(void)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; table.slots && i <= table.mask; i++) {
		struct known *k = sp_addresses_slot(&table, sizeof *k, i);
		k->object = NULL;
		k->made_file = k->made_line = k->owner = 0;
		k->made_by = SP_RAW_NONE;
	}
	memset(files, 0, sizeof files);
	missing = false;
	__atomic_store_n(&handlers, false, __ATOMIC_RELAXED); /* atomic: the library sets it without holding the lock */
	pthread_mutex_unlock(&lock);
}

void sp_clib_stop(void)
{
	static const char why[] = "what handlers of signals may have waited for";
	if (__atomic_exchange_n(&handlers, false, __ATOMIC_RELAXED))
		sp_define_meta("missing_handlers", why, sizeof why - 1);
}

void sp_clib_fork(enum sp_fork when)
{
	if (when == SP_FORK_BEFORE) {
		pthread_mutex_lock(&lock);
		sp_clib_names_fork(when);
		return;
	}
	sp_clib_names_fork(when);
	if (when == SP_FORK_PARENT) {
		pthread_mutex_unlock(&lock);
		return;
	}
	handlers = false;
	pthread_mutex_init(&lock, NULL);
	/* records are the parent's; strings are inherited */
	for (size_t i = 0; table.slots && i <= table.mask; i++) {
		struct known *k = sp_addresses_slot(&table, sizeof *k, i);
		k->object = NULL;
		k->owner = 0;
		k->made_by = SP_RAW_NONE;
	}
	memset(files, 0, sizeof files);
}
