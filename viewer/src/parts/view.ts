// SPDX-License-Identifier: BSD-3-Clause
import type { ComponentType } from "preact";
import type { Facts } from "../data/facts";

/** What a key is called, and what it does. */
export type Key = readonly [string, string];

/** What a file in views/ exports. */
export interface View {
  /** In the URL. */
  id: string;
  title: string;
  /** true, or why the view has nothing to show for this experiment and what to do: a sentence or two. */
  available: (facts: Facts) => true | string;
  component: ComponentType;
  /** Its times are of single events or lines: what measuring costs is in them also where it is taken out of those of functions. */
  asMeasured?: true;
  /** Of its picture; those of tables are the same everywhere. */
  keys?: readonly Key[];
}
