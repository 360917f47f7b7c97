/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/out.h"
#include "write/common/scorep.h"

static bool equal(struct sp_str s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

struct sp_str sp_scorep_meta(const struct sp_process *p, const char *key)
{
	for (size_t i = 0; i < p->metas; i++)
		if (equal(p->meta[i].key, key))
			return p->meta[i].value;
	return (struct sp_str){"", 0};
}

/* The settings are lines of name=value. */
bool sp_scorep_stands_in(const struct sp_process *p)
{
	static const char wanted[] = "scorep=1";
	const size_t n = sizeof wanted - 1;
	struct sp_str s = sp_scorep_meta(p, "settings");

	for (size_t i = 0; i + n <= s.n; i++)
		if ((i == 0 || s.p[i - 1] == '\n') && memcmp(s.p + i, wanted, n) == 0 &&
		    (i + n == s.n || s.p[i + n] == '\n'))
			return true;
	return false;
}

bool sp_scorep_word(struct sp_str command, size_t *at, struct sp_str *word)
{
	size_t i = *at;

	while (i < command.n && command.p[i] == ' ')
		i++;
	if (i == command.n)
		return false;
	char quote = command.p[i] == '\'' || command.p[i] == '"' ? command.p[i++] : ' ';
	const char *end = memchr(command.p + i, quote, command.n - i);
	*word = (struct sp_str){command.p + i, end ? (size_t)(end - command.p) - i : command.n - i};
	*at = i + word->n + (end != NULL);
	return true;
}

struct sp_str sp_scorep_program(struct sp_str command)
{
	struct sp_str word = {"", 0};
	size_t at = 0;

	sp_scorep_word(command, &at, &word);
	for (size_t begin = word.n; begin-- > 0;)
		if (word.p[begin] == '/') {
			word = (struct sp_str){word.p + begin + 1, word.n - begin - 1};
			break;
		}
	return word.n ? word : sp_text("python");
}

struct sp_str sp_scorep_machine(const struct sp_model *m, uint32_t first_location, uint32_t end_location)
{
	struct sp_str machine = {"", 0};

	if (first_location < end_location)
		machine = sp_scorep_meta(&m->processes[m->locations[first_location].process], "machine");
	return machine.n ? machine : sp_text("Linux");
}

void sp_scorep_rank(uint32_t world, uint32_t rank, char name[SP_SCOREP_NAME])
{
	if (world)
		snprintf(name, SP_SCOREP_NAME, "MPI Rank %" PRIu32 " of world %" PRIu32, rank, world + 1);
	else
		snprintf(name, SP_SCOREP_NAME, "MPI Rank %" PRIu32, rank);
}

void sp_scorep_process(const struct sp_model *m, uint32_t process, char name[SP_SCOREP_NAME])
{
	const struct sp_process *p = &m->processes[process];
	char label[SP_PROCESS_LABEL];

	if (p->rank != SP_NONE)
		sp_scorep_rank(p->world_index, p->rank, name);
	else if (m->n_processes == 1 && sp_scorep_stands_in(p))
		snprintf(name, SP_SCOREP_NAME, "Process");
	else if (!p->role.n || sp_scorep_stands_in(p))
		snprintf(name, SP_SCOREP_NAME, "Process %" PRId32, p->pid);
	else
		snprintf(name, SP_SCOREP_NAME, "Process %" PRId32 ", %s", p->pid, sp_process_label(p, label));
}

struct sp_str sp_scorep_thread(const struct sp_model *m, uint32_t location)
{
	const struct sp_location *l = &m->locations[location];
	const struct sp_process *p = &m->processes[l->process];

	return location == p->first_location && sp_scorep_stands_in(p) ? sp_text("Master thread") : l->name;
}

/* Functions that are data operations in Score-P's wrapper of POSIX and ISO C files; 64-bit and stdio variants begin or
 * end with these names. */
static bool moves_data(struct sp_str name)
{
	static const char *const data[] = {"read",  "write",  "pread",    "pwrite",  "fread",    "fwrite",
	                                   "fsync", "fdata",  "fflush",   "sync",    "fgetc",    "fgets",
	                                   "fputc", "fputs",  "getc",     "fprintf", "putc",     "puts",
	                                   "lockf", "fscanf", "sendfile", "copy_",   "vfprintf", "aio_"};

	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		if (name.n >= strlen(data[i]) && memcmp(name.p, data[i], strlen(data[i])) == 0)
			return true;
	return false;
}

static bool begins(struct sp_str name, const char *with)
{
	return name.n >= strlen(with) && memcmp(name.p, with, strlen(with)) == 0;
}

static enum sp_scorep_role role_of_mpi(const struct sp_region *r)
{
	static const enum sp_scorep_role roles[SP_MPI_ROLES] = {
	    [SP_MPI_OTHER] = SP_SCOREP_FUNCTION,        [SP_MPI_POINT2POINT] = SP_SCOREP_POINT2POINT,
	    [SP_MPI_BARRIER] = SP_SCOREP_BARRIER,       [SP_MPI_ONE2ALL] = SP_SCOREP_ONE2ALL,
	    [SP_MPI_ALL2ONE] = SP_SCOREP_ALL2ONE,       [SP_MPI_ALL2ALL] = SP_SCOREP_ALL2ALL,
	    [SP_MPI_COLL_OTHER] = SP_SCOREP_COLL_OTHER, [SP_MPI_RMA] = SP_SCOREP_RMA,
	    [SP_MPI_FILE_IO] = SP_SCOREP_FUNCTION,      [SP_MPI_ATOMIC] = SP_SCOREP_ATOMIC,
	    [SP_MPI_ALLOCATE] = SP_SCOREP_ALLOCATE};
	static const char *const data[] = {"MPI_File_read", "MPI_File_iread", "MPI_File_write", "MPI_File_iwrite",
	                                   "MPI_File_sync"};
	/* Score-P treats all others (sizes, views, positions) as plain functions. */
	static const char *const metadata[] = {"MPI_File_open", "MPI_File_close", "MPI_File_delete", "MPI_File_seek"};

	for (size_t i = 0; r->role == SP_MPI_FILE_IO && i < sizeof metadata / sizeof *metadata; i++)
		if (begins(r->qualname, metadata[i]))
			return SP_SCOREP_FILE_IO_METADATA;
	for (size_t i = 0; r->role == SP_MPI_FILE_IO && i < sizeof data / sizeof *data; i++)
		if (begins(r->qualname, data[i]))
			return SP_SCOREP_FILE_IO;
	return begins(r->qualname, "MPI_Free_mem") ? SP_SCOREP_DEALLOCATE : roles[r->role];
}

struct sp_scorep_region sp_scorep_region(const struct sp_region *r)
{
	struct sp_scorep_region s = {r->name, r->file, SP_SCOREP_FUNCTION, SP_SCOREP_USER};

	switch (r->kind) {
	case SP_REGION_COLLAPSED:
		s = (struct sp_scorep_region){sp_text("COLLAPSED"), r->file, SP_SCOREP_ARTIFICIAL,
		                              SP_SCOREP_MEASUREMENT};
		break;
	case SP_REGION_OFF:
		s = (struct sp_scorep_region){sp_text("MEASUREMENT OFF"), r->file, SP_SCOREP_ARTIFICIAL,
		                              SP_SCOREP_USER};
		break;
	case SP_REGION_NATIVE:
		s.paradigm = SP_SCOREP_COMPILER;
		if (r->qualname.n)
			s.name = r->qualname;
		break;
	case SP_REGION_IO:
		s = (struct sp_scorep_region){r->qualname, sp_text("POSIX I/O"), SP_SCOREP_FILE_IO_METADATA,
		                              SP_SCOREP_IO};
		if (moves_data(r->qualname))
			s.role = SP_SCOREP_FILE_IO;
		break;
	case SP_REGION_MPI:
		s = (struct sp_scorep_region){r->qualname, sp_text("MPI"), role_of_mpi(r), SP_SCOREP_MPI};
		break;
	case SP_REGION_ROOT:
		s.role = SP_SCOREP_ARTIFICIAL;
		s.paradigm = SP_SCOREP_MEASUREMENT;
	}
	return s;
}

const struct sp_scorep_bytes sp_scorep_bytes[] = {
    {"bytes_sent", "Bytes sent", true, NULL},
    {"bytes_received", "Bytes received", true, NULL},
    {"bytes_put", "Bytes sent in one-sided communication", false, NULL},
    {"bytes_get", "Bytes received in one-sided communication", false, NULL},
    {"io_bytes_read", "I/O bytes read", false, "mpi_io_bytes_read"},
    {"io_bytes_written", "I/O bytes written", false, "mpi_io_bytes_written"},
    {0},
};

uint32_t sp_scorep_metric(const struct sp_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_metrics; i++)
		if (equal(m->metrics[i].name, name))
			return i;
	return SP_NONE;
}
