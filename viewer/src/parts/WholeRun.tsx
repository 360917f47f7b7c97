// SPDX-License-Identifier: BSD-3-Clause
// A note that numbers do not depend on the selection.
import { useSelection } from "../state/hooks";

/** what: plural noun for the numbers. ranks: they also include all ranks. */
export function WholeRun({ what, ranks = false }: { what: string; ranks?: boolean }) {
  const { begin, end, process, location } = useSelection();
  const of = [];
  if (begin !== undefined || end !== undefined) of.push("range of time");
  if (ranks && (process !== undefined || location !== undefined)) of.push(location === undefined ? "process" : "thread");
  return of.length ? <p class="note">{`${what} are those of the whole run: they are not known separately for the selected ${of.join(" and ")}.`}</p> : null;
}
