/* SPDX-License-Identifier: BSD-3-Clause */
/* How Score-P calls what an experiment holds: the one place in which the writers of its two formats look. */
#ifndef SP_WRITE_COMMON_SCOREP_H
#define SP_WRITE_COMMON_SCOREP_H

#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/writer.h"

/* The value of a process's META key, or an empty string. */
struct sp_str sp_scorep_meta(const struct sp_process *p, const char *key);

/* Was the process measured in the place of Score-P? */
bool sp_scorep_stands_in(const struct sp_process *p);

/* The next word of a command line from *at on, which moves behind it: a word in quotes is one. False: there is none. */
bool sp_scorep_word(struct sp_str command, size_t *at, struct sp_str *word);

/* The program's name: of "/usr/bin/python3 solver.py" python3. */
struct sp_str sp_scorep_program(struct sp_str command);

/* "Linux", or how the user calls the machine. */
struct sp_str sp_scorep_machine(const struct sp_model *m, uint32_t first_location, uint32_t end_location);

/* Room for the name of a process. */
enum { SP_SCOREP_NAME = 64 };
void sp_scorep_rank(uint32_t world, uint32_t rank, char name[SP_SCOREP_NAME]);
/* "MPI Rank 3", in worlds behind the first "MPI Rank 3 of world 2"; processes without MPI by their id. */
void sp_scorep_process(const struct sp_model *m, uint32_t process, char name[SP_SCOREP_NAME]);

/* A thread's own name; the first one of a run in Score-P's place is its master thread. */
struct sp_str sp_scorep_thread(const struct sp_model *m, uint32_t location);

/* What a region is. */
enum sp_scorep_role {
	SP_SCOREP_FUNCTION,
	SP_SCOREP_ARTIFICIAL,
	SP_SCOREP_FILE_IO,          /* moves or commits data */
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
/* Where a region comes from. */
enum sp_scorep_paradigm { SP_SCOREP_USER, SP_SCOREP_MEASUREMENT, SP_SCOREP_COMPILER, SP_SCOREP_IO, SP_SCOREP_MPI };

struct sp_scorep_region {
	struct sp_str name, file;
	enum sp_scorep_role role;
	enum sp_scorep_paradigm paradigm;
};
/* Not of the root, which is the program. */
struct sp_scorep_region sp_scorep_region(const struct sp_region *r);

/* The quantities that Score-P knows in every run, or in every one with MPI; name NULL ends them. */
struct sp_scorep_bytes {
	const char *name, *what;
	bool mpi;
	const char *part; /* what files of MPI have of it is counted under this name; NULL: it has no such part */
};
extern const struct sp_scorep_bytes sp_scorep_bytes[];
/* The model's metric of that name, or SP_NONE. */
uint32_t sp_scorep_metric(const struct sp_model *m, const char *name);

#endif
