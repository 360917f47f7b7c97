// SPDX-License-Identifier: BSD-3-Clause
// What a picture or table of call paths shows: its weight, and all functions or own ones alone.
import { OWN } from "../data/url";
import { useSelection, useStore } from "../state/hooks";
import { Choice } from "./Menu";
import { Weigh } from "./Weigh";

const CODE = [
  { value: "all", title: "All code" },
  { value: OWN, title: "Own code", hint: "Functions of the program; the time of other code counts for the own function that led to it" },
];

export function Shows() {
  const store = useStore();
  const { code } = useSelection();
  // paths of one tree are not in the other
  const choose = (value: string): void => store.select({ code: value === OWN ? OWN : undefined, path: undefined, centre: undefined });
  return (
    <>
      <Weigh />
      <Choice label="Code" value={code === OWN ? OWN : "all"} options={CODE} onChange={choose} />
    </>
  );
}
