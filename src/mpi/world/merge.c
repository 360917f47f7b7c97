/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/world/merge.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/merge/merge.h"
#include "mpi/world/wait.h"

enum {
	TAG = 2,
	PIECE = 2048, /* maximum bytes of one message: MPI receives such a message without a handshake */
	WINDOW = 128  /* number of pieces after which a rank waits for the other, which limits the unreceived data */
};

static MPI_Comm world; /* communicator of the merge */

/* ---- messages ----
 *
 * They are sent in small pieces. MPICH 4.0 over UCX may wait forever in MPI_Finalize after a message that was large
 * enough to be written into the other rank's memory: one rank waits there for a confirmation, and the other one is in
 * PMI's barrier, where it confirms nothing (https://github.com/pmodels/mpich/pull/6596). */

static int send_bytes(void *arg, int to, const void *bytes, size_t n)
{
	const char *p = bytes;
	uint64_t length = n;
	char word;
	(void)arg;
	int rc = sp_mpi_wait_send(&length, sizeof length, to, TAG, world);
	for (size_t part, i = 1; rc == MPI_SUCCESS && n; p += part, n -= part, i++) {
		part = n < PIECE ? n : PIECE;
		rc = sp_mpi_wait_send(p, (int)part, to, TAG, world);
		if (rc == MPI_SUCCESS && i % WINDOW == 0)
			rc = sp_mpi_wait_receive(&word, sizeof word, to, TAG, world);
	}
	return rc != MPI_SUCCESS;
}

/* Without memory for it, the message is still received, and is empty, which the reader reports as an error: a rank that
 * gave up at once would keep the others waiting forever. */
static int receive_bytes(void *arg, int from, void **bytes, size_t *n)
{
	static char nowhere[PIECE];
	uint64_t length = 0;
	char word = 0;
	(void)arg;
	*bytes = NULL;
	*n = 0;
	int rc = sp_mpi_wait_receive(&length, sizeof length, from, TAG, world);
	char *all = rc == MPI_SUCCESS ? malloc(length + 1) : NULL;
	for (uint64_t at = 0, i = 1; rc == MPI_SUCCESS && at < length; at += PIECE, i++) {
		const int part = length - at < PIECE ? (int)(length - at) : PIECE;
		rc = sp_mpi_wait_receive(all ? all + at : nowhere, part, from, TAG, world);
		if (rc == MPI_SUCCESS && i % WINDOW == 0)
			rc = sp_mpi_wait_send(&word, sizeof word, from, TAG, world);
	}
	if (rc != MPI_SUCCESS) {
		free(all);
		return 1;
	}
	*bytes = all;
	*n = all ? length : 0;
	return 0;
}

static struct sp_links links_of(MPI_Comm comm)
{
	struct sp_links l = {.send = send_bytes, .receive = receive_bytes};
	world = comm;
	PMPI_Comm_rank(comm, &l.rank);
	PMPI_Comm_size(comm, &l.size);
	return l;
}

/* ---- in MPI_Finalize ---- */

static const struct sp_merge_library *library;

bool sp_mpi_merge_ready(void)
{
	char path[PATH_MAX];
	Dl_info own;
	const char *slash = NULL;
	if (dladdr((const void *)&sp_mpi_merge_ready, &own) && own.dli_fname)
		slash = strrchr(own.dli_fname, '/');
	if (!slash || snprintf(path, sizeof path, "%.*s/spartito_merge.so", (int)(slash - own.dli_fname),
	                       own.dli_fname) >= (int)sizeof path)
		return false;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	library = handle ? dlsym(handle, SP_MERGE_LIBRARY) : NULL;
	return library && library->size == sizeof(struct sp_links);
}

void sp_mpi_merge(const char *raw, MPI_Comm comm)
{
	const struct sp_merge_options options = {.force = false};
	const struct sp_links links = links_of(comm);
	struct sp_merge_result result;
	struct sp_err e;
	char dir[PATH_MAX];
	/* DIR/raw/FILE; a rank with another path takes part too, and finds nothing */
	snprintf(dir, sizeof dir, "%s", raw ? raw : "");
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(dir, '/');
		if (slash)
			*slash = '\0';
	}
	(void)library->merge(dir, &options, &links, &result, &e);
}

/* ---- a merge in separate processes ---- */

static int begin(void *mpi, struct sp_links *out)
{
	MPI_Comm comm;
	sp_mpi_attach_real(mpi);
	if (!PMPI_Init || PMPI_Init(NULL, NULL) != MPI_SUCCESS || PMPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS)
		return -1;
	PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	*out = links_of(comm);
	return 0;
}

static void end(void)
{
	PMPI_Comm_free(&world);
	PMPI_Finalize();
}

extern const struct sp_links_library sp_links_library_v1;
SP_EXPORT const struct sp_links_library sp_links_library_v1 = {sizeof(struct sp_links), begin, end};
