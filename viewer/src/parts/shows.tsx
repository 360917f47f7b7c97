// SPDX-License-Identifier: BSD-3-Clause
// What a picture or table of call paths shows: its weight, and whose code.
import { ENTRIES, OWN } from "../data/url";
import { useSelection, useStore } from "../state/hooks";
import { Choice, type Option } from "./Menu";
import { Weigh } from "./Weigh";

const ALL = "all";
const CODE: readonly Option[] = [
  { value: ALL, title: "All code" },
  ...(PAGE ? [{ value: ENTRIES, title: "Own and called", hint: "Functions of the program and those of other code that they call; the time below these counts for them" }] : []),
  { value: OWN, title: "Own code", hint: "Functions of the program; the time of other code counts for the own function that led to it" },
];

export function Code() {
  const store = useStore();
  const { code } = useSelection();
  // paths of one tree are not in the other
  const choose = (value: string): void => store.select({ code: value === ALL ? undefined : value, path: undefined, centre: undefined });
  return <Choice label="Code" value={CODE.some(({ value }) => value === code) ? code! : ALL} options={CODE} onChange={choose} />;
}

export function Shows() {
  return (
    <>
      <Weigh />
      <Code />
    </>
  );
}
