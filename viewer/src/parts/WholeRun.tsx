// SPDX-License-Identifier: BSD-3-Clause
// Says of numbers that a selection does not narrow that it does not.
import { useSelection } from "../state/hooks";

/** what: in the plural. ranks: they are of all ranks, too. */
export function WholeRun({ what, ranks = false }: { what: string; ranks?: boolean }) {
  const { begin, end, process, location } = useSelection();
  const of = [];
  if (begin !== undefined || end !== undefined) of.push("range of time");
  if (ranks && (process !== undefined || location !== undefined)) of.push(location === undefined ? "process" : "thread");
  return of.length ? <p class="note">{`${what} are those of the whole run: they are not known separately for the selected ${of.join(" and ")}.`}</p> : null;
}
