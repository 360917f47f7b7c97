// SPDX-License-Identifier: BSD-3-Clause
// Parts of a URL's selection that this experiment does not have: they are reported once and removed from the selection.
import { useEffect, useState } from "preact/hooks";
import type { Facts, Regions } from "../data/facts";
import { isFiltered, useWholeTree } from "../state/calls";
import { useRegions, useSelection, useStore } from "../state/hooks";
import { roleTitle, unitsOf } from "../state/roles";
import type { Selection } from "../state/store";
import { ROOT, type Tree } from "../calltree/tree";
import { inModule } from "../state/highlighted";

export interface Unknown {
  messages: string[];
  /** The change of the selection that removes it. */
  patch: Partial<Selection>;
}

const NOT_HERE = "is not in this experiment";

/** tree: the tree with all paths of the whole run, to check the selected one; undefined: it is not checked. */
export function unknownIn(selection: Selection, facts: Facts, regions: Regions, tree: Tree | undefined): Unknown {
  const { region, path, centre, module, process, location, role, metric } = selection;
  const messages: string[] = [];
  const patch: Partial<Selection> = {};
  const lost = (list: readonly number[] | undefined): boolean => list?.some((one) => one >= regions.count) ?? false;
  const away = (list: readonly number[] | undefined): boolean => Boolean(list?.length && tree && tree.find(list, true) === ROOT);
  if (lost(path) || lost(centre) || away(path) || away(centre)) {
    messages.push(`The call path ${NOT_HERE}.`);
    Object.assign(patch, { path: undefined, centre: undefined });
  }
  if (region !== undefined && region >= regions.count) {
    if (!lost(path)) messages.push(`Function ${region} ${NOT_HERE}.`);
    patch.region = undefined;
  }
  if (module !== undefined && !regions.names.some((_, i) => inModule(regions.groupOf(i), module))) {
    messages.push(`Module ${module} ${NOT_HERE}.`);
    patch.module = undefined;
  }
  if (process !== undefined && process >= facts.processes.length) {
    messages.push(`Process ${process} ${NOT_HERE}.`);
    patch.process = undefined;
  }
  if (location !== undefined && location >= facts.locations.length) {
    messages.push(`Thread ${location} ${NOT_HERE}.`);
    patch.location = undefined;
  }
  if (role !== undefined && !unitsOf(facts, { view: selection.view, role })?.length) {
    messages.push(`Role ${roleTitle(role)} ${NOT_HERE}.`);
    patch.role = undefined;
  }
  if (metric !== undefined && !facts.metrics.some((one) => one.name === metric)) {
    messages.push(`Metric ${metric} ${NOT_HERE}.`);
    patch.metric = undefined;
  }
  return { messages, patch };
}

/** A tree with a row for every path of the run; queried only if a path of the whole run is selected. */
function useAllPaths(selection: Selection): Tree | undefined {
  const { path, centre, process, location, begin, end } = selection;
  const part = isFiltered(selection) || selection.role !== undefined || process !== undefined || location !== undefined || begin !== undefined || end !== undefined;
  const tree = useWholeTree(!part && (path !== undefined || centre !== undefined));
  return tree.loading || tree.data?.hidden.some((n) => n > 0) ? undefined : tree.data;
}

export function Unknowns({ facts }: { facts: Facts | undefined }) {
  const store = useStore();
  const selection = useSelection();
  const regions = useRegions().data;
  const tree = useAllPaths(selection);
  const [messages, setMessages] = useState<string[]>([]);
  useEffect(() => {
    if (!facts || !regions) return;
    const { messages, patch } = unknownIn(selection, facts, regions, tree);
    if (!messages.length) return;
    setMessages(messages);
    store.select(patch, "replace");
  }, [facts, regions, tree, selection]);
  if (!messages.length) return null;
  return (
    <p class="note unknown" role="alert">
      {messages.join(" ")} It is left out of the selection.{" "}
      <button class="quiet" onClick={() => setMessages([])}>
        Close
      </button>
    </p>
  );
}
