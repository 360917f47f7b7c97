// SPDX-License-Identifier: BSD-3-Clause
// node build.mjs PACKAGES DIRECTORY [DEPFILE]: writes into DIRECTORY, with the packages of PACKAGES/node_modules, app.js and app.css of
// the viewer; more.js with the views that are loaded on demand; cell.js and cell.css of the frame below a notebook's cell; cellmore.js and
// cellmore.css of a frame with memory or waits; unpack.js, which starts a frame; and for ninja the list of source files.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// Maximum sizes in bytes, as a page loads its script before it shows anything, and a notebook has a frame for each measured cell.
const LIMITS = { app: 234_000, more: 175_000, cell: 103_000, cellmore: 128_000, unpack: 1_000 };
const here = dirname(fileURLToPath(import.meta.url));
const [packages, out, depfile] = process.argv.slice(2);
if (!out) {
  console.error('usage: node build.mjs PACKAGES DIRECTORY [DEPFILE]');
  process.exit(2);
}
const { build } = createRequire(resolve(packages, 'package.json'))('esbuild');
const options = {
  absWorkingDir: here,
  nodePaths: [resolve(packages, 'node_modules')],
  outdir: resolve(out),
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome100', 'firefox100', 'safari15'],
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"', PAGE: 'true' },
  metafile: true,
  logLevel: 'warning',
};
const banner = { js: readFileSync(join(here, 'NOTICE'), 'utf8').trim() };

/** The files that a script would consist of, and the imports of each. */
async function inputsOf(entry) {
  return (await build({ ...options, entryPoints: [entry], write: false })).metafile.inputs;
}

/** The files of app.js that only more.js needs directly: app.js exports them, so both scripts share one instance of each. */
async function sharedFiles() {
  const [app, more] = await Promise.all([inputsOf('src/main.tsx'), inputsOf('src/more.tsx')]);
  const wanted = Object.keys(more).filter((file) => !(file in app)).flatMap((file) => more[file].imports.map(({ path }) => path));
  return [...new Set(wanted)].filter((file) => file in app && !file.endsWith('.css')).sort();
}

/** Replaces a file of app.js by its exported instance; its style is part of app.css. */
const shared = (files) => ({
  name: 'shared',
  setup({ onLoad, onResolve, resolve: found }) {
    onResolve({ filter: /./ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === shared || kind === 'entry-point') return undefined;
      const at = await found(path, { kind, importer, resolveDir, pluginData: shared });
      const part = files.indexOf(relative(here, at.path));
      // with the suffix .cjs, esbuild does not need a list of exports
      return part < 0 ? at : { path: `${part}.cjs`, namespace: 'shared' };
    });
    onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => ({ contents: `module.exports = globalThis.spartitoParts[${parseInt(path)}]` }));
    onLoad({ filter: /\.css$/ }, () => ({ contents: '', loader: 'js' }));
  },
});

const parts = await sharedFiles();
const exporting = [
  ...parts.map((file, i) => `import * as part${i} from "./${file}";`),
  'import "./src/main.tsx";',
  `globalThis.spartitoParts = [${parts.map((_, i) => `part${i}`)}];`,
];
const made = await Promise.all([
  build({
    ...options,
    outdir: undefined,
    outfile: resolve(out, 'app.js'),
    stdin: { contents: exporting.join('\n'), resolveDir: here, sourcefile: 'parts.js' },
    banner,
  }),
  build({ ...options, entryPoints: { more: 'src/more.tsx' }, plugins: [shared(parts)] }),
  build({ ...options, entryPoints: { cell: 'src/cell.tsx', cellmore: 'src/cellmore.tsx' }, define: { ...options.define, PAGE: 'false' }, banner }),
  build({ ...options, entryPoints: { unpack: 'src/unpack.ts' } }),
]);
const outputs = Object.assign({}, ...made.map(({ metafile }) => metafile.outputs));
const virtual = /^parts\.js$|^shared:/;
const sources = new Set(made.flatMap(({ metafile }) => Object.keys(metafile.inputs)).filter((name) => !virtual.test(name)));
for (const [name, limit] of Object.entries(LIMITS)) {
  const size = outputs[relative(here, resolve(out, `${name}.js`))].bytes;
  if (size > limit) {
    console.error(`${name}.js has ${size} bytes, more than the ${limit} that it may have`);
    process.exit(1);
  }
}
if (depfile) {
  const inputs = [...sources, 'build.mjs', 'package-lock.json', 'NOTICE'].map((name) =>
    join(here, name).replace(/[ #$]/g, (c) => (c === '$' ? '$$' : '\\' + c)),
  );
  writeFileSync(depfile, `app.js app.css more.js cell.js cell.css cellmore.js cellmore.css unpack.js: ${inputs.join(' ')}\n`);
}
