/* SPDX-License-Identifier: BSD-3-Clause */
/* anchor.xml of a Cube file: the names of everything that the matrices hold. */
#include "write/cube.h"

/* Text of XML: what may not stand in it, not even escaped, becomes a blank. */
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

static void put_metrics(struct sp_out *out)
{
	sp_out_text(out, "<metrics>\n");
	for (unsigned i = 0; i < SP_CUBE_METRICS; i++) {
		const struct sp_cube_metric *m = &sp_cube_metrics[i];
		sp_out_f(out,
		         "<metric id=\"%u\" type=\"%s\">\n<disp_name>%s</disp_name>\n<uniq_name>%s</uniq_name>\n"
		         "<dtype>%s</dtype>\n<uom>%s</uom>\n<url></url>\n<descr>%s</descr>\n</metric>\n",
		         i, m->kind, m->shown, m->name, m->type, m->unit, m->what);
	}
	sp_out_text(out, "</metrics>\n");
}

struct shown {
	struct sp_str name, mangled, file, group;
	const char *paradigm, *role;
	uint32_t line; /* 0: not known */
};

static void put_region(struct sp_out *out, uint32_t id, const struct shown *r)
{
	sp_out_f(out, "<region id=\"%u\" mod=\"", id);
	put_xml(out, r->file);
	if (r->line)
		sp_out_f(out, "\" begin=\"%u\" end=\"-1\">\n", r->line);
	else
		sp_out_text(out, "\" begin=\"-1\" end=\"-1\">\n");
	put_element(out, "name", r->name);
	put_element(out, "mangled_name", r->mangled);
	sp_out_f(out, "<paradigm>%s", r->paradigm);
	put_xml(out, r->group);
	sp_out_f(out, "</paradigm>\n<role>%s</role>\n<url></url>\n<descr></descr>\n</region>\n", r->role);
}

/* The program's name: of "/usr/bin/python3 solver.py" python3. */
static struct sp_str program_of(struct sp_str command)
{
	char quote = command.n && (command.p[0] == '\'' || command.p[0] == '"') ? command.p[0] : '\0';
	size_t first = quote ? 1 : 0, end = first, begin;

	while (end < command.n && command.p[end] != (quote ? quote : ' '))
		end++;
	for (begin = end; begin > first && command.p[begin - 1] != '/'; begin--)
		;
	return end > begin ? (struct sp_str){command.p + begin, end - begin} : sp_text("python");
}

/* The model's root is the program; behind the model's regions come two of our own. */
static void put_regions(const struct sp_cube *c, struct sp_out *out)
{
	const struct sp_model *m = c->m;
	struct sp_str nothing = sp_text(""), threads = sp_text("THREADS"), lost = sp_text("<not defined>");
	struct sp_str command = nothing; /* a process may have had no room for a single location */
	if (c->k.first < c->k.end)
		command = m->processes[m->locations[c->k.first].process].command;
	struct shown own = {program_of(command), command, nothing, nothing, "measurement", "artificial", 0};

	put_region(out, 0, &own);
	for (uint32_t i = 1; i < m->n_regions; i++) {
		const struct sp_region *r = &m->regions[i];
		bool real = r->kind != SP_REGION_COLLAPSED && r->kind != SP_REGION_ROOT;
		struct shown s = {r->name,
		                  r->name,
		                  r->file,
		                  real ? r->module : nothing,
		                  real ? "user:" : "measurement",
		                  real ? "function" : "artificial",
		                  r->line};
		if (r->kind == SP_REGION_USER)
			s.group = sp_text("user");
		put_region(out, i, &s);
	}
	own = (struct shown){threads, threads, nothing, nothing, "pthread", "artificial", 0};
	put_region(out, (uint32_t)m->n_regions, &own);
	own = (struct shown){lost, lost, nothing, nothing, "measurement", "artificial", 0};
	put_region(out, (uint32_t)m->n_regions + 1, &own);
}

static void put_leave(void *arg, int side, uint32_t path)
{
	/* the program goes on with THREADS */
	if (side != SP_CUBE_PROGRAM || path != 0)
		sp_out_text(arg, "</cnode>\n");
}

static void put_cnodes(const struct sp_cube *c, struct sp_out *out)
{
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (c->cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(c, side, p, put_leave, out)) {
				uint32_t callee = c->m->paths[p].region;
				if (side == SP_CUBE_THREADS && p == 0)
					callee = (uint32_t)c->m->n_regions;
				else if (p && !callee) /* for which no region could be made */
					callee = (uint32_t)c->m->n_regions + 1;
				sp_out_f(out, "<cnode id=\"%u\" calleeId=\"%u\">\n", c->cnode[side][p], callee);
			}
	sp_out_text(out, "</cnode>\n");
}

static void put_process(const struct sp_cube *c, struct sp_out *out, uint32_t process, uint32_t rank)
{
	const struct sp_process *p = &c->m->processes[process];

	sp_out_f(out, "<locationgroup Id=\"%u\">\n<name>Process %d</name>\n<rank>%u</rank>\n<type>process</type>\n",
	         rank, (int)p->pid, rank);
	for (uint32_t l = 0; l < p->locations; l++) {
		uint32_t location = p->first_location + l;
		sp_out_f(out, "<location Id=\"%u\">\n", c->column[location]);
		put_element(out, "name", c->m->locations[location].name);
		sp_out_f(out, "<rank>%u</rank>\n<type>thread</type>\n</location>\n", l);
	}
	sp_out_text(out, "</locationgroup>\n");
}

static bool is_written(const struct sp_cube *c, uint32_t process)
{
	const struct sp_process *p = &c->m->processes[process];

	return p->locations && c->column[p->first_location] != SP_NONE;
}

static void put_system(const struct sp_cube *c, struct sp_out *out)
{
	uint32_t node = 0, rank = 0;

	sp_out_text(out, "<system>\n<systemtreenode Id=\"0\">\n<name>machine Linux</name>\n<class>machine</class>\n"
	                 "<attr key=\"platform\" value=\"Linux\"/>\n");
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
			put_process(c, out, p, rank++);
		}
		if (begun)
			sp_out_text(out, "</systemtreenode>\n");
	}
	sp_out_text(out, "</systemtreenode>\n<topologies></topologies>\n</system>\n");
}

void sp_cube_anchor(const struct sp_cube *c, struct sp_out *out)
{
	sp_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">\n"
	                 "<attr key=\"CubePL Version\" value=\"1.1\"/>\n<attr key=\"Cube Version\" value=\"4.8.2\"/>\n"
	                 "<attr key=\"Cube anchor.xml syntax version\" value=\"4.4\"/>\n"
	                 "<attr key=\"Creator\" value=\"Spartito\"/>\n<attr key=\"CUBE_CT_AGGR\" value=\"SUM\"/>\n"
	                 "<doc><mirrors></mirrors></doc>\n");
	put_metrics(out);
	sp_out_text(out, "<program>\n");
	put_regions(c, out);
	put_cnodes(c, out);
	sp_out_text(out, "</program>\n");
	put_system(c, out);
	sp_out_text(out, "</cube>\n");
}
