// SPDX-License-Identifier: BSD-3-Clause
// Tables as comma-separated values (RFC 4180).
import type { ComponentChildren, VNode } from "preact";

/** The text of a cell. A component counts with its property `text`, or what is within it. */
export function textOf(shown: ComponentChildren): string {
  if (shown === null || shown === undefined || typeof shown === "boolean") return "";
  if (Array.isArray(shown)) return shown.map(textOf).join("");
  if (typeof shown !== "object") return String(shown);
  const { text, children } = (shown as VNode<{ text?: unknown; children?: ComponentChildren }>).props;
  return typeof text === "string" ? text : textOf(children);
}

const NUMBER = /^([+-]?\d{1,3}(?:,\d{3})*(?:\.\d+)?)(?: %)?$/;
const TINY = /^[+-]?<\d[\d.]*(?: %)?$/; // "<0.001"

/** A shown number as programs read it: without separators of thousands and percent sign; 0 for what is too small to be shown. */
export function plain(text: string): string {
  if (TINY.test(text)) return "0";
  return NUMBER.exec(text)?.[1]!.replaceAll(",", "") ?? text;
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Lines of fields, each line with CRLF at its end. */
export function csv(rows: Iterable<readonly string[]>): string {
  let out = "";
  for (const row of rows) out += `${row.map(quoted).join(",")}\r\n`;
  return out;
}
