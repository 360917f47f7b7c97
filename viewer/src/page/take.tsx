// SPDX-License-Identifier: BSD-3-Clause
// What a user takes along from the page: its address, the picture, the table, and the selection as text.
import { useRef, useState } from "preact/hooks";
import { csv, plain, textOf } from "../data/csv";
import type { Facts } from "../data/facts";
import { useRegions, useSelection } from "../state/hooks";
import { chipsOf } from "./chips";
import { loadMore } from "../parts/later";
import { drawings } from "../parts/Canvas";
import { type Content, contents } from "../parts/VirtualTable";
import type { View } from "../parts/view";

/** The head and all rows as texts; the first column of a tree is indented by level. */
function* lines({ columns, order, level }: Content): Generator<string[]> {
  yield columns.map(({ title, unit }) => (title && unit ? `${title} (${unit})` : title || unit || ""));
  for (let i = 0; i < order.length; i++)
    yield columns.map(({ cell, left }, column) => {
      const text = textOf(cell(order[i]!));
      const indent = column || !level ? "" : "  ".repeat(level(order[i]!) - 1);
      return left ? indent + text : plain(text);
    });
}

/** Copies a text. A page that came over plain HTTP from another machine has no clipboard. */
async function copy(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("The browser does not allow this page to copy.");
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read it
}

/** The largest element of the view that matches, as a view may have small ones beside it; undefined: none is visible. */
function largest<E extends Element>(selector: string): E | undefined {
  const size = (element: Element): number => element.clientWidth * element.clientHeight;
  const found = [...document.querySelectorAll<E>(`#view ${selector}`)].filter((element) => size(element) > 0);
  return found.sort((a, b) => size(b) - size(a))[0];
}

async function picture(canvas: HTMLCanvasElement): Promise<Blob> {
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob) throw new Error("The browser cannot save this picture.");
  return blob;
}

async function drawn(canvas: HTMLCanvasElement, title: string): Promise<Blob> {
  await loadMore();
  const text = window.spartitoSvg!(drawings.get(canvas)!, canvas.clientWidth, canvas.clientHeight, title);
  return new Blob([text], { type: "image/svg+xml" });
}

interface Action {
  title: string;
  /** What is shown afterwards. */
  done: string;
  act: () => Promise<void> | void;
}

export function TakeAlong({ view, facts }: { view: View; facts: Facts | undefined }) {
  const selection = useSelection();
  const regions = useRegions().data;
  const box = useRef<HTMLDialogElement>(null);
  const [actions, offer] = useState<readonly Action[]>([]);
  const [said, say] = useState("");
  const file = `${(facts?.title ?? "spartito").replace(/[^\w.-]+/g, "-")}-${view.id}`;
  const open = (): void => {
    const canvas = largest<HTMLCanvasElement>("canvas");
    const table = largest(".table");
    const content = table && contents.get(table);
    const chosen = chipsOf(selection, facts, regions).map(({ what, text }) => `${what}: ${text}`);
    const path = (selection.path ?? []).map((region) => regions?.names[region] ?? String(region)).join(" > ");
    const offered: (Action | undefined | false)[] = [
      { title: "Copy the link to this view", done: "The link is copied.", act: () => copy(location.href) },
      chosen.length > 0 && { title: "Copy the selection as text", done: "The selection is copied.", act: () => copy([...chosen, ...(path ? [`call path: ${path}`] : [])].join("\n")) },
      canvas && { title: "Save the picture (PNG)", done: "The picture is saved.", act: async () => save(await picture(canvas), `${file}.png`) },
      canvas && { title: "Save the picture (SVG)", done: "The picture is saved.", act: async () => save(await drawn(canvas, `${facts?.title ?? ""}: ${view.title}`), `${file}.svg`) },
      content && { title: "Save the table (CSV)", done: "The table is saved.", act: () => save(new Blob([csv(lines(content()))], { type: "text/csv" }), `${file}.csv`) },
    ];
    say("");
    offer(offered.filter((one): one is Action => Boolean(one)));
    box.current?.showModal();
  };
  return (
    <>
      <button class="quiet" aria-haspopup="dialog" title="Copy the link, save the picture or the table" onClick={open}>
        Share
      </button>
      <dialog ref={box} class="take" aria-label="Share" onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
        <h2>{view.title}</h2>
        {actions.map(({ title, done, act }) => (
          <p key={title}>
            <button
              class="link"
              onClick={() =>
                void Promise.resolve()
                  .then(act)
                  .then(
                    () => say(done),
                    (error: Error) => say(error.message),
                  )
              }
            >
              {title}
            </button>
          </p>
        ))}
        <p role="status">{said}</p>
        <form method="dialog">
          <button class="quiet">Close</button>
        </form>
      </dialog>
    </>
  );
}
