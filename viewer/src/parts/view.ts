// SPDX-License-Identifier: BSD-3-Clause
import type { ComponentType } from "preact";
import type { Facts } from "../data/facts";

/** The name of a key, and its action. */
export type Key = readonly [string, string];

/** The export of a file in views/. */
export interface View {
  /** Its name in the URL. */
  id: string;
  title: string;
  /** true, or why the view has no data for this experiment and what to do. */
  available: (facts: Facts) => true | string;
  component: ComponentType;
  /** Its times are of single events or lines: they include the cost of measuring even if it is subtracted from times of functions. */
  asMeasured?: true;
  /** The filters of call paths apply to it. "toolbar": that of code is in its toolbar. */
  filtered?: true | "toolbar";
  /** Keys of its picture; the keys of tables are listed elsewhere. */
  keys?: readonly Key[];
}
