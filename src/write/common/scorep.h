/* SPDX-License-Identifier: BSD-3-Clause */
/* Score-P's names for the contents of an experiment, for the writers of its two formats. */
#ifndef SP_WRITE_COMMON_SCOREP_H
#define SP_WRITE_COMMON_SCOREP_H

#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/writer.h"

/* The value of a process's META key, or an empty string. */
struct sp_str sp_scorep_meta(const struct sp_process *p, const char *key);

/* Whether Spartito replaced Score-P in the measurement of the process. */
bool sp_scorep_stands_in(const struct sp_process *p);

/* Finds the next word of a command line from *at on, and moves *at behind it; text in quotes is one word. Returns false
 * at the end. */
bool sp_scorep_word(struct sp_str command, size_t *at, struct sp_str *word);

/* The program's name: python3 for "/usr/bin/python3 solver.py". */
struct sp_str sp_scorep_program(struct sp_str command);

/* "Linux", or the machine's name that the user configured. */
struct sp_str sp_scorep_machine(const struct sp_model *m, uint32_t first_location, uint32_t end_location);

/* Size of a buffer for the name of a process. */
enum { SP_SCOREP_NAME = SP_PROCESS_LABEL + 32 };
void sp_scorep_rank(uint32_t world, uint32_t rank, char name[SP_SCOREP_NAME]);
/* Writes "MPI Rank 3", in worlds after the first "MPI Rank 3 of world 2"; for processes without MPI their id and,
 * unless Spartito replaced Score-P, their role: "Process 4711, pytest worker gw0". */
void sp_scorep_process(const struct sp_model *m, uint32_t process, char name[SP_SCOREP_NAME]);

/* The name of a thread; if Spartito replaced Score-P, the first one is "Master thread". */
struct sp_str sp_scorep_thread(const struct sp_model *m, uint32_t location);

/* The role of a region. */
enum sp_scorep_role {
	SP_SCOREP_FUNCTION,
	SP_SCOREP_ARTIFICIAL,
	SP_SCOREP_FILE_IO,          /* transfers or commits data */
	SP_SCOREP_FILE_IO_METADATA, /* opens, closes, seeks */
	SP_SCOREP_POINT2POINT,
	SP_SCOREP_BARRIER,
	SP_SCOREP_ONE2ALL,
	SP_SCOREP_ALL2ONE,
	SP_SCOREP_ALL2ALL,
	SP_SCOREP_COLL_OTHER,
	SP_SCOREP_RMA,
	SP_SCOREP_ATOMIC,
	SP_SCOREP_ALLOCATE,
	SP_SCOREP_DEALLOCATE
};
/* The paradigm of a region. */
enum sp_scorep_paradigm { SP_SCOREP_USER, SP_SCOREP_MEASUREMENT, SP_SCOREP_COMPILER, SP_SCOREP_IO, SP_SCOREP_MPI };

struct sp_scorep_region {
	struct sp_str name, file;
	enum sp_scorep_role role;
	enum sp_scorep_paradigm paradigm;
};
/* The description of a region; not of the root, which is the program. */
struct sp_scorep_region sp_scorep_region(const struct sp_region *r);

/* Quantities that Score-P has in every run, or in every run with MPI; name NULL ends the list. */
struct sp_scorep_bytes {
	const char *name, *what;
	bool mpi;
	const char *part; /* name of its part for MPI files; NULL: no such part */
};
extern const struct sp_scorep_bytes sp_scorep_bytes[];
/* Finds a metric of the model by name; SP_NONE: not found. */
uint32_t sp_scorep_metric(const struct sp_model *m, const char *name);

#endif
