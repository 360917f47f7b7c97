/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI files. Their handles have numbers in the same sequence as those of the C library's files. */
#include "mpi/calls/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/calls/request.h"

/* An operation that is outstanding when its call has ended. */
struct op {
	uint64_t handle; /* of the file, as in IO_BEGIN; 0: not in the trace */
	uint64_t matching;
	uint32_t what;
	bool begun; /* false: nothing has to be recorded */
};

struct file {
	uint64_t handle;
	uint64_t number; /* *adapter->process << 32 | handle in the trace; of another process: not recorded yet */
	uint32_t comm;   /* id; 0: unknown */
	int amode;
	struct op split; /* the outstanding split collective */
	char *path;      /* owned; NULL: unknown */
	struct file *next;
};

static struct file *files; /* owned; the open files */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_matching;

static uint64_t handle_of(MPI_File file)
{
	return (uintptr_t)file;
}

/* ---- the table ---- */

/* Makes the path absolute, as those of other files are. */
static char *absolute(const char *path)
{
	char text[PATH_MAX], here[PATH_MAX];
	int error = errno;
	/* "ufs:path" also names the file system */
	const char *colon = strchr(path, ':');
	const bool relative = *path != '/' && !(colon && colon[1] == '/');
	if (!relative || !getcwd(here, sizeof here) ||
	    snprintf(text, sizeof text, "%s/%s", here, path) >= (int)sizeof text)
		snprintf(text, sizeof text, "%s", path);
	errno = error;
	return strdup(text);
}

static uint64_t open_flags(int amode)
{
	int flags = amode & MPI_MODE_RDWR ? O_RDWR : amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
	flags |= amode & MPI_MODE_CREATE ? O_CREAT : 0;
	flags |= amode & MPI_MODE_EXCL ? O_EXCL : 0;
	flags |= amode & MPI_MODE_APPEND ? O_APPEND : 0;
	return (unsigned)flags;
}

static uint64_t string_of(const char *path)
{
	return path ? sp_mpi_adapter->string(path, strlen(path)) : 0;
}

/* The file's number in the trace; records its opening if needed. Call with the lock held. */
static uint64_t number_of(const struct sp_mpi_call *c, struct file *f)
{
	if (f->number >> 32 != sp_adapter_read(sp_mpi_adapter->process)) {
		f->number = sp_mpi_adapter->io_handle();
		const uint64_t payload[4] = {(uint32_t)f->number, string_of(f->path), open_flags(f->amode),
		                             sp_mpi_pair(SP_RAW_IO_MPI, f->comm)};
		sp_mpi_event_at(c, SP_RAW_X_IO_CREATE, payload, 4, c->now);
	}
	return (uint32_t)f->number;
}

static struct file *add(uint64_t handle, uint32_t comm, const char *path, int amode)
{
	struct file *f = calloc(1, sizeof *f);
	if (f) {
		*f = (struct file){.handle = handle, .comm = comm, .amode = amode, .next = files};
		f->path = path ? absolute(path) : NULL;
		files = f;
	}
	return f;
}

/* Finds an open file, or adds one that was opened by a function that is not wrapped. Call with the lock held; NULL: no
 * memory. */
static struct file *find(MPI_File file)
{
	for (struct file *f = files; f; f = f->next)
		if (f->handle == handle_of(file))
			return f;
	return add(handle_of(file), 0, NULL, 0);
}

/* The file's number in the trace; 0: not traced. */
static uint64_t file_number(const struct sp_mpi_call *c, MPI_File file)
{
	if (!c->traced || file == MPI_FILE_NULL)
		return 0;
	pthread_mutex_lock(&lock);
	struct file *f = find(file);
	const uint64_t number = f ? number_of(c, f) : 0;
	pthread_mutex_unlock(&lock);
	return number;
}

/* ---- open and close ---- */

void sp_mpi_file_opened(struct sp_mpi_call *c, MPI_Comm comm, const char *path, int amode, const MPI_File *file)
{
	if (c->result != MPI_SUCCESS)
		return;
	const uint32_t id = sp_mpi_comm_id(comm);
	pthread_mutex_lock(&lock);
	struct file *f = add(handle_of(*file), id, path, amode);
	if (f && c->region && c->traced)
		number_of(c, f);
	pthread_mutex_unlock(&lock);
}

