/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "view/select.h"

enum { MAX_VALUES = 6 }; /* maximum number of values of one call, in which a parameter may be set repeatedly */

/* Writes name=value in the order of setting; "…" replaces the first ones if there are too many. */
static int put_label(const struct sp_model *m, uint32_t value, struct sp_columns *out)
{
	uint32_t values[MAX_VALUES];
	size_t n = 0, bytes = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return -1;
	for (; value != SP_NONE && n < MAX_VALUES; value = m->parameter_values[value].before)
		values[n++] = value;
	if (value != SP_NONE)
		fputs("…, ", f);
	while (n-- > 0) {
		const struct sp_parameter_value *v = &m->parameter_values[values[n]];

		fwrite(m->parameters[v->parameter].p, 1, m->parameters[v->parameter].n, f);
		fputc('=', f);
		fwrite(v->text.p, 1, v->text.n, f);
		if (n)
			fputs(", ", f);
	}
	if (fclose(f)) {
		free(text);
		return -1;
	}
	sp_meta_text(out, NULL, (struct sp_str){text, bytes});
	free(text);
	return 0;
}

int sp_view_labels(const struct sp_selected *s, uint32_t *values, size_t n, struct sp_columns *out, struct sp_err *e)
{
	/* index + 1; 0: not written yet */
	uint32_t *label = calloc(s->m->n_parameter_values + 1, sizeof(*label)), labels = 0;
	size_t i;
	int rc = label ? 0 : -1;

	sp_meta_open(out, "labels", '[');
	for (i = 0; rc == 0 && i < n; i++) {
		const uint32_t value = values[i];

		if (value == SP_NONE)
			continue;
		if (!label[value]) {
			label[value] = ++labels;
			rc = put_label(s->m, value, out);
		}
		values[i] = label[value] - 1;
	}
	sp_meta_close(out, ']');
	free(label);
	return rc ? sp_fail(e, ENOMEM, "not enough memory") : 0;
}
