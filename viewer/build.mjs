// SPDX-License-Identifier: BSD-3-Clause
// node build.mjs DIRECTORY [DEPFILE]: app.js and app.css of the viewer, cell.js and cell.css of the frame below a notebook's cell,
// unpack.js that begins such a frame, and for ninja what they were made from.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

// bytes: what a page may cost before it shows anything; a notebook has a frame for each of its measured cells
const LIMITS = { app: 250_000, cell: 130_000, unpack: 1_000 };
const here = dirname(fileURLToPath(import.meta.url));
const [out, depfile] = process.argv.slice(2);
if (!out) {
  console.error('usage: node build.mjs DIRECTORY [DEPFILE]');
  process.exit(2);
}
const options = {
  absWorkingDir: here,
  outdir: resolve(out),
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome100', 'firefox100', 'safari15'],
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  metafile: true,
  logLevel: 'warning',
};
const made = await Promise.all([
  build({
    ...options,
    entryPoints: { app: 'src/main.tsx', cell: 'src/cell.tsx' },
    banner: { js: readFileSync(join(here, 'NOTICE'), 'utf8').trim() },
  }),
  build({ ...options, entryPoints: { unpack: 'src/unpack.ts' } }),
]);
const outputs = Object.assign({}, ...made.map(({ metafile }) => metafile.outputs));
const sources = Object.assign({}, ...made.map(({ metafile }) => metafile.inputs));
for (const [name, limit] of Object.entries(LIMITS)) {
  const size = outputs[relative(here, resolve(out, `${name}.js`))].bytes;
  if (size > limit) {
    console.error(`${name}.js has ${size} bytes, more than the ${limit} that it may have`);
    process.exit(1);
  }
}
if (depfile) {
  const inputs = [...Object.keys(sources), 'build.mjs', 'package-lock.json', 'NOTICE'].map((name) =>
    join(here, name).replace(/[ #$]/g, (c) => (c === '$' ? '$$' : '\\' + c)),
  );
  writeFileSync(depfile, `app.js app.css cell.js cell.css unpack.js: ${inputs.join(' ')}\n`);
}
