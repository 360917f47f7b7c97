// SPDX-License-Identifier: BSD-3-Clause
// What was recorded in the lines of a file.

import type { BaseLines, LineFunction } from "./contract";

export type { BaseLines, LineFunction };

export interface HeatLine {
  readonly line: number; // from 1
  readonly text: string | undefined;
  readonly hits: number;
  readonly excl: number;
  readonly callees: number;
  /** Of the time of its function. */
  readonly share: number;
  /** Index in the functions; -1: nothing was recorded there. */
  readonly of: number;
  /** Inclusive time in the other run; undefined: its lines are not known. */
  readonly before: number | undefined;
}

/** Time that a function's lines took, with what they called. */
export const timeOf = (f: { excl: number; callees: number }): number => f.excl + f.callees;

/** All lines of the text; without it those that ran. Where a line belongs to several functions (a comprehension, a lambda) it has
 * the numbers of the chosen one, or else of the one around the others, which has their time in its callees. */
export function heatLines(
  functions: readonly LineFunction[],
  file: string,
  text: string | undefined,
  chosen?: LineFunction | undefined,
): HeatLine[] {
  const found = new Map<number, HeatLine>();
  functions.forEach((f, of) => {
    if (f.file !== file) return;
    const was = f.base && new Map(f.base.lines.map(([here, , , excl, callees]) => [here, excl + callees]));
    const put = (line: number, hits: number, excl: number, callees: number): void => {
      const before = functions[found.get(line)?.of ?? -1];
      if (before && (before === chosen || (f !== chosen && before.line <= f.line && timeOf(before) >= timeOf(f)))) return;
      found.set(line, { line, text: undefined, hits, excl, callees, share: timeOf(f) > 0 ? (excl + callees) / timeOf(f) : 0, of, before: was && (was.get(line) ?? 0) });
    };
    for (const [line, hits, excl, callees] of f.lines) put(line, hits, excl, callees);
    const ran = new Set(f.lines.map(([line]) => line));
    for (const line of was?.keys() ?? []) if (!ran.has(line)) put(line, 0, 0, 0);
  });
  const empty = (line: number): HeatLine => ({ line, text: undefined, hits: 0, excl: 0, callees: 0, share: 0, of: -1, before: undefined });
  if (text === undefined) return [...found.values()].sort((a, b) => a.line - b.line);
  const texts = text.split(/\r\n|\r|\n/);
  if (texts[texts.length - 1] === "") texts.pop();
  const last = Math.max(texts.length, ...found.keys());
  return Array.from({ length: last }, (_, i) => ({ ...(found.get(i + 1) ?? empty(i + 1)), text: texts[i] }));
}

/** The last line of a function by its indentation: of the block that begins at its first line, decorators before it. */
export function endOfBlock(lines: readonly HeatLine[], first: number): number {
  const indent = (at: number): number => /^[ \t]*/.exec(lines[at - 1]?.text ?? "")![0].length;
  let head = first;
  while (head < lines.length && !/^\s*(async\s+def|def|class)\b/.test(lines[head - 1]?.text ?? "")) {
    if (head - first > 50) return first;
    head++;
  }
  // a head of several lines ends where something stands deeper again
  let end = head;
  for (let line = head + 1; line <= lines.length; line++) {
    const text = lines[line - 1]?.text ?? "";
    if (!text.trim()) continue;
    if (indent(line) <= indent(head) && !/^\s*[)\]]/.test(text)) break;
    end = line;
  }
  return end;
}
