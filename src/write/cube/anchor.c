/* SPDX-License-Identifier: BSD-3-Clause */
/* anchor.xml of a Cube file: the names of everything in the matrices. */
#include "model/comm.h"
#include "model/event.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/cube/cube.h"

/* Writes text of XML; characters that XML does not allow even escaped become blanks. */
static void put_xml(struct sp_out *out, struct sp_str s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	for (size_t i = 0, n; i < s.n; i += n) {
		n = sp_utf8_sequence(p + i, s.n - i);
		if (n == 0) {
			sp_out_text(out, "\xef\xbf\xbd");
			n = 1;
		} else if (n > 1) {
			sp_out_bytes(out, p + i, n);
		} else if (p[i] == '<') {
			sp_out_text(out, "&lt;");
		} else if (p[i] == '>') {
			sp_out_text(out, "&gt;");
		} else if (p[i] == '&') {
			sp_out_text(out, "&amp;");
		} else if (p[i] == '"') {
			sp_out_text(out, "&quot;");
		} else {
			sp_out_byte(out, p[i] < ' ' ? ' ' : (char)p[i]);
		}
	}
}

static void put_element(struct sp_out *out, const char *name, struct sp_str text)
{
	sp_out_f(out, "<%s>", name);
	put_xml(out, text);
	sp_out_f(out, "</%s>\n", name);
}

static void put_metric(const struct sp_cube *c, struct sp_out *out, unsigned i)
{
	const struct sp_cube_metric *m = &c->metrics[i];

	sp_out_f(out, "<metric id=\"%u\" type=\"%s\">\n", i, m->inclusive ? "INCLUSIVE" : "EXCLUSIVE");
	put_element(out, "disp_name", m->shown);
	put_element(out, "uniq_name", m->name);
	sp_out_f(out, "<dtype>%s</dtype>\n<uom>", m->type);
	if (m->exponent)
		sp_out_f(out, "10^%d ", m->exponent);
	put_xml(out, m->unit);
	sp_out_text(out, "</uom>\n<url></url>\n");
	put_element(out, "descr", m->what);
	for (unsigned k = i + 1; k < c->n_metrics; k++)
		if (c->metrics[k].parent == (int)i)
			put_metric(c, out, k);
	sp_out_text(out, "</metric>\n");
}

static void put_metrics(const struct sp_cube *c, struct sp_out *out)
{
	sp_out_text(out, "<metrics>\n");
	for (unsigned i = 0; i < c->n_metrics; i++)
		if (c->metrics[i].parent < 0)
			put_metric(c, out, i);
	sp_out_text(out, "</metrics>\n");
}

struct shown {
	struct sp_str name, mangled, file;
	const char *paradigm;
	struct sp_str group; /* follows the paradigm; may be empty */
	const char *role;
	uint32_t line; /* 0: unknown */
};

static void put_region(struct sp_out *out, uint32_t id, const struct shown *r, size_t arguments)
{
	sp_out_f(out, "<region id=\"%u\" mod=\"", id);
	put_xml(out, r->file);
	if (r->line)
		sp_out_f(out, "\" begin=\"%u\" end=\"-1\">\n", r->line);
	else
		sp_out_text(out, "\" begin=\"-1\" end=\"-1\">\n");
	put_element(out, "name", r->name);
	put_element(out, "mangled_name", r->mangled);
	sp_out_f(out, "<paradigm>%s%s", r->paradigm, r->group.n ? ":" : "");
	put_xml(out, r->group);
	sp_out_f(out, "</paradigm>\n<role>%s</role>\n<url></url>\n<descr></descr>\n", r->role);
	if (arguments)
		sp_out_f(out, "<attr key=\"Score-P::ProgramArguments::numberOfArguments\" value=\"%zu\"/>\n",
		         arguments - 1);
	sp_out_text(out, "</region>\n");
}

static void put_model_region(struct sp_out *out, uint32_t id, const struct sp_region *r)
{
	static const char *const roles[] = {[SP_SCOREP_FUNCTION] = "function",
	                                    [SP_SCOREP_ARTIFICIAL] = "artificial",
	                                    [SP_SCOREP_FILE_IO] = "file_io",
	                                    [SP_SCOREP_FILE_IO_METADATA] = "file_io metadata",
	                                    [SP_SCOREP_POINT2POINT] = "point2point",
	                                    [SP_SCOREP_BARRIER] = "barrier",
	                                    [SP_SCOREP_ONE2ALL] = "one2all",
	                                    [SP_SCOREP_ALL2ONE] = "all2one",
	                                    [SP_SCOREP_ALL2ALL] = "all2all",
	                                    [SP_SCOREP_COLL_OTHER] = "other collective",
	                                    [SP_SCOREP_RMA] = "rma",
	                                    [SP_SCOREP_ATOMIC] = "atomic",
	                                    [SP_SCOREP_ALLOCATE] = "allocate",
	                                    [SP_SCOREP_DEALLOCATE] = "deallocate"};
	static const char *const paradigms[] = {[SP_SCOREP_USER] = "user",
	                                        [SP_SCOREP_MEASUREMENT] = "measurement",
	                                        [SP_SCOREP_COMPILER] = "compiler",
	                                        [SP_SCOREP_IO] = "io",
	                                        [SP_SCOREP_MPI] = "mpi"};
	struct sp_scorep_region s = sp_scorep_region(r);
	bool grouped = s.paradigm == SP_SCOREP_USER && s.role == SP_SCOREP_FUNCTION;
	struct shown shown = {s.name,        s.name, s.file, paradigms[s.paradigm], grouped ? r->module : sp_text(""),
	                      roles[s.role], r->line};

	put_region(out, id, &shown, 0);
}

