// SPDX-License-Identifier: BSD-3-Clause
// node contract.mjs [--check]: writes src/data/contract.ts, the types of all answers, from src/view/contract.json; --check: only checks
// that it is up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';

const here = dirname(fileURLToPath(import.meta.url));
const schema = JSON.parse(readFileSync(join(here, '../src/view/contract.json'), 'utf8'));
const target = join(here, 'src/data/contract.ts');

/** Columns whose names contain that of a metric cannot be members of an interface; Columns.metric() returns them. */
for (const { properties } of Object.values(schema.properties)) delete properties.columns.patternProperties;

const made = await compile(schema, 'Answers', {
  additionalProperties: false,
  bannerComment: '// SPDX-License-Identifier: BSD-3-Clause\n// Made by `npm run contract` from src/view/contract.json.',
  style: { printWidth: 150 },
});
const text = made.replace(/\/\*\*\n\s*\* (.*)\n\s*\*\//g, '/** $1 */');
if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  console.error('src/data/contract.ts is not what src/view/contract.json says: npm run contract');
  process.exit(1);
}
