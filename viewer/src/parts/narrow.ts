// SPDX-License-Identifier: BSD-3-Clause
// Tables in narrow windows, as on a phone. The frame of a notebook, which is wide, does without.
import { createContext } from "preact";

/** What is needed here of a column of a table. */
interface Track {
  id: string;
  width: string;
  left?: boolean;
}

const NARROW = 480; // px; narrower tables have the numbers beside the names
const MIN_NAME = 110; // px
const LINE = 48; // px; number of a line

const px = (column: Track | undefined): number => Number.parseFloat(column?.width ?? "0") || MIN_NAME;

/** The columns of a narrow table: the name, as wide as the first number leaves, then numbers, then texts. sorted: the first number. Lines of
 * source have their text between their own number and their share. */
export function narrowed<C extends Track>(columns: readonly C[], sorted: string | undefined, width: number): readonly C[] {
  const name = columns.find(({ left }) => left);
  if (!name || !width || width > NARROW) return columns;
  const before = columns[0] === name ? [] : [{ ...columns[0]!, width: `${LINE}px` }];
  const rest = columns.filter((column, i) => column !== name && (i > 0 || !before.length));
  const place = (column: C): number => (column.id === (sorted ?? "share") ? 0 : column.left ? 2 : 1);
  const order = rest.map((column, i) => [place(column), i] as const).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const others = order.map(([, i]) => rest[i]!);
  const room = width - px(others[0]) - before.length * LINE;
  return [...before, { ...name, width: `${Math.max(MIN_NAME, room)}px` }, ...others];
}

/** How tables arrange their columns: narrowed(), or not at all. */
export const Narrow = createContext<typeof narrowed>((columns) => columns);
