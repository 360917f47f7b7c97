// SPDX-License-Identifier: BSD-3-Clause
// The colours of source text. The frame of a notebook does without, as its script would become too large.
import { type ComponentChildren, createContext } from "preact";
import { pythonTokens } from "../draw/python";

type Texts = readonly (string | undefined)[];

/** The lines of a file with the colours of their tokens; undefined: the file is not in Python. */
export function colouredSource(file: string, lines: Texts): ComponentChildren[] | undefined {
  if (!/\.pyx?$|^</.test(file)) return undefined;
  return pythonTokens(lines).map((tokens) => <>{tokens.map(({ kind, text }) => (kind === "plain" ? text : <span class={kind}>{text}</span>))}</>);
}

export const Syntax = createContext<typeof colouredSource>(() => undefined);
