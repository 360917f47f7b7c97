// SPDX-License-Identifier: BSD-3-Clause
// Splits lines of Python into keywords, strings, comments, numbers and the rest, for their colours.

export type TokenKind = "keyword" | "string" | "comment" | "number" | "plain";
export interface Token {
  kind: TokenKind;
  text: string;
}

// pure: left out of scripts without source
const KEYWORDS = /* @__PURE__ */ new Set(
  /* @__PURE__ */ "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "),
);
const TOKEN =
  /(?<comment>#.*)|(?<triple>[rbuft]{0,3}(?:"""|'''))|(?<string>[rbuft]{0,3}(?<quote>["'])(?:\\.|(?!\k<quote>)[^\\])*(?:\k<quote>|\\?$))|(?<number>0[xbo][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d[\d_]*)?j?)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|\s+|./giuy;

/** The length of the text up to the end of a string that began in an earlier line; undefined: it does not end in this line. */
function endOf(text: string, quotes: string, from: number): number | undefined {
  for (let i = from; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text.startsWith(quotes, i)) return i + quotes.length;
  }
  return undefined;
}

/** The tokens of each line. undefined: the line is not known. */
export function pythonTokens(lines: readonly (string | undefined)[]): Token[][] {
  let open = ""; // the quotes of a string that goes beyond the line
  return lines.map((text = "") => {
    const tokens: Token[] = [];
    const add = (kind: TokenKind, from: number, to: number): void => {
      const last = tokens[tokens.length - 1];
      if (last?.kind === kind) last.text += text.slice(from, to);
      else if (to > from) tokens.push({ kind, text: text.slice(from, to) });
    };
    let at = 0;
    /** Adds a string up to its end, or the rest of the line. */
    const rest = (from: number, inside: number): void => {
      const end = endOf(text, open, inside);
      add("string", from, (at = end ?? text.length));
      if (end !== undefined || (open.length === 1 && !text.endsWith("\\"))) open = "";
    };
    if (open) rest(0, 0);
    while (at < text.length) {
      TOKEN.lastIndex = at;
      const found = TOKEN.exec(text);
      if (!found?.groups) break;
      const { comment, triple, string, quote, number, name } = found.groups;
      const [from, to] = [at, at + found[0].length];
      if (triple) {
        open = triple.slice(-3);
        rest(from, to);
        continue;
      }
      add(comment ? "comment" : string ? "string" : number ? "number" : name && KEYWORDS.has(name) ? "keyword" : "plain", from, to);
      at = to;
      if (string?.endsWith("\\") && to === text.length) open = quote!;
    }
    return tokens;
  });
}
