// SPDX-License-Identifier: BSD-3-Clause
// node build.mjs DIRECTORY [DEPFILE]: app.js and app.css of the viewer, and for ninja what they were made from.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const LIMIT = 250_000; // bytes of app.js: what a page may cost before it shows anything
const here = dirname(fileURLToPath(import.meta.url));
const [out, depfile] = process.argv.slice(2);
if (!out) {
  console.error('usage: node build.mjs DIRECTORY [DEPFILE]');
  process.exit(2);
}
const script = resolve(out, 'app.js');
const made = await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/main.tsx' },
  outdir: resolve(out),
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome100', 'firefox100', 'safari15'],
  charset: 'utf8',
  banner: { js: readFileSync(join(here, 'NOTICE'), 'utf8').trim() },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  metafile: true,
  logLevel: 'warning',
});
const size = made.metafile.outputs[relative(here, script)].bytes;
if (size > LIMIT) {
  console.error(`app.js has ${size} bytes, more than the ${LIMIT} that it may have`);
  process.exit(1);
}
if (depfile) {
  const inputs = [...Object.keys(made.metafile.inputs), 'build.mjs', 'package-lock.json', 'NOTICE'].map((name) =>
    join(here, name).replace(/[ #$]/g, (c) => (c === '$' ? '$$' : '\\' + c)),
  );
  writeFileSync(depfile, `app.js app.css: ${inputs.join(' ')}\n`);
}
