// SPDX-License-Identifier: BSD-3-Clause
// The filters of the selection: which call paths, processes and threads the views show. Each active one is also a chip (chips.tsx).
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Facts } from "../data/facts";
import { FOUND, IMPORTS, RECURSION } from "../data/url";
import { useSelection, useStore } from "../state/hooks";
import { rolesIn } from "../state/roles";
import { Menu } from "../parts/Menu";
import { Pick } from "../parts/Pick";
import { Code } from "../parts/shows";
import type { Selection } from "../state/store";
import type { View } from "../parts/view";
import { activeFilters } from "./chips";

const LEAST = [
  { value: "", title: "none" },
  { value: "0.001", title: "0.1 %" },
  { value: "0.01", title: "1 %" },
  { value: "0.05", title: "5 %" },
];

function Check({ on, hint, disabled, flip, children }: { on: boolean; hint: string; disabled?: boolean; flip: () => void; children: ComponentChildren }) {
  return (
    <label class="menu check" title={hint}>
      <input type="checkbox" checked={on} disabled={disabled} onChange={flip} />
      {children}
    </label>
  );
}

function Panel({ facts, view }: { facts: Facts; view: View }) {
  const store = useStore();
  const { hide, fold, only, least, search, module, process, location, role } = useSelection();
  const roles = rolesIn(facts);
  // paths of one tree are not in the other
  const filter = (patch: Partial<Selection>): void => store.select({ ...patch, path: undefined, centre: undefined });
  const names = useMemo(() => ({ processes: facts.processes.map(({ name }) => name), locations: facts.locations.map(({ name }) => name) }), [facts]);
  const some = search !== undefined || module !== undefined;
  return (
    <section id="filters" class="toolbar filters" aria-label="Filters">
      {view.filtered !== "toolbar" && <Code />}
      <Check on={hide === IMPORTS} hint="Leave out what ran while modules were imported, except modules of the program" flip={() => filter({ hide: hide ? undefined : IMPORTS })}>
        Hide imports
      </Check>
      <Check on={fold === RECURSION} hint="A call of a function within itself counts for the outermost call" flip={() => filter({ fold: fold ? undefined : RECURSION })}>
        Fold recursion
      </Check>
      <Check
        on={only === FOUND}
        disabled={!some && only === undefined}
        hint="Only call paths with functions that the search has found, or of the selected module; search first"
        flip={() => filter({ only: only ? undefined : FOUND })}
      >
        Only what is found
      </Check>
      <Menu label="Combine paths below" value={LEAST.some(({ value }) => value === least) ? least! : ""} options={LEAST} onChange={(chosen) => filter({ least: chosen || undefined })} />
      {facts.processes.length > 1 && <Pick all label="Process" names={names.processes} roles={facts.processes.map(({ role }) => role)} value={process} choose={(index) => store.select({ process: index })} />}
      {facts.locations.length > 1 && <Pick all label="Thread" names={names.locations} roles={facts.locations.map(({ role, name }) => role ?? name)} value={location} choose={(index) => store.select({ location: index })} />}
      {roles.length > 0 && (
        <Menu label="Role" value={role ?? ""} options={[{ value: "", title: "all" }, ...roles]} onChange={(chosen) => filter({ role: chosen || undefined, process: undefined, location: undefined })} />
      )}
      {!view.filtered && <span class="status">This view shows all call paths; functions, call paths, timeline and summary are filtered.</span>}
    </section>
  );
}

/** The button that opens the filters, and the open filters below the tabs. */
export function useFilterPanel(facts: Facts | undefined, view: View): { button: ComponentChildren; panel: ComponentChildren } {
  const [open, show] = useState(false);
  const active = activeFilters(useSelection()).length;
  return {
    button: (
      <button class="quiet" aria-expanded={open} aria-controls="filters" title="Show parts of the run only" onClick={() => show(!open)}>
        {active ? `Filter (${active})` : "Filter"}
      </button>
    ),
    panel: open && facts && <Panel facts={facts} view={view} />,
  };
}
