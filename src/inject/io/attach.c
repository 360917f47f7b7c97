/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the real functions, and attaches the measurement. */
#include "inject/io/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

void *sp_preload_real[SP_PRELOAD_N];
const struct sp_adapter *sp_preload_adapter;

#define SYMBOL(symbol, name) #symbol,
#define NAME(symbol, name)   name,
static const char *const symbols[] = {SP_PRELOAD_FUNCTIONS(SYMBOL)};
static const char *const names[] = {SP_PRELOAD_FUNCTIONS(NAME)};

/* generation << 32 | region id, so that an old id is never used */
static uint64_t regions[SP_PRELOAD_N];

/* The code range of _measure: its own calls do not belong to the program. */
static uintptr_t own_begin, own_end;

/* Finds all functions at once, before the program starts: dlsym() takes locks for which a forked child or a handler
 * must not wait. */
__attribute__((constructor(101))) static void resolve(void)
{
	for (int i = 0; i < SP_PRELOAD_N; i++)
		if (!sp_preload_real[i])
			sp_preload_real[i] = dlsym(RTLD_NEXT, symbols[i]);
}

SP_COLD void *sp_preload_resolve(enum sp_preload_function f)
{
	const int error = errno;
	resolve();
	errno = error;
	return sp_preload_real[f];
}

static int find_code(struct dl_phdr_info *object, size_t size, void *arg)
{
	uintptr_t inside = (uintptr_t)arg, begin = UINTPTR_MAX, end = 0;
	bool found = false;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
		if (p->p_type != PT_LOAD)
			continue;
		found = found || (inside >= from && inside < to);
		if (p->p_flags & PF_X) {
			begin = from < begin ? from : begin;
			end = to > end ? to : end;
		}
	}
	if (found) {
		own_begin = begin;
		own_end = end;
	}
	return found;
}

/* _measure finds it with dlsym(), and calls it when a measurement with file I/O begins. Returns 0, or -1: both are of
 * different versions. */
SP_EXPORT int sp_preload_attach(const struct sp_adapter *a);
int sp_preload_attach(const struct sp_adapter *a)
{
	if (a->version != 1 || a->size < sizeof *a)
		return -1;
	if (sp_preload_adapter)
		return 0;
	resolve();
	dl_iterate_phdr(find_code, (void *)(uintptr_t)a);
	sp_signals_watch();
	__atomic_store_n(&sp_preload_adapter, a, __ATOMIC_RELEASE);
	return 0;
}

SP_COLD static uint32_t region_new(enum sp_preload_function f, uint32_t generation)
{
	uint32_t id = sp_preload_adapter->region(SP_RAW_REGION_IO, NULL, names[f], NULL, 0);
	/* variants share a name, and therefore a region */
	for (int i = 0; id && i < SP_PRELOAD_N; i++)
		if (names[i] == names[f] || !__builtin_strcmp(names[i], names[f]))
			__atomic_store_n(&regions[i], (uint64_t)generation << 32 | id, __ATOMIC_RELAXED);
	return id;
}

bool sp_preload_enter(struct sp_preload_call *c, enum sp_preload_function f, const void *caller)
{
	const struct sp_adapter *a = sp_preload_adapter;
	if ((uintptr_t)caller - own_begin < own_end - own_begin)
		return false;
	if (SP_UNLIKELY(sp_quiet) && sp_is_quiet())
		return false;
	if (!(sp_adapter_read(a->wanted) & SP_ADAPTER_IO))
		return false;
	sp_quiet = (uintptr_t)__builtin_frame_address(0);
	c->t = a->thread();
	if (SP_LIKELY(c->t != NULL)) {
		c->generation = sp_adapter_read(a->generation);
		uint64_t known = __atomic_load_n(&regions[f], __ATOMIC_RELAXED);
		c->region = SP_LIKELY(known >> 32 == c->generation) ? (uint32_t)known : region_new(f, c->generation);
		c->handle = 0;
		c->traced = a->traced(c->t);
		c->now = c->region ? a->enter(c->t, c->region) : 0;
	}
	sp_quiet = 0;
	return c->t && c->region;
}

/* Whether the call is still being recorded: between its two halves the measurement may have been paused or ended, or
 * another one begun; then its frame is already closed. */
