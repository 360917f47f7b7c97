// SPDX-License-Identifier: BSD-3-Clause
// The list of keys, opened by a button or "?".
import { useEffect, useRef } from "preact/hooks";
import { isTyping } from "./searchbox";
import type { Key, View } from "../parts/view";

const EVERYWHERE: readonly Key[] = [
  ["/", "search; Escape gives it up"],
  ["?", "these keys"],
  ["Tab", "to the next picture, table or control"],
  ["← →", "on the tabs: the next view"],
];
const TABLES: readonly Key[] = [
  ["↑ ↓  Page Up  Page Down  Home  End", "from row to row"],
  ["Enter", "opens the row, or its function in another view"],
];

function List({ title, keys }: { title: string; keys: readonly Key[] }) {
  return (
    <>
      <h2>{title}</h2>
      <dl class="about">
        {keys.map(([key, does]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
    </>
  );
}

export function KeyHelp({ view }: { view: View }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "?" || isTyping(event)) return;
      if (box.current?.open) box.current.close();
      else box.current?.showModal();
      event.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  return (
    <>
      <button class="quiet" aria-label="Keys" title="Keys (?)" aria-haspopup="dialog" onClick={() => box.current?.showModal()}>
        ?
      </button>
      <dialog ref={box} aria-label="Keys" onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
        {view.keys && <List title={view.title} keys={view.keys} />}
        <List title="Tables" keys={TABLES} />
        <List title="Everywhere" keys={EVERYWHERE} />
        <form method="dialog">
          <button class="quiet">Close</button>
        </form>
      </dialog>
    </>
  );
}
