/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of communicators, by handle. */
#include "mpi/calls/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, BLOCK = 32 };

/* Read without the lock: entries are never freed. If an entry is removed meanwhile, a search at worst finds nothing,
 * and is repeated with the lock. */
static struct sp_mpi_comm *buckets[BUCKETS];
static struct sp_mpi_comm *unused;
static uint32_t last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The communicator that the thread used last. */
static __thread struct sp_mpi_comm *used __attribute__((tls_model("initial-exec")));

static struct sp_mpi_comm **bucket_of(uint64_t handle)
{
	return &buckets[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static struct sp_mpi_comm *find(uint64_t handle)
{
	struct sp_mpi_comm *m = __atomic_load_n(bucket_of(handle), __ATOMIC_ACQUIRE);
	while (m && __atomic_load_n(&m->handle, __ATOMIC_RELAXED) != handle)
		m = __atomic_load_n(&m->next, __ATOMIC_ACQUIRE);
	return m;
}

static struct sp_mpi_comm *take_unused(void)
{
	if (!unused) {
		struct sp_mpi_comm *block = calloc(BLOCK, sizeof *block);
		for (int i = 0; block && i < BLOCK; i++) {
			block[i].next = unused;
			unused = &block[i];
		}
	}
	struct sp_mpi_comm *m = unused;
	if (m)
		unused = m->next;
	return m;
}

struct sp_mpi_comm *sp_mpi_comm_insert(const struct sp_mpi_comm *as)
{
	pthread_mutex_lock(&lock);
	struct sp_mpi_comm *m = find(as->handle);
	if (!m && (m = take_unused())) {
		struct sp_mpi_comm **bucket = bucket_of(as->handle);
		*m = *as;
		m->id = ++last_id;
		m->next = *bucket;
		__atomic_store_n(bucket, m, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return m;
}

void sp_mpi_comm_remove(MPI_Comm comm)
{
	const uint64_t handle = sp_mpi_comm_handle(comm);
	pthread_mutex_lock(&lock);
	for (struct sp_mpi_comm **at = bucket_of(handle); *at; at = &(*at)->next) {
		struct sp_mpi_comm *m = *at;
		if (m->handle != handle)
			continue;
		__atomic_store_n(at, m->next, __ATOMIC_RELEASE);
		__atomic_store_n(&m->handle, 0, __ATOMIC_RELAXED);
		m->next = unused;
		unused = m;
		break;
	}
	pthread_mutex_unlock(&lock);
}

void sp_mpi_comm_each(void (*visit)(struct sp_mpi_comm *m, void *arg), void *arg)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct sp_mpi_comm *m = buckets[i], *next; m; m = next) {
			next = m->next;
			visit(m, arg);
		}
}

struct sp_mpi_comm *sp_mpi_comm_find(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return NULL;
	const uint64_t handle = sp_mpi_comm_handle(comm);
	struct sp_mpi_comm *m = find(handle);
	if (!m) {
		pthread_mutex_lock(&lock);
		m = find(handle);
		pthread_mutex_unlock(&lock);
	}
	return m;
}

uint32_t sp_mpi_comm_known_id(MPI_Comm comm)
{
	const struct sp_mpi_comm *m = sp_mpi_comm_find(comm);
	return m && m->process == sp_adapter_read(sp_mpi_adapter->process) ? m->id : 0;
}

SP_COLD static struct sp_mpi_comm *find_slow(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return NULL;
	struct sp_mpi_comm *m = sp_mpi_comm_find(comm);
	if (!m)
		m = sp_mpi_comm_found(comm);
	if (m && m->process != sp_adapter_read(sp_mpi_adapter->process))
		sp_mpi_comm_define(m);
	used = m;
	return m;
}

struct sp_mpi_comm *sp_mpi_comm(MPI_Comm comm)
{
	struct sp_mpi_comm *m = used;
	if (SP_LIKELY(m && __atomic_load_n(&m->handle, __ATOMIC_RELAXED) == sp_mpi_comm_handle(comm) &&
	              m->process == sp_adapter_read(sp_mpi_adapter->process)))
		return m;
	return find_slow(comm);
}

bool sp_mpi_comm_again(uint64_t handle, uint32_t id)
{
	pthread_mutex_lock(&lock);
	struct sp_mpi_comm *m = find(handle);
	pthread_mutex_unlock(&lock);
	if (!m || m->id != id)
		return false;
	if (m->process != sp_adapter_read(sp_mpi_adapter->process))
		sp_mpi_comm_define(m);
	return m->process == sp_adapter_read(sp_mpi_adapter->process);
}
