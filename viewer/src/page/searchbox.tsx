// SPDX-License-Identifier: BSD-3-Clause
// The search box for all views, with the time of the functions found.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useTree } from "../state/calls";
import { useRegions, useSelection, useStore } from "../state/hooks";
import { hitsIn, search, searchProblem, type Hits } from "../calltree/tree";
import { count, percent } from "../data/units";

/** 1 for each function found; undefined without a search. */
function useFound(): Uint8Array | undefined {
  const { search: text } = useSelection();
  const regions = useRegions().data;
  return useMemo(() => (text && regions ? search(regions.lowered(), text) : undefined), [text, regions]);
}

export function timeFound(hits: Hits, total: number): string {
  if (!hits.regions) return "no function has that name";
  const functions = hits.regions === 1 ? "1 function" : `${count(hits.regions)} functions`;
  const paths = hits.paths === 1 ? "1 path" : `${count(hits.paths)} paths`;
  return `${functions} · ${paths} · ${percent(total ? hits.time / total : 0)}`;
}

/** A separate component, so that the tree is only queried while there is a search. */
function TimeFound({ found }: { found: Uint8Array }) {
  const tree = useTree().data;
  const hits = useMemo(() => tree && hitsIn(tree, found), [tree, found]);
  return (
    <span class="hits" role="status">
      {hits && tree ? timeFound(hits, tree.total) : ""}
    </span>
  );
}

/** Whether the key is input of a text field or menu. */
export const isTyping = (event: KeyboardEvent): boolean =>
  event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey;

export function Search() {
  const store = useStore();
  const { search: text } = useSelection();
  const found = useFound();
  const problem = searchProblem(text);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "/" || isTyping(event)) return;
      input.current?.focus();
      event.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  return (
    <div class="search" role="search">
      {problem !== undefined ? (
        <span class="hits wrong" role="alert" title={`Taken as plain text: ${problem}`}>
          {`no regular expression: ${problem}`}
        </span>
      ) : (
        found && <TimeFound found={found} />
      )}
      <input
        ref={input}
        type="search"
        placeholder="Search functions  (/)"
        aria-invalid={problem !== undefined}
        aria-label="Search functions by a part of their name, or by a regular expression between slashes"
        value={text ?? ""}
        onInput={(event) => store.select({ search: event.currentTarget.value || undefined }, "replace")}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          store.select({ search: undefined }, "replace");
          input.current?.blur();
        }}
      />
    </div>
  );
}
