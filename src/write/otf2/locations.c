/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines, processes and threads, with their groups, communicators and topology. */
#include <inttypes.h>
#include <stdio.h>

#include "model/process.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/otf2/archive.h"

/* Defines a node for the machine, and below it one for each host. Returns the references of the processes' hosts. */
static uint32_t *define_hosts(struct sp_otf2 *a)
{
	struct sp_intern hosts = {.arena = &a->arena};
	uint32_t *of = sp_arena_zalloc(&a->arena, a->m->n_processes, sizeof *of);
	OTF2_StringRef node = sp_otf2_literal(a, "node");
	OTF2_StringRef machine = sp_otf2_string(a, sp_scorep_machine(a->m, a->k.first, a->k.end));
	OTF2_AttributeValue platform = {.stringRef = sp_otf2_literal(a, "Linux")};

	OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, 0, machine, sp_otf2_literal(a, "machine"),
	                                         OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(a->defs, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
	OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(a->defs, 0, sp_otf2_literal(a, "platform"), OTF2_TYPE_STRING,
	                                                 platform);
	for (size_t i = 0; of && i < a->m->n_processes; i++) {
		struct sp_str host = a->m->processes[i].host;
		size_t known = hosts.n;
		uint32_t id = sp_intern(&hosts, host.p, host.n);
		if (id == SP_INTERN_FAILED) {
			of = NULL;
		} else if (id == known) {
			OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, id + 1, sp_otf2_string(a, host), node, 0);
			OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(a->defs, id + 1,
			                                               OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
		}
		if (of)
			of[i] = id + 1;
	}
	sp_intern_free(&hosts);
	if (!of)
		sp_otf2_fail_memory(a);
	return of;
}

static void define_processes(struct sp_otf2 *a)
{
	const uint32_t *host = define_hosts(a);
	OTF2_StringRef tid = sp_otf2_literal(a, "tid"), pid = sp_otf2_literal(a, "pid");
	OTF2_AttributeValue value;
	char text[SP_SCOREP_NAME];

	for (uint32_t i = 0; host && i < a->m->n_processes; i++) {
		const struct sp_process *p = &a->m->processes[i];
		const OTF2_LocationGroupRef ref = sp_otf2_process(a, i);
		if (!sp_otf2_picked(a, i))
			continue;
		sp_scorep_process(a->m, i, text);
		bool parent = p->parent != SP_NONE && sp_otf2_picked(a, p->parent);
		OTF2_GlobalDefWriter_WriteLocationGroup(
		    a->defs, ref, sp_otf2_literal(a, text), OTF2_LOCATION_GROUP_TYPE_PROCESS, host[i],
		    parent ? sp_otf2_process(a, p->parent) : OTF2_UNDEFINED_LOCATION_GROUP);
		value.int64 = p->pid;
		OTF2_GlobalDefWriter_WriteLocationGroupProperty(a->defs, ref, pid, OTF2_TYPE_INT64, value);
		sp_otf2_define_peaks(a, i);
	}
	for (uint32_t l = a->k.first; host && l < a->k.end; l++) {
		const struct sp_location *location = &a->m->locations[l];
		OTF2_LocationRef ref = sp_otf2_location(a->m, l);
		OTF2_GlobalDefWriter_WriteLocation(a->defs, ref, sp_otf2_string(a, sp_scorep_thread(a->m, l)),
		                                   OTF2_LOCATION_TYPE_CPU_THREAD, a->events[l],
		                                   sp_otf2_process(a, location->process));
		value.uint64 = location->tid;
		OTF2_GlobalDefWriter_WriteLocationProperty(a->defs, ref, tid, OTF2_TYPE_UINT64, value);
	}
	if (host) {
		sp_otf2_define_strangers(a, host);
		sp_otf2_define_locks(a);
	}
}

/* Defines the group of locations. Returns their ranks in that group, for use as members. */
static uint64_t *define_locations(struct sp_otf2 *a, const char *name, OTF2_Paradigm paradigm)
{
	uint32_t n = a->k.end - a->k.first;
	uint64_t *members = sp_arena_zalloc(&a->arena, n, sizeof *members);

	if (!members) {
		sp_otf2_fail_memory(a);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		members[i] = sp_otf2_location(a->m, a->k.first + i);
	OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups++, sp_otf2_literal(a, name),
	                                OTF2_GROUP_TYPE_COMM_LOCATIONS, paradigm, OTF2_GROUP_FLAG_NONE, n, members);
	for (uint32_t i = 0; i < n; i++)
		members[i] = i;
	return members;
}

static void define_topology(struct sp_otf2 *a)
{
	const OTF2_CartDimensionRef dimensions[] = {0, 1};
	uint32_t processes = 0, threads = 0;

	for (uint32_t i = 0; i < a->m->n_processes; i++) {
		if (!sp_otf2_picked(a, i) || !a->m->processes[i].locations)
			continue;
		processes++;
		if (a->m->processes[i].locations > threads)
			threads = a->m->processes[i].locations;
	}
	OTF2_GlobalDefWriter_WriteCartDimension(a->defs, 0, sp_otf2_literal(a, "Process"), processes,
	                                        OTF2_CART_PERIODIC_FALSE);
	OTF2_GlobalDefWriter_WriteCartDimension(a->defs, 1, sp_otf2_literal(a, "Thread"), threads,
	                                        OTF2_CART_PERIODIC_FALSE);
	a->n_dimensions = 2;
	OTF2_GlobalDefWriter_WriteCartTopology(a->defs, 0, sp_otf2_literal(a, "Process x Thread"), COMM_ALL, 2,
	                                       dimensions);
	for (uint32_t l = a->k.first, process = 0; l < a->k.end; l++) {
		uint32_t in = l - a->m->processes[a->m->locations[l].process].first_location;
		if (in == 0 && l > a->k.first)
			process++;
		OTF2_GlobalDefWriter_WriteCartCoordinate(a->defs, 0, l - a->k.first, 2, (uint32_t[]){process, in});
	}
}

/* Defines the group of all threads, and a team of threads for each process. */
static void define_teams(struct sp_otf2 *a)
{
	uint64_t *members = define_locations(a, "PROCESSXTHREADS_GROUP_LOCATIONS", OTF2_PARADIGM_MEASUREMENT_SYSTEM);
	char name[64];

	if (!members)
		return;
	OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups, sp_otf2_literal(a, "PROCESSXTHREADS_GROUP"),
	                                OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MEASUREMENT_SYSTEM,
	                                OTF2_GROUP_FLAG_NONE, a->k.end - a->k.first, members);
	OTF2_GlobalDefWriter_WriteComm(a->defs, COMM_ALL, sp_otf2_literal(a, "Process x Threads CPU Locations"),
	                               a->n_groups++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
	define_topology(a);
	OTF2_GlobalDefWriter_WriteParadigm(a->defs, OTF2_PARADIGM_PTHREAD, sp_otf2_literal(a, "Pthread"),
	                                   OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT);
	if (!define_locations(a, "PTHREAD", OTF2_PARADIGM_PTHREAD))
		return;
	for (uint32_t i = 0; i < a->m->n_processes; i++) {
		const struct sp_process *p = &a->m->processes[i];
		if (a->teams[i] == SP_NONE)
			continue;
		/* names of groups must be unique: viewers list them */
		if (a->m->n_processes == 1)
			snprintf(name, sizeof name, "SCOREP_GROUP_PTHREAD");
		else
			snprintf(name, sizeof name, "SCOREP_GROUP_PTHREAD %" PRId32, p->pid);
		OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups, sp_otf2_literal(a, name),
		                                OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_PTHREAD, OTF2_GROUP_FLAG_NONE,
		                                p->locations, members + p->first_location - a->k.first);
		OTF2_GlobalDefWriter_WriteComm(a->defs, a->teams[i], sp_otf2_literal(a, ""), a->n_groups++,
		                               OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
	}
}

static void define_attributes(struct sp_otf2 *a)
{
	static const struct {
		enum attribute ref;
		OTF2_Type type;
		const char *name, *what;
	} all[] = {
	    {ATTRIBUTE_OFFSET, OTF2_TYPE_UINT64, "Offset", "Absolute read/write offset within a file."},
	    {ATTRIBUTE_PROCESS, OTF2_TYPE_UINT64, "ProcessId", "Process identifier"},
	    {ATTRIBUTE_THREAD, OTF2_TYPE_UINT64, "ThreadId", "Thread identifier"},
	    {ATTRIBUTE_TASK, OTF2_TYPE_STRING, "Task", "Name of a task"},
	    {ATTRIBUTE_COROUTINE, OTF2_TYPE_REGION, "Coroutine", "What the task runs"},
	    {ATTRIBUTE_AWAITS_IN, OTF2_TYPE_REGION, "AwaitsIn",
	     "Innermost coroutine of a task that waits from here on"},
	    {ATTRIBUTE_AWAITS, OTF2_TYPE_STRING, "Awaits", "Type of what it awaits"},
	    {ATTRIBUTE_ENDED, OTF2_TYPE_STRING, "Ended", "How the task ended"},
	    {ATTRIBUTE_STATE, OTF2_TYPE_STRING, "State", "What the thread did when it was sampled"},
	    {ATTRIBUTE_LOCK, OTF2_TYPE_STRING, "Lock", "What is waited for"},
	    {ATTRIBUTE_HOLDER, OTF2_TYPE_LOCATION, "Holder", "The thread that held it when the wait began"},
	    {ATTRIBUTE_HELD_IN, OTF2_TYPE_REGION, "HeldIn", "Function in which that thread acquired it"},
	    {ATTRIBUTE_FILE, OTF2_TYPE_STRING, "WaitFile", "File of the program's line that waits"},
	    {ATTRIBUTE_LINE, OTF2_TYPE_UINT32, "WaitLine", "The line"},
	    {ATTRIBUTE_WAIT_ENDED, OTF2_TYPE_STRING, "WaitEnded", "How a wait ended that did not get what it was for"},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		/* references have no gaps */
		if ((all[i].ref >= ATTRIBUTE_TASK && !a->m->n_tasks && !a->samples && !a->m->n_lock_waits) ||
		    (all[i].ref >= ATTRIBUTE_LOCK && !a->m->n_lock_waits))
			break;
		OTF2_GlobalDefWriter_WriteAttribute(a->defs, all[i].ref, sp_otf2_literal(a, all[i].name),
		                                    sp_otf2_literal(a, all[i].what), all[i].type);
	}
}

void sp_otf2_define_locations(struct sp_otf2 *a)
{
	define_processes(a);
	if (!a->failed)
		sp_otf2_define_ranks(a);
	if (a->k.end > a->k.first && !a->failed)
		define_teams(a);
	if (!a->failed)
		sp_otf2_define_comms(a);
	define_attributes(a);
}