/* The model's root is the program; after the model's regions come two of this writer. */
static void put_regions(const struct sp_cube *c, struct sp_out *out)
{
	const struct sp_model *m = c->m;
	struct sp_str nothing = sp_text(""), threads = sp_text("THREADS"), lost = sp_text("<not defined>");
	struct sp_str command = nothing, word; /* a process may have had no memory for a single location */
	size_t at = 0, words = 0;

	if (c->k.first < c->k.end)
		command = m->processes[m->locations[c->k.first].process].command;
	while (sp_scorep_word(command, &at, &word))
		words++;
	struct shown own = {
	    sp_scorep_program(command), command, nothing, "measurement", nothing, "artificial", 0,
	};
	put_region(out, 0, &own, words);
	for (uint32_t i = 1; i < m->n_regions; i++)
		put_model_region(out, i, &m->regions[i]);
	own = (struct shown){threads, threads, nothing, "pthread", nothing, "artificial", 0};
	put_region(out, (uint32_t)m->n_regions, &own, 0);
	own = (struct shown){lost, lost, nothing, "measurement", nothing, "artificial", 0};
	put_region(out, (uint32_t)m->n_regions + 1, &own, 0);
}

/* Writes the parameter values of a path, in the order of setting. */
static void put_parameters(const struct sp_cube *c, struct sp_out *out, uint32_t path)
{
	const struct sp_model *m = c->m;
	size_t n = 0;

	for (uint32_t i = m->paths[path].parameter; i != SP_NONE; i = m->parameter_values[i].before)
		c->chain[n++] = i;
	while (n--) {
		const struct sp_parameter_value *v = &m->parameter_values[c->chain[n]];
		sp_out_f(out, "<parameter partype=\"%s\" parkey=\"",
		         v->kind == SP_EVENT_PARAMETER_STRING ? "string" : "numeric");
		put_xml(out, m->parameters[v->parameter]);
		sp_out_text(out, "\" parvalue=\"");
		put_xml(out, v->text);
		sp_out_text(out, "\" />\n");
	}
}

static void put_leave(void *arg, int side, uint32_t path)
{
	/* THREADS follows within the program's cnode */
	if (side != SP_CUBE_PROGRAM || path != 0)
		sp_out_text(arg, "</cnode>\n");
}

static void put_cnodes(const struct sp_cube *c, struct sp_out *out)
{
	const struct sp_cube_tree *t = &c->tree;

	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (t->cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(t, side, p, put_leave, out)) {
				uint32_t callee = c->m->paths[p].region;
				if (side == SP_CUBE_THREADS && p == 0)
					callee = (uint32_t)c->m->n_regions;
				else if (p && !callee) /* the region could not be defined */
					callee = (uint32_t)c->m->n_regions + 1;
				sp_out_f(out, "<cnode id=\"%u\" calleeId=\"%u\">\n", t->cnode[side][p], callee);
				put_parameters(c, out, p);
			}
	sp_out_text(out, "</cnode>\n");
}

/* The rank of a process: for the first MPI_COMM_WORLD its MPI rank; other processes get numbers after these. */
static uint32_t rank_of(const struct sp_cube *c, uint32_t process, uint32_t *next)
{
	const struct sp_process *p = &c->m->processes[process];

	return p->rank != SP_NONE && p->world_index == 0 ? p->rank : (*next)++;
}

static void put_process(const struct sp_cube *c, struct sp_out *out, uint32_t process, uint32_t id, uint32_t rank)
{
	const struct sp_process *p = &c->m->processes[process];

	char name[SP_SCOREP_NAME];
	sp_scorep_process(c->m, process, name);
	sp_out_f(out, "<locationgroup Id=\"%u\">\n", id);
	put_element(out, "name", sp_text(name));
	sp_out_f(out, "<rank>%u</rank>\n<type>process</type>\n", rank);
	for (uint32_t l = 0; l < p->locations; l++) {
		uint32_t location = p->first_location + l;
		sp_out_f(out, "<location Id=\"%u\">\n", c->column[location]);
		put_element(out, "name", sp_scorep_thread(c->m, location));
		sp_out_f(out, "<rank>%u</rank>\n<type>thread</type>\n</location>\n", l);
	}
	sp_out_text(out, "</locationgroup>\n");
}

static bool is_written(const struct sp_cube *c, uint32_t process)
{
	const struct sp_process *p = &c->m->processes[process];

	return p->locations && c->column[p->first_location] != SP_NONE;
}

