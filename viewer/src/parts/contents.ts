// SPDX-License-Identifier: BSD-3-Clause
import type { Column } from "./VirtualTable";

/** What a table shows: the columns, and the rows in their order; of trees the level of each row, from 1. */
export interface Content {
  columns: readonly Column[];
  order: ArrayLike<number>;
  level?: (row: number) => number;
}

/** For the element of each table: its content. */
export const contents = new WeakMap<Element, () => Content>();
