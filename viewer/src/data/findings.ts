// SPDX-License-Identifier: BSD-3-Clause
// Findings, and the view that shows what each is about.
import type { Finding } from "./contract";
import type { Facts, Regions } from "./facts";
import { pathOf, regionNamed } from "./stacks";
import type { Selection } from "./url";

export type { Finding };

/** The views by the topics of docs/findings.md; of other topics: the callers of the function. */
const VIEWS: Record<string, (facts: Facts) => string | false> = {
  imports: () => "imports",
  overhead: () => "table",
  imbalance: () => "balance",
  serialization: () => "icicle",
  lock: ({ has }) => has.locks && "locks",
  "small-io": ({ has }) => has.io && "io",
  "memory-growth": ({ has }) => has.memory && "memory",
  "memory-peak": ({ has }) => has.memory && "memory",
  "event-loop": ({ has }) => has.tasks && "tasks",
  "late-sender": ({ has }) => has.waits && "waits",
  "child-process": ({ has }) => has.time && "timeline",
};

/** The change of the selection that shows a finding: its view, and its call path or function. views: the views that there are; undefined:
 * all. */
export function shownBy({ topic, path, function: name }: Pick<Finding, "topic" | "path" | "function">, facts: Facts, regions: Regions, views?: readonly string[]): Partial<Selection> {
  const best = VIEWS[topic]?.(facts) || "callers";
  const view = views && !views.includes(best) ? "callers" : best;
  const found = pathOf(regions, path);
  const region = regionNamed(regions, name) ?? regionNamed(regions, `${name}:<module>`); // of imports it is a module
  return { view, ...(found ? { path: found } : { path: undefined, region }) };
}