static struct file *take(MPI_File file)
{
	pthread_mutex_lock(&lock);
	struct file **at = &files, *f;
	while ((f = *at) && f->handle != handle_of(file))
		at = &f->next;
	if (f)
		*at = f->next;
	pthread_mutex_unlock(&lock);
	return f;
}

/* Removes the entry before the call: afterwards the handle may belong to another file. */
int sp_mpi_wrap_File_close(MPI_File *file)
{
	struct sp_mpi_call call, *const c = &call;
	if (!sp_mpi_begin(c, SP_MPI_F_File_close))
		return PMPI_File_close(file);
	struct file *f = *file == MPI_FILE_NULL ? NULL : take(*file);
	sp_mpi_returned(c, PMPI_File_close(file));
	if (f && sp_mpi_counts(c) && f->number >> 32 == sp_adapter_read(sp_mpi_adapter->process)) {
		const uint64_t number = (uint32_t)f->number;
		sp_mpi_event(c, SP_RAW_X_IO_DESTROY, &number, 1);
	}
	if (f)
		free(f->path);
	free(f);
	return sp_mpi_end(c);
}

void sp_mpi_file_deleted(struct sp_mpi_call *c, const char *path)
{
	if (!sp_mpi_counts(c) || !c->traced)
		return;
	char *whole = absolute(path);
	const uint64_t payload[2] = {string_of(whole), SP_RAW_IO_MPI};
	sp_mpi_event_at(c, SP_RAW_X_IO_DELETE, payload, 2, c->now);
	free(whole);
}

/* ---- positions ---- */

/* Converts an offset to bytes in the file, using the file's view. */
static uint64_t bytes_at(MPI_File file, MPI_Offset offset)
{
	MPI_Offset bytes;
	if (offset == SP_MPI_HERE || PMPI_File_get_byte_offset(file, offset, &bytes) != MPI_SUCCESS || bytes < 0)
		return SP_RAW_IO_FAILED;
	return (uint64_t)bytes;
}

/* The position after a relative seek; other processes may have moved a shared file pointer since. */
static uint64_t position(MPI_File file, bool shared)
{
	MPI_Offset at;
	if ((shared ? PMPI_File_get_position_shared(file, &at) : PMPI_File_get_position(file, &at)) != MPI_SUCCESS)
		return SP_RAW_IO_FAILED;
	return bytes_at(file, at);
}

void sp_mpi_file_sought(struct sp_mpi_call *c, MPI_File file, MPI_Offset offset, int whence, bool shared)
{
	const uint64_t number = c->region ? file_number(c, file) : 0;
	if (!number)
		return;
	uint64_t asked = (uint64_t)offset, reached = SP_RAW_IO_FAILED;
	if (c->result == MPI_SUCCESS && whence == MPI_SEEK_SET)
		asked = reached = bytes_at(file, offset);
	else if (c->result == MPI_SUCCESS)
		reached = position(file, shared);
	const uint64_t how = whence == MPI_SEEK_SET ? SEEK_SET : whence == MPI_SEEK_CUR ? SEEK_CUR : SEEK_END;
	const uint64_t payload[4] = {number, asked, how, reached};
	sp_mpi_event(c, SP_RAW_X_IO_SEEK, payload, 4);
}

/* ---- reading and writing ---- */

static void count_bytes(struct sp_mpi_call *c, uint32_t what, uint64_t bytes)
{
	if (c->region)
		sp_mpi_add(
		    c, (what & SP_RAW_IO_MODE_MASK) == SP_RAW_IO_READ ? SP_COUNT_MPI_IO_READ : SP_COUNT_MPI_IO_WRITTEN,
		    bytes);
}

/* Begins an operation with the next number, which is outstanding when its call has ended. */
static struct op begin(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset)
{
	if (!sp_mpi_counts(c))
		return (struct op){.begun = false};
	struct op op = {.handle = file_number(c, file), .what = what, .begun = true};
	op.matching = __atomic_add_fetch(&last_matching, 1, __ATOMIC_RELAXED);
	if (op.handle) {
		const uint64_t payload[5] = {op.handle, what, sp_mpi_bytes(count, type), bytes_at(file, offset),
		                             op.matching};
		const uint64_t issued[2] = {op.handle, op.matching};
		sp_mpi_event_at(c, SP_RAW_X_IO_BEGIN, payload, 5, c->now);
		sp_mpi_event(c, SP_RAW_X_IO_ISSUED, issued, 2);
	}
	return op;
}

