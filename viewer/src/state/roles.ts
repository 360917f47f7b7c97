// SPDX-License-Identifier: BSD-3-Clause
// Processes and threads with equal roles, such as the workers of a pool: their call trees are shown as one.
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import { summed } from "../calltree/summed";
import type { Tree } from "../calltree/tree";
import type { Columns } from "../data/columns";
import { type Facts, roleOf } from "../data/facts";
import { type Params, query, type Source } from "../data/source";
import { type Answer, KnownFacts, useAnswer, useSelection, useSource, useStore } from "./hooks";
import type { Selection } from "./store";

/** What has a role, in `role` of the selection: "process:pool worker". */
const KINDS = ["process", "thread"] as const;

export interface Role {
  value: string; // in the selection
  title: string;
}

/** The title of a role of the selection: "pool worker". */
export const roleTitle = (role: string): string => role.slice(role.indexOf(":") + 1);

/** The roles to choose from, where processes or threads have different ones. Threads with a name alone are not among them. */
export function rolesIn({ processes, locations }: Facts): Role[] {
  const found: Role[] = [];
  for (const kind of KINDS) {
    const numbers = new Map<string, number>();
    const titles = kind === "process" ? processes.map(roleOf) : locations.flatMap(({ role }) => role ?? []);
    for (const title of titles) numbers.set(title, (numbers.get(title) ?? 0) + 1);
    if (numbers.size < 2) continue;
    for (const [title, n] of numbers) found.push({ value: `${kind}:${title}`, title: `${title}${n > 1 ? ` ×${n}` : ""} (${kind}${n > 1 ? (kind === "process" ? "es" : "s") : ""})` });
  }
  return found;
}

type Unit = Pick<Selection, "process" | "location">;

/** The processes or threads with the selected role, of the selected process or thread if there is one; undefined: no role is selected. */
export function unitsOf({ processes, locations }: Facts, { role, process, location }: Selection): Unit[] | undefined {
  if (role === undefined) return undefined;
  const title = roleTitle(role);
  const inProcess = (one: number): boolean => process === undefined || process === one;
  if (role.startsWith("thread:"))
    return locations.flatMap((one, i) => (roleOf(one) === title && inProcess(one.process) && (location ?? i) === i ? [{ location: i }] : []));
  const has = (one: number): boolean => roleOf(processes[one]!) === title && inProcess(one);
  if (location !== undefined) return locations[location] && has(locations[location].process) ? [{ location }] : [];
  return processes.flatMap((_, i) => (has(i) ? [{ process: i }] : []));
}

/** The threads with the selected role; undefined: no role is selected. */
export function useRoleLocations(): ReadonlySet<number> | undefined {
  const facts = useContext(KnownFacts);
  const { role } = useSelection();
  return useMemo(() => {
    const units = facts && unitsOf(facts, { view: "", role });
    if (!facts || !units) return undefined;
    const processes = new Set(units.map(({ process }) => process));
    return new Set(units[0]?.location === undefined ? facts.locations.flatMap((one, i) => (processes.has(one.process) ? [i] : [])) : units.map(({ location }) => location!));
  }, [facts, role]);
}

type Make = (columns: Columns<"tree">) => Tree;

const KEPT = 4; // sums of trees: several parts of a page need the same ones
const sums: { source: Source; key: string; make: Make; tree: Promise<Tree> }[] = [];

function sumOf(source: Source, asked: readonly Params<"tree">[], make: Make): Promise<Tree> {
  const key = asked.map((params) => query("tree", params)).join("\n");
  const known = sums.find((one) => one.source === source && one.key === key && one.make === make);
  if (known) return known.tree;
  const tree = Promise.all(asked.map((params) => source.get("tree", params))).then((all) => summed(all.map(make)));
  const added = { source, key, make, tree };
  sums.unshift(added);
  sums.length = Math.min(sums.length, KEPT);
  tree.catch(() => sums.splice(sums.indexOf(added), 1)); // the next part asks again
  return tree;
}

/** The call tree of the parameters, of the selected role; kind undefined: no query. */
export function useRoleTree(kind: "tree" | undefined, params: Params<"tree">, make: Make): Answer<Tree> {
  const store = useStore();
  const source = useSource();
  const facts = useContext(KnownFacts);
  const selection = useSelection();
  const units = facts && unitsOf(facts, selection);
  const asked = kind && units?.map((unit) => ({ ...params, process: undefined, location: undefined, ...unit }));
  const key = asked ? ["roles", ...asked.map((one) => query("tree", one))].join("\n") : "";
  const alone = useAnswer(asked ? undefined : kind, params, make);
  const [held, hold] = useState<{ key: string; data: Tree | undefined; problem: string | undefined }>({ key: "", data: undefined, problem: undefined });
  useEffect(() => {
    if (!asked) return undefined;
    let wanted = true;
    const needless = asked.map((one) => store.need("tree", one));
    sumOf(source, asked, make).then(
      (data) => wanted && hold({ key, data, problem: undefined }),
      (error: Error) => wanted && hold({ key, data: undefined, problem: error.message }),
    );
    return () => {
      wanted = false;
      for (const leave of needless) leave();
    };
  }, [store, source, key, make]);
  if (!asked) return alone;
  return { data: held.data ?? alone.data, loading: held.key !== key, problem: held.key === key ? held.problem : undefined };
}
