// SPDX-License-Identifier: BSD-3-Clause
import { defineConfig } from 'vitest/config';

export default defineConfig({
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  define: { PAGE: 'true' },
  // tests may be slow on a busy machine
  test: { include: ['test/**/*.test.ts', 'test/**/*.test.tsx'], testTimeout: 120_000 },
});
