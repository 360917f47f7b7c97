// SPDX-License-Identifier: BSD-3-Clause
import { defineConfig } from 'vitest/config';

export default defineConfig({
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  // a machine that runs other tests too may be slow
  test: { include: ['test/**/*.test.ts', 'test/**/*.test.tsx'], testTimeout: 120_000 },
});
