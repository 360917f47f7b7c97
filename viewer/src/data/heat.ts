// SPDX-License-Identifier: BSD-3-Clause
// The recorded times of the lines of a file.

import type { BaseLines, LineFunction } from "./contract";

export type { BaseLines, LineFunction };

export interface HeatLine {
  readonly line: number; // from 1
  readonly text: string | undefined;
  readonly hits: number;
  readonly excl: number;
  readonly callees: number;
  /** Fraction of its function's time. */
  readonly share: number;
  /** Index of its function; -1: nothing was recorded in the line. */
  readonly of: number;
  /** Inclusive time in the other run; undefined: unknown. */
  readonly before: number | undefined;
}

/** Time of a function's lines with their callees. */
export const timeOf = (f: { excl: number; callees: number }): number => f.excl + f.callees;

/** All lines of the text; without text those that ran. If a line belongs to several functions (a comprehension, a lambda), it has the
 * numbers of the selected one, or of the outer one, whose callees include the others. */
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

/** The last line of a function by indentation: of the block that begins at its first line, after decorators. */
export function endOfBlock(lines: readonly HeatLine[], first: number): number {
  const indent = (at: number): number => /^[ \t]*/.exec(lines[at - 1]?.text ?? "")![0].length;
  let head = first;
  while (head < lines.length && !/^\s*(async\s+def|def|class)\b/.test(lines[head - 1]?.text ?? "")) {
    if (head - first > 50) return first;
    head++;
  }
  // the head of a function may have several lines; the block ends at the next line with less indentation
  let end = head;
  for (let line = head + 1; line <= lines.length; line++) {
    const text = lines[line - 1]?.text ?? "";
    if (!text.trim()) continue;
    if (indent(line) <= indent(head) && !/^\s*[)\]]/.test(text)) break;
    end = line;
  }
  return end;
}
