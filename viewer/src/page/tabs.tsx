// SPDX-License-Identifier: BSD-3-Clause
// The tabs of the views. On the page they are in groups, of which the one of the current view is open; views without data are in a dialog.
import { Fragment, type RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Facts } from "../data/facts";
import { useStore } from "../state/hooks";
import type { View } from "../parts/view";

/** Views that belong together. A group of one view has no title: its tab has that of the view. */
export interface Group {
  title: string;
  views: readonly View[];
}

interface Shared {
  shown: View;
  facts: Facts | undefined;
}

const has = (view: View, facts: Facts | undefined): boolean => !facts || view.available(facts) === true;

/** alone: it is the only tab of its list, which no arrow key leads to. */
function Tab({ view, shown, facts, alone, go }: Shared & { view: View; alone?: boolean; go: (view: View) => void }) {
  const available = facts ? view.available(facts) : true;
  return (
    <button
      id={`tab-${view.id}`}
      role="tab"
      aria-selected={view === shown}
      aria-controls="view"
      tabIndex={view === shown || alone ? 0 : -1}
      class={available === true ? "" : "dim"}
      title={available === true ? undefined : available}
      onClick={() => go(view)}
    >
      {view.title}
    </button>
  );
}

/** A function that shows a view, and the handler of keys, which goes to the next of these views and keeps the focus on the tabs. */
function useTabs(views: readonly View[], shown: View): { go: (view: View) => void; key: (event: KeyboardEvent) => void } {
  const store = useStore();
  const follow = useRef(false);
  useLayoutEffect(() => {
    const tab = document.getElementById(`tab-${shown.id}`);
    tab?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (follow.current) tab?.focus();
    follow.current = false;
  }, [shown]);
  const go = (view: View): void => {
    follow.current = view !== shown;
    store.select({ view: view.id });
  };
  const key = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    go(views[(views.indexOf(shown) + by + views.length) % views.length]!);
    event.preventDefault();
  };
  return { go, key };
}

/** All views beside each other. */
export function Tabs({ views, ...shared }: Shared & { views: readonly View[] }) {
  const { go, key } = useTabs(views, shared.shown);
  return (
    <nav class="tabs" role="tablist" aria-label="Views" onKeyDown={key}>
      {views.map((view) => (
        <Tab key={view.id} view={view} {...shared} go={go} />
      ))}
    </nav>
  );
}

/** Groups of views. The title of a group shows the view of it that was shown last. */
export function GroupedTabs({ groups, ...shared }: Shared & { groups: readonly Group[] }) {
  const { shown, facts } = shared;
  const last = useRef(new Map<string, View>());
  const visible = groups
    .map(({ title, views }) => ({ title, views: views.filter((view) => view === shown || has(view, facts)) }))
    .filter(({ views }) => views.length > 0);
  const { go, key } = useTabs(
    visible.flatMap(({ views }) => views),
    shown,
  );
  const absent = groups.flatMap(({ views }) => views.filter((view) => !has(view, facts)));
  for (const { title, views } of visible) if (views.includes(shown)) last.current.set(title, shown);
  const box = useRef<HTMLDialogElement>(null);
  return (
    <>
      <nav class="tabs" aria-label="Views" onKeyDown={key}>
        {visible.map(({ title, views }) => {
          const open = views.includes(shown);
          const alone = views.length === 1;
          const was = last.current.get(title);
          const first = was && views.includes(was) ? was : views[0]!;
          return (
            <div key={title} class={open && !alone ? "group open" : "group"}>
              {!alone && (
                <button title={`Show ${first.title}`} onClick={() => go(first)}>
                  {title}
                </button>
              )}
              {(open || alone) && (
                <div role="tablist" aria-label={title}>
                  {views.map((view) => (
                    <Tab key={view.id} view={view} {...shared} alone={alone} go={go} />
                  ))}
                </div>
              )}
            </div>
          );
        })}
        {absent.length > 0 && (
          <button class="more" aria-haspopup="dialog" title="Views for which this run has no data" onClick={() => box.current?.showModal()}>
            More…
          </button>
        )}
      </nav>
      {facts && <Absent box={box} views={absent} facts={facts} go={go} />}
    </>
  );
}

/** The views without data, each with what records it. */
function Absent({ box, views, facts, go }: { box: RefObject<HTMLDialogElement>; views: readonly View[]; facts: Facts; go: (view: View) => void }) {
  return (
    <dialog ref={box} aria-label="Views without data" onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
      <h2>Not recorded in this run</h2>
      <dl class="about">
        {views.map((view) => (
          <Fragment key={view.id}>
            <dt>
              <button
                class="link"
                onClick={() => {
                  box.current?.close();
                  go(view);
                }}
              >
                {view.title}
              </button>
            </dt>
            <dd>{view.available(facts)}</dd>
          </Fragment>
        ))}
      </dl>
      <form method="dialog">
        <button class="quiet">Close</button>
      </form>
    </dialog>
  );
}