static void end(struct sp_mpi_call *c, const struct op *op, const MPI_Status *status)
{
	if (!op->begun || !c->t)
		return;
	const uint64_t bytes = status ? sp_mpi_received_bytes(status) : SP_RAW_IO_FAILED;
	const uint64_t payload[3] = {op->handle, bytes, op->matching};
	if (op->handle)
		sp_mpi_event(c, SP_RAW_X_IO_COMPLETE, payload, 3);
	if (status)
		count_bytes(c, op->what, bytes);
}

static void request_done(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	const struct op op = {r->a, r->b, (uint32_t)r->c, true};
	end(c, &op, status);
}

void sp_mpi_file_begun(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset, const MPI_Request *request)
{
	const struct op op = begin(c, file, what | SP_RAW_IO_NON_BLOCKING, count, type, offset);
	if (!op.begun)
		return;
	const struct sp_mpi_request r = {.handle = sp_mpi_request_handle(*request),
	                                 .number = sp_mpi_request_number(),
	                                 .done = request_done,
	                                 .generation = c->generation,
	                                 .a = op.handle,
	                                 .b = op.matching,
	                                 .c = op.what};
	sp_mpi_request_add(&r);
}

void sp_mpi_file_split(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset)
{
	const struct op op = begin(c, file, what | SP_RAW_IO_NON_BLOCKING, count, type, offset);
	pthread_mutex_lock(&lock);
	struct file *f = op.begun ? find(file) : NULL;
	if (f)
		f->split = op; /* MPI allows one at a time */
	pthread_mutex_unlock(&lock);
}

void sp_mpi_file_joined(struct sp_mpi_call *c, MPI_File file, const MPI_Status *status)
{
	struct op op = {.begun = false};
	pthread_mutex_lock(&lock);
	struct file *f = file == MPI_FILE_NULL ? NULL : find(file);
	if (f) {
		op = f->split;
		f->split.begun = false;
	}
	pthread_mutex_unlock(&lock);
	if (c->region)
		end(c, &op, c->result == MPI_SUCCESS ? status : NULL);
}

/* Records the begin before the events of the C library's functions that MPI calls. */
void sp_mpi_file_moves(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset)
{
	const uint64_t number = c->region ? file_number(c, file) : 0;
	if (number) {
		const uint64_t payload[4] = {number, what, sp_mpi_bytes(count, type), bytes_at(file, offset)};
		sp_mpi_event_at(c, SP_RAW_X_IO_BEGIN, payload, 4, c->now);
	}
}

void sp_mpi_file_moved(struct sp_mpi_call *c, MPI_File file, uint32_t what, const MPI_Status *status)
{
	if (!c->region)
		return;
	const bool ok = c->result == MPI_SUCCESS;
	const uint64_t bytes = ok ? sp_mpi_received_bytes(status) : SP_RAW_IO_FAILED, number = file_number(c, file);
	const uint64_t payload[2] = {number, bytes};
	if (number)
		sp_mpi_event(c, SP_RAW_X_IO_COMPLETE, payload, 2);
	if (ok)
		count_bytes(c, what, bytes);
}

void sp_mpi_file_syncs(struct sp_mpi_call *c, MPI_File file)
{
	const uint64_t number = c->region ? file_number(c, file) : 0;
	if (!number)
		return;
	const uint64_t payload[4] = {number, SP_RAW_IO_FLUSH | SP_RAW_IO_COLLECTIVE, SP_RAW_IO_FAILED,
	                             SP_RAW_IO_FAILED};
	sp_mpi_event_at(c, SP_RAW_X_IO_BEGIN, payload, 4, c->now);
}

void sp_mpi_file_synced(struct sp_mpi_call *c, MPI_File file)
{
	const uint64_t number = c->region ? file_number(c, file) : 0;
	if (!number)
		return;
	const uint64_t payload[2] = {number, c->result == MPI_SUCCESS ? 0 : SP_RAW_IO_FAILED};
	sp_mpi_event(c, SP_RAW_X_IO_COMPLETE, payload, 2);
}
