/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between C libraries: glibc and musl. musl defines no macro with its name, so every C library that is not
 * glibc is treated as musl. Inline: the preloaded libraries are linked with no other code of Spartito. */
#ifndef SP_RECORD_LIBC_H
#define SP_RECORD_LIBC_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GLIBC__)

/* Code for functions of large files that have separate symbols (open64). In musl these names are macros, or unknown. */
#define SP_LIBC_LARGE(...) __VA_ARGS__

/* A function that only the C library defines. */
#define SP_LIBC_SYMBOL "gnu_get_libc_version"

/* Whether calloc() calls malloc() by its public name, which may be a wrapper's. */
enum { SP_LIBC_CALLOC_CALLS_MALLOC = 0 };

/* Whether the thread that gets PTHREAD_BARRIER_SERIAL_THREAD is the last one to arrive, which does not wait. In musl it
 * is the first one. */
enum { SP_LIBC_SERIAL_IS_LAST = 1 };

/* The bits of the number behind sp_libc_mutex_holder() that are the thread's id. */
#define SP_LIBC_HOLDER_MASK (-1)

/* gettid() of the thread that holds the mutex, 0: free. NULL: this kind of mutex does not contain it. */
static inline const int *sp_libc_mutex_holder(const pthread_mutex_t *m)
{
	return &m->__data.__owner;
}

/* Whether the calling thread holds a recursive mutex more than once. */
static inline bool sp_libc_mutex_is_inner(const pthread_mutex_t *m)
{
	return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && m->__data.__count > 1;
}

/* The same as for a mutex, for the writer. */
static inline const int *sp_libc_rwlock_holder(const pthread_rwlock_t *l)
{
	return &l->__data.__cur_writer;
}

static inline bool sp_libc_rwlock_is_written(const pthread_rwlock_t *l)
{
	return l->__data.__cur_writer;
}

/* Initializes a mutex whose holder is known while it is held. A static mutex needs SP_LIBC_HELD_MUTEX. */
#define SP_LIBC_HELD_MUTEX PTHREAD_MUTEX_INITIALIZER
static inline void sp_libc_held_mutex(pthread_mutex_t *m)
{
	pthread_mutex_init(m, NULL);
}

/* dladdr(), and in *bias the difference of the object's addresses in memory and in its file. */
static inline bool sp_libc_dladdr(const void *at, Dl_info *info, uintptr_t *bias)
{
	struct link_map *map = NULL;
	if (!dladdr1(at, info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	*bias = map->l_addr;
	return true;
}

#else

#define SP_LIBC_LARGE(...)
#define SP_LIBC_SYMBOL      "__libc_start_main"
enum { SP_LIBC_CALLOC_CALLS_MALLOC = 1 };
enum { SP_LIBC_SERIAL_IS_LAST = 0 };
/* two higher bits: other threads wait; the holder ended */
#define SP_LIBC_HOLDER_MASK 0x3fffffff

/* The words of musl's mutex: 0 is the type, 1 the holder's id, but EBUSY in a mutex of the default type, 5 counts how
 * often a recursive one was acquired again. The first bits of the type: robust and inheriting ones have the holder's id
 * too. */
enum { SP_LIBC_MUTEX_TYPE = 15, SP_LIBC_MUTEX_KIND = 3 };

static inline const int *sp_libc_mutex_holder(const pthread_mutex_t *m)
{
	return m->__u.__i[0] & SP_LIBC_MUTEX_TYPE ? &m->__u.__i[1] : NULL;
}

static inline bool sp_libc_mutex_is_inner(const pthread_mutex_t *m)
{
	return (m->__u.__i[0] & SP_LIBC_MUTEX_KIND) == PTHREAD_MUTEX_RECURSIVE && m->__u.__i[5] > 0;
}

/* The first word of musl's lock: the number of readers, or all bits for a writer. */
static inline const int *sp_libc_rwlock_holder(const pthread_rwlock_t *l)
{
	(void)l;
	return NULL;
}

static inline bool sp_libc_rwlock_is_written(const pthread_rwlock_t *l)
{
	return (__atomic_load_n(&l->__u.__i[0], __ATOMIC_RELAXED) & 0x7fffffff) == 0x7fffffff;
}

/* clang-format off */
#define SP_LIBC_HELD_MUTEX {{{PTHREAD_MUTEX_ERRORCHECK}}}
/* clang-format on */
static inline void sp_libc_held_mutex(pthread_mutex_t *m)
{
	*m = (pthread_mutex_t)SP_LIBC_HELD_MUTEX;
}

/* The bias of the object that contains an address. */
struct sp_libc_bias {
	uintptr_t at, bias;
	bool found;
};

static inline int sp_libc_find_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct sp_libc_bias *b = (struct sp_libc_bias *)arg;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !b->found; i++)
		b->found = info->dlpi_phdr[i].p_type == PT_LOAD &&
		           b->at - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz;
	b->bias = info->dlpi_addr;
	return b->found;
}

static inline bool sp_libc_dladdr(const void *at, Dl_info *info, uintptr_t *bias)
{
	struct sp_libc_bias b = {(uintptr_t)at, 0, false};
	if (!dladdr(at, info) || !dl_iterate_phdr(sp_libc_find_bias, &b))
		return false;
	*bias = b.bias;
	return true;
}

#endif
#endif
