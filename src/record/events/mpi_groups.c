/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of MPI functions, by Score-P's names, with auto for its default and off for none. */
#include "record/adapter.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	uint32_t groups;
} names[] = {
    {"auto", SP_MPI_GROUPS_DEFAULT},
    {"off", 0},
    {"all", SP_MPI_GROUPS_ALL},
    {"default", SP_MPI_GROUPS_DEFAULT},
    {"none", 0},
    {"cg", SP_MPI_GROUP_CG},
    {"coll", SP_MPI_GROUP_COLL},
    {"env", SP_MPI_GROUP_ENV},
    {"err", SP_MPI_GROUP_ERR},
    {"ext", SP_MPI_GROUP_EXT},
    {"io", SP_MPI_GROUP_IO},
    {"misc", SP_MPI_GROUP_MISC},
    {"p2p", SP_MPI_GROUP_P2P},
    {"perf", SP_MPI_GROUP_PERF},
    {"rma", SP_MPI_GROUP_RMA},
    {"spawn", SP_MPI_GROUP_SPAWN},
    {"topo", SP_MPI_GROUP_TOPO},
    {"type", SP_MPI_GROUP_TYPE},
    {"xnonblock", SP_MPI_GROUP_XNB},
    {"xreqtest", SP_MPI_GROUP_XREQ},
};

const char *sp_mpi_group_name(size_t i)
{
	return i < sizeof names / sizeof *names ? names[i].name : NULL;
}

int sp_mpi_groups(const char *text, uint32_t *out, char *why, size_t n)
{
	static const char separators[] = " \t\n,:;";
	*out = 0;
	for (const char *word = text + strspn(text, separators); *word;) {
		const bool without = *word == '~';
		word += without;
		size_t i, length = strcspn(word, separators);
		for (i = 0; i < sizeof names / sizeof *names; i++)
			if (strlen(names[i].name) == length && !strncasecmp(word, names[i].name, length))
				break;
		if (i == sizeof names / sizeof *names) {
			snprintf(why, n, "'%.*s' is neither auto nor off nor a group of MPI functions", (int)length,
			         word);
			return -1;
		}
		*out = without ? *out & ~names[i].groups : *out | names[i].groups;
		word += length;
		word += strspn(word, separators);
	}
	return 0;
}
