// SPDX-License-Identifier: BSD-3-Clause
// The calls that a timeline shows with the filters of the selection.
import { useMemo } from "preact/hooks";
import { Visible } from "../calltree/visible";
import { isFiltered, useFilters, useWholeTree } from "./calls";
import { useRegions, useSelection } from "./hooks";

/** undefined: there are no filters. "loading": they need the call tree, which has not arrived. */
export function useVisible(): Visible | "loading" | undefined {
  const wanted = isFiltered(useSelection());
  const filters = useFilters();
  const tree = useWholeTree(wanted).data;
  const own = useRegions().data?.own;
  const visible = useMemo(() => filters && tree && own && new Visible(tree, own, filters), [filters, tree, own]);
  return wanted ? (visible ?? "loading") : undefined;
}