static bool is_recorded(struct sp_preload_call *c)
{
	const struct sp_adapter *a = sp_preload_adapter;
	if (SP_UNLIKELY(sp_quiet) && sp_is_quiet())
		return false;
	sp_quiet = (uintptr_t)__builtin_frame_address(0);
	if (SP_LIKELY(a->thread() == c->t && sp_adapter_read(a->generation) == c->generation))
		return true;
	sp_quiet = 0;
	return false;
}

static void leave(struct sp_preload_call *c)
{
	sp_preload_adapter->leave(c->t, c->region);
	sp_quiet = 0;
}

static void event(const struct sp_preload_call *c, enum sp_raw_extra what, const uint64_t *payload, unsigned n)
{
	sp_preload_adapter->extra(c->t, what, payload, n, sp_preload_adapter->now());
}

static void destroy(const struct sp_preload_call *c, uint32_t handle)
{
	uint64_t payload = handle;
	if (handle)
		event(c, SP_RAW_X_IO_DESTROY, &payload, 1);
}

/* Only traces have handles. */
void sp_preload_begin_io(struct sp_preload_call *c, int fd, enum sp_raw_io_mode mode, uint64_t asked, uint64_t offset)
{
	if (!c->traced)
		return;
	sp_quiet = (uintptr_t)__builtin_frame_address(0);
	c->handle = sp_preload_handle(c, fd);
	const uint64_t payload[4] = {c->handle, mode, asked, offset};
	if (c->handle)
		sp_preload_adapter->extra(c->t, SP_RAW_X_IO_BEGIN, payload, 4, c->now);
	sp_quiet = 0;
}

void sp_preload_begin_seek(struct sp_preload_call *c, int fd)
{
	if (!c->traced)
		return;
	sp_quiet = (uintptr_t)__builtin_frame_address(0);
	c->handle = sp_preload_handle(c, fd);
	sp_quiet = 0;
}

void sp_preload_begin_close(struct sp_preload_call *c, int fd)
{
	if (c->traced)
		c->handle = sp_preload_handle_take(fd);
}

void sp_preload_end(struct sp_preload_call *c)
{
	if (is_recorded(c))
		leave(c);
}

void sp_preload_end_io(struct sp_preload_call *c, enum sp_raw_io_mode mode, uint64_t bytes)
{
	const uint64_t payload[2] = {c->handle, bytes};
	if (!is_recorded(c))
		return;
	if (c->handle)
		event(c, SP_RAW_X_IO_COMPLETE, payload, 2);
	if (bytes != SP_BYTES_UNKNOWN && mode != SP_RAW_IO_FLUSH)
		sp_preload_adapter->add(c->t, mode == SP_RAW_IO_READ ? SP_COUNT_IO_READ : SP_COUNT_IO_WRITTEN, bytes);
	leave(c);
}

void sp_preload_end_seek(struct sp_preload_call *c, uint64_t asked, int whence, uint64_t reached)
{
	const uint64_t payload[4] = {c->handle, asked, (uint64_t)whence, reached};
	if (!is_recorded(c))
		return;
	if (c->handle)
		event(c, SP_RAW_X_IO_SEEK, payload, 4);
	leave(c);
}

void sp_preload_end_open(struct sp_preload_call *c, int fd, const char *path, int flags)
{
	if (!is_recorded(c))
		return;
	if (c->traced && fd >= 0)
		sp_preload_handle_open(c, fd, path && *path == '/' ? path : NULL, (uint64_t)(unsigned)flags);
	leave(c);
}

void sp_preload_end_close(struct sp_preload_call *c)
{
	if (!is_recorded(c))
		return;
	destroy(c, c->handle);
	leave(c);
}

void sp_preload_end_dup(struct sp_preload_call *c, int from, int to)
{
	if (!is_recorded(c))
		return;
	if (c->traced && to >= 0 && from != to) {
		destroy(c, c->handle);
		const uint64_t payload[2] = {sp_preload_handle(c, from), sp_preload_handle_set(to)};
		if (payload[0] && payload[1])
			event(c, SP_RAW_X_IO_DUP, payload, 2);
	}
	leave(c);
}

void sp_preload_end_close_range(struct sp_preload_call *c, unsigned first, unsigned last)
{
	if (!is_recorded(c))
		return;
	for (int fd; c->traced && (fd = sp_preload_handle_next(first, last)) >= 0; first = (unsigned)fd + 1)
		destroy(c, sp_preload_handle_take(fd));
	leave(c);
}
