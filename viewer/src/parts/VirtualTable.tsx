// SPDX-License-Identifier: BSD-3-Clause
// A table whose DOM contains only the visible rows, so 10^5 rows cost as much as 50.
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSize } from "../state/hooks";
import { Name } from "./Name";
import { Narrow } from "./narrow";

export interface Column {
  id: string;
  title: string;
  /** Shown in the title: the unit of all values in the column. */
  unit?: string | undefined;
  hint?: string | undefined;
  /** A track of a CSS grid: "90px", "minmax(200px, 1fr)". */
  width: string;
  left?: boolean;
  cell: (row: number) => ComponentChildren;
  /** Tooltip of a cell; default: the text of a cell that is cut off. */
  full?: (row: number) => string;
  /** 0 to 1: length of a bar behind the number. */
  bar?: (row: number) => number;
  fixed?: boolean; // not sortable
}

export interface Sorting {
  id: string;
  down: boolean;
}

/** What a table shows: the columns, and the rows in their order; of trees the level of each row, from 1. */
export interface Content {
  columns: readonly Column[];
  order: ArrayLike<number>;
  level?: (row: number) => number;
}

/** For the element of each table: its content. */
export const contents = new WeakMap<Element, () => Content>();

interface Props {
  label: string;
  /** Indices of the rows in display order, for cell() and the other callbacks. */
  order: ArrayLike<number>;
  columns: readonly Column[];
  sorting?: Sorting | undefined;
  onSort?: (id: string) => void;
  selected?: number | undefined;
  /** Called when the arrow keys or a click move to a row. */
  onSelect?: (row: number) => void;
  /** Called on Enter or a double click. */
  onOpen?: (row: number) => void;
  /** Called for keys that the table does not use; returns whether the key was used. */
  onKey?: (event: KeyboardEvent, row: number) => boolean;
  rowClass?: (row: number) => string;
  /** For trees: aria-level, from 1, and aria-expanded. */
  level?: (row: number) => number;
  expanded?: (row: number) => boolean | undefined;
}

export const ROW = 22; // pixels, as in parts.css
const SPARE = 6; // rows that are drawn above and below the visible ones, for scrolling until the next frame

/** A track of at least `least` pixels that fits the longest number of its column. */
export const room = (least: number, longest: string): string => `${Math.max(least, 8.5 * longest.length + 16)}px`;

function Head({ columns, sorting, onSort }: Pick<Props, "columns" | "sorting" | "onSort">) {
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      {columns.map((column) => {
        const sorted = sorting?.id === column.id ? (sorting.down ? "descending" : "ascending") : "none";
        const text = (
          <>
            {sorted !== "none" && (
              <span class="arrow" aria-hidden="true">
                {sorted === "descending" ? "▾" : "▴"}{" "}
              </span>
            )}
            {column.title}
            {column.unit && <small> {column.unit}</small>}
          </>
        );
        return (
          <div key={column.id} role="columnheader" aria-sort={sorted} class={column.left ? "cell left" : "cell"} title={column.hint && `${column.title}${column.unit ? ` (${column.unit})` : ""}: ${column.hint}`}>
            {onSort && !column.fixed ? <button onClick={() => onSort(column.id)}>{text}</button> : text}
          </div>
        );
      })}
    </div>
  );
}

function Cell({ column, row }: { column: Column; row: number }) {
  const share = column.bar?.(row) ?? 0;
  const shown = column.cell(row);
  return (
    <div role="gridcell" class={column.left ? "cell left" : "cell"} title={column.full?.(row)}>
      {share > 0 && <i class="bar" style={{ width: `${Math.min(1, share) * 100}%` }} />}
      <span>{column.left && typeof shown === "string" ? <Name text={shown} /> : shown}</span>
    </div>
  );
}

/** The cursor after a key; undefined: the table does not use the key. */
export function moved(key: string, at: number, count: number, page: number): number | undefined {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: count - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}

function indexOf(order: ArrayLike<number>, row: number | undefined): number {
  return row === undefined ? -1 : Array.prototype.indexOf.call(order, row);
}

export function VirtualTable(props: Props) {
  const { order, selected } = props;
  const [box, { width, height }] = useSize<HTMLDivElement>();
  const columns = useContext(Narrow)(props.columns, props.sorting?.id, width);
  const [top, setTop] = useState(0);
  const [cursor, showCursor] = useState(0);
  const latest = useRef(props);
  latest.current = props;
  const at = useRef(0); // the cursor, as keys may come faster than renderings
  const mine = useRef(new Set<number>()); // rows selected by this table whose change has not arrived yet
  const setCursor = (index: number): void => {
    at.current = index;
    showCursor(index);
  };
  const page = Math.max(1, Math.floor(height / ROW) - 2);
  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const last = Math.min(order.length, first + page + 2 + 2 * SPARE);
  const name = useRef(`t${Math.random().toString(36).slice(2, 8)}`).current;

  const reveal = (index: number): void => {
    const element = box.current;
    if (!element) return;
    if (index * ROW < element.scrollTop) element.scrollTop = index * ROW;
    else if ((index + 2) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (index + 2) * ROW - element.clientHeight;
  };
  useEffect(() => {
    const index = indexOf(order, selected); // scroll to a row that another view has selected
    if (index === at.current) mine.current.clear();
    if (index < 0 || mine.current.has(order[index]!)) return;
    setCursor(index);
    reveal(index);
  }, [selected, order, height > 0]);
  useLayoutEffect(() => {
    if (cursor >= order.length) setCursor(Math.max(0, order.length - 1));
  }, [order]);

  useLayoutEffect(() => {
    if (box.current) contents.set(box.current, () => latest.current);
  }, []);

  const go = (index: number): void => {
    setCursor(index);
    reveal(index);
    if (!order.length) return;
    if (props.onSelect) mine.current.add(order[index]!);
    props.onSelect?.(order[index]!);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.target !== box.current || !order.length) return; // the buttons of the head have their own keys
    const to = event.altKey || event.ctrlKey || event.metaKey ? undefined : moved(event.key, at.current, order.length, page);
    if (to !== undefined) go(to);
    else if (event.key === "Enter") props.onOpen?.(order[at.current]!);
    else if (!props.onKey?.(event, order[at.current]!)) return;
    event.preventDefault();
  };
  const rows = [];
  for (let index = first; index < last; index++) {
    const row = order[index]!;
    const classes = ["row", row === selected ? "selected" : "", index === cursor ? "cursor" : "", props.rowClass?.(row) ?? ""];
    rows.push(
      <div
        key={row}
        id={`${name}-${index}`}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={row === selected}
        aria-level={props.level?.(row)}
        aria-expanded={props.expanded?.(row)}
        class={classes.filter(Boolean).join(" ")}
        style={{ top: `${(index + 1) * ROW}px` }}
        onClick={() => go(index)}
        onDblClick={() => props.onOpen?.(row)}
      >
        {columns.map((column) => (
          <Cell key={column.id} column={column} row={row} />
        ))}
      </div>,
    );
  }
  return (
    <div
      class="table"
      ref={box}
      role={props.level ? "treegrid" : "grid"}
      aria-label={props.label}
      aria-rowcount={order.length + 1}
      aria-activedescendant={cursor >= first && cursor < last ? `${name}-${cursor}` : undefined}
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={key}
      style={{ "--tracks": columns.map((column) => column.width).join(" ") }}
    >
      <div class="rows" style={{ height: `${(order.length + 1) * ROW}px` }}>
        <Head columns={columns} sorting={props.sorting} onSort={props.onSort} />
        {rows}
      </div>
    </div>
  );
}
