/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/calls/win.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/calls/comm.h"

/* A list, because there are few windows. Entries are never freed: a reader without the lock finds another window at
 * worst, and recognizes that by the handle. */
static struct sp_mpi_win *windows, *unused;
static uint32_t last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct group {
	uint64_t hash;
	uint32_t id, process;
} * groups; /* owned */
static size_t n_groups, group_capacity;

/* The window that the thread used last. */
static __thread struct sp_mpi_win *used __attribute__((tls_model("initial-exec")));

void sp_mpi_win_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sp_mpi_win_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void define(struct sp_mpi_win *w)
{
	const struct sp_adapter_text text = {w->name, strlen(w->name)};
	if (sp_mpi_adapter->define(SP_RAW_DEF_WIN, 0, w->id, w->comm, &text, 1) == 0)
		w->process = sp_adapter_read(sp_mpi_adapter->process);
}

static struct sp_mpi_win *find(uint64_t handle)
{
	struct sp_mpi_win *w = __atomic_load_n(&windows, __ATOMIC_ACQUIRE);
	while (w && __atomic_load_n(&w->handle, __ATOMIC_RELAXED) != handle)
		w = __atomic_load_n(&w->next, __ATOMIC_ACQUIRE);
	return w;
}

struct sp_mpi_win *sp_mpi_win_by_id(uint32_t id)
{
	pthread_mutex_lock(&lock);
	struct sp_mpi_win *w = windows;
	while (w && w->id != id)
		w = w->next;
	pthread_mutex_unlock(&lock);
	return w;
}

struct sp_mpi_win *sp_mpi_win_new(MPI_Win win, MPI_Comm comm, bool allocated)
{
	const uint64_t handle = SP_MPI_HANDLE(win);
	const uint32_t comm_id = sp_mpi_comm_id(comm);
	pthread_mutex_lock(&lock);
	struct sp_mpi_win *w = find(handle), *fresh = w ? NULL : unused ? unused : calloc(1, sizeof *fresh);
	if (fresh) {
		struct sp_mpi_win_op *ops = fresh->ops;
		size_t capacity = fresh->capacity;
		if (fresh == unused)
			unused = fresh->next;
		*fresh = (struct sp_mpi_win){.handle = handle,
		                             .id = ++last_id,
		                             .comm = comm_id,
		                             .allocated = allocated,
		                             .ops = ops,
		                             .capacity = capacity,
		                             .next = windows};
		__atomic_store_n(&windows, fresh, __ATOMIC_RELEASE);
		w = fresh;
	}
	pthread_mutex_unlock(&lock);
	if (fresh)
		define(fresh);
	return w;
}

struct sp_mpi_win *sp_mpi_win(MPI_Win win)
{
	struct sp_mpi_win *w = used;
	if (win == MPI_WIN_NULL)
		return NULL;
	if (SP_UNLIKELY(!w || __atomic_load_n(&w->handle, __ATOMIC_RELAXED) != SP_MPI_HANDLE(win))) {
		w = find(SP_MPI_HANDLE(win));
		used = w;
	}
	if (w && SP_UNLIKELY(w->process != sp_adapter_read(sp_mpi_adapter->process)))
		define(w);
	return w;
}

void sp_mpi_win_remove(MPI_Win win)
{
	const uint64_t handle = SP_MPI_HANDLE(win);
	struct sp_mpi_win *w;
	pthread_mutex_lock(&lock);
	struct sp_mpi_win **at = &windows;
	while ((w = *at) && w->handle != handle)
		at = &w->next;
	if (w) {
		__atomic_store_n(at, w->next, __ATOMIC_RELEASE);
		__atomic_store_n(&w->handle, 0, __ATOMIC_RELAXED);
		w->next = unused;
		unused = w;
	}
	pthread_mutex_unlock(&lock);
}

void sp_mpi_win_rename(struct sp_mpi_win *w, const char *name)
{
	strncpy(w->name, name, sizeof w->name - 1);
	w->name[sizeof w->name - 1] = '\0';
	define(w);
}

static uint64_t hash_of(const void *bytes, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (const unsigned char *p = bytes; n > 0; n--, p++)
		h = (h ^ *p) * UINT64_C(0x100000001b3);
	return h;
}

/* Call with the lock held. */
static uint32_t group_of(uint64_t hash, bool *is_new)
{
	const uint32_t process = sp_adapter_read(sp_mpi_adapter->process);
	for (size_t i = 0; i < n_groups; i++)
		if (groups[i].hash == hash && groups[i].process == process)
			return groups[i].id;
	if (n_groups == group_capacity) {
		struct group *larger = realloc(groups, (group_capacity * 2 + 16) * sizeof *larger);
		if (!larger)
			return 0;
		groups = larger;
		group_capacity = group_capacity * 2 + 16;
	}
	*is_new = true;
	groups[n_groups] = (struct group){hash, (uint32_t)n_groups + 1, process};
	return groups[n_groups++].id;
}

uint32_t sp_mpi_group_id(MPI_Group group)
{
	int n, runs = 0;
	bool is_new = false;
	if (PMPI_Group_size(group, &n) != MPI_SUCCESS)
		return 0;
	struct sp_raw_ranks *ranks = sp_mpi_world_ranks(group, n, &runs);
	if (n && !ranks)
		return 0;
	const struct sp_adapter_text text = {ranks, (size_t)runs * sizeof *ranks};
	pthread_mutex_lock(&lock);
	uint32_t id = group_of(hash_of(ranks, text.n), &is_new);
	pthread_mutex_unlock(&lock);
	if (is_new)
		sp_mpi_adapter->define(SP_RAW_DEF_GROUP, 0, id, 0, &text, 1);
	free(ranks);
	return id;
}