/* Writes a topology of threads: process by number within the process. */
static void put_topology(const struct sp_cube *c, struct sp_out *out)
{
	uint32_t processes = 0, threads = 0, rank = 0;

	for (uint32_t p = 0; p < c->m->n_processes; p++) {
		if (!is_written(c, p))
			continue;
		processes++;
		if (c->m->processes[p].locations > threads)
			threads = c->m->processes[p].locations;
	}
	if (processes)
		sp_out_f(out,
		         "<cart name=\"Process x Thread\" ndims=\"2\">\n"
		         "<dim name=\"Process\" size=\"%u\" periodic=\"false\"/>\n"
		         "<dim name=\"Thread\" size=\"%u\" periodic=\"false\"/>\n",
		         processes, threads);
	for (uint32_t h = 0; h < c->n_hosts; h++)
		for (uint32_t p = 0; p < c->m->n_processes; p++) {
			if (c->host[p] != h || !is_written(c, p))
				continue;
			for (uint32_t l = 0; l < c->m->processes[p].locations; l++)
				sp_out_f(out, "<coord locId=\"%u\">%u %u</coord>\n",
				         c->column[c->m->processes[p].first_location + l], rank, l);
			rank++;
		}
	if (processes)
		sp_out_text(out, "</cart>\n");
}

/* Writes a cartesian MPI topology: the coordinates of each rank, for its first thread. */
static void put_mpi_topology(const struct sp_cube *c, struct sp_out *out, const struct sp_comm *comm)
{
	struct sp_str name = comm->cart_name.n ? comm->cart_name : comm->name;

	sp_out_text(out, "<cart name=\"");
	put_xml(out, name.n ? name : sp_text("MPI cartesian topology"));
	sp_out_f(out, "\" ndims=\"%u\">\n", comm->cart_dims);
	for (uint32_t d = 0; d < comm->cart_dims; d++)
		sp_out_f(out, "<dim name=\"dimension %u\" size=\"%u\" periodic=\"%s\"/>\n", d, comm->cart[2 * d],
		         comm->cart[2 * d + 1] ? "true" : "false");
	for (uint32_t i = 0; i < comm->group.n; i++) {
		const uint32_t process = comm->group.processes[i];
		const uint32_t *at = comm->coordinates + (size_t)i * comm->cart_dims;
		if (process == SP_NONE || *at == SP_NONE || !is_written(c, process))
			continue;
		sp_out_f(out, "<coord locId=\"%u\">", c->column[c->m->processes[process].first_location]);
		for (uint32_t d = 0; d < comm->cart_dims; d++)
			sp_out_f(out, d ? " %u" : "%u", at[d]);
		sp_out_text(out, "</coord>\n");
	}
	sp_out_text(out, "</cart>\n");
}

static void put_system(const struct sp_cube *c, struct sp_out *out)
{
	uint32_t node = 0, id = 0, next = c->m->n_worlds ? c->m->worlds[0].ranks.n : 0;

	sp_out_text(out, "<system>\n<systemtreenode Id=\"0\">\n<name>machine ");
	put_xml(out, sp_scorep_machine(c->m, c->k.first, c->k.end));
	sp_out_text(out, "</name>\n<class>machine</class>\n<attr key=\"platform\" value=\"Linux\"/>\n");
	for (uint32_t h = 0; h < c->n_hosts; h++) {
		bool begun = false;
		for (uint32_t p = 0; p < c->m->n_processes; p++) {
			if (c->host[p] != h || !is_written(c, p))
				continue;
			if (!begun) {
				sp_out_f(out, "<systemtreenode Id=\"%u\">\n<name>node ", ++node);
				put_xml(out, c->m->processes[p].host);
				sp_out_text(out, "</name>\n<class>node</class>\n");
			}
			begun = true;
			put_process(c, out, p, id++, rank_of(c, p, &next));
		}
		if (begun)
			sp_out_text(out, "</systemtreenode>\n");
	}
	sp_out_text(out, "</systemtreenode>\n");
	sp_out_text(out, "<topologies>\n");
	put_topology(c, out);
	for (uint32_t i = 0; i < c->m->n_comms; i++)
		if (c->m->comms[i].cart_dims)
			put_mpi_topology(c, out, &c->m->comms[i]);
	sp_out_text(out, "</topologies>\n");
	sp_out_text(out, "</system>\n");
}

void sp_cube_anchor(const struct sp_cube *c, struct sp_out *out)
{
	sp_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">\n"
	                 "<attr key=\"CubePL Version\" value=\"1.1\"/>\n<attr key=\"Cube Version\" value=\"4.8.2\"/>\n"
	                 "<attr key=\"Cube anchor.xml syntax version\" value=\"4.4\"/>\n"
	                 "<attr key=\"Creator\" value=\"Spartito\"/>\n<attr key=\"CUBE_CT_AGGR\" value=\"SUM\"/>\n"
	                 "<doc><mirrors></mirrors></doc>\n");
	put_metrics(c, out);
	sp_out_text(out, "<program>\n");
	put_regions(c, out);
	put_cnodes(c, out);
	sp_out_text(out, "</program>\n");
	put_system(c, out);
	sp_out_text(out, "</cube>\n");
}
