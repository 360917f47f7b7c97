// SPDX-License-Identifier: BSD-3-Clause
// A table of few objects with text and numbers, sorted by a click on a column.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Unit, columnUnit, inUnit, signed } from "../data/units";
import { type Column, VirtualTable, room } from "./VirtualTable";

export interface RowColumn<T> {
  id: string;
  title: string;
  hint?: string;
  width: string;
  /** Value to sort by. Columns of text, and those with `left`, are aligned to the left. */
  value: (row: T) => number | string;
  /** The values are seconds, shown in one unit for all rows and all such columns. */
  time?: boolean;
  /** Values above 0 have a plus sign. */
  signed?: boolean;
  /** Unit of the values; default: computed from the column. */
  unit?: Unit;
  cell?: (row: T) => ComponentChildren;
  full?: (row: T) => string;
  bar?: (row: T) => number;
  fixed?: boolean;
  left?: boolean;
}

interface Props<T> {
  label: string;
  rows: readonly T[];
  columns: readonly RowColumn<T>[];
  /** Initial sort column; default: the order of rows. */
  by?: string;
  selected?: (row: T) => boolean;
  onSelect?: (row: T) => void;
  onOpen?: (row: T) => void;
  rowClass?: (row: T) => string;
}

/** The unit of all columns of times without a given unit, so that they can be compared. */
export function timesUnit<T>(rows: readonly T[], columns: readonly Pick<RowColumn<T>, "time" | "value" | "unit">[]): Unit {
  const times = columns.filter(({ time, unit }) => time && !unit);
  return columnUnit(rows.reduce((most, row) => times.reduce((found, one) => Math.max(found, Math.abs(Number(one.value(row)))), most), 0));
}

/** The track of a column of numbers, at least as wide as the longest of them. */
function track<T>(rows: readonly T[], { width, value }: RowColumn<T>, text: (value: number) => string): string {
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(Number(value(row)))), 0);
  return width.endsWith("px") ? room(Number.parseFloat(width), text(largest)) : width;
}

function ordered<T>(rows: readonly T[], column: RowColumn<T> | undefined, down: boolean): Uint32Array {
  const order = Uint32Array.from(rows.keys());
  if (!column) return order;
  const keys = rows.map((row) => column.value(row));
  const way = down ? -1 : 1;
  return order.sort((a, b) => {
    const [p, q] = [keys[a]!, keys[b]!];
    return way * (p < q ? -1 : p > q ? 1 : 0) || a - b;
  });
}

export function Rows<T>({ label, rows, columns, by, selected, onSelect, onOpen, rowClass }: Props<T>) {
  const [sorting, sort] = useState(by === undefined ? undefined : { id: by, down: true });
  const [chosen, choose] = useState<T | undefined>(undefined);
  const column = columns.find((one) => one.id === sorting?.id);
  const order = useMemo(() => ordered(rows, column, sorting?.down ?? true), [rows, sorting]);
  const shown = useMemo(
    () => {
      const times = timesUnit(rows, columns);
      return columns.map((one): Column => {
        const text = rows.length > 0 && typeof one.value(rows[0]!) === "string";
        const unit = one.unit ?? (one.time ? times : undefined);
        const said = (value: number): string => (one.signed ? signed(inUnit(value, unit!), value) : inUnit(value, unit!));
        return {
          id: one.id,
          title: one.title,
          width: one.time ? track(rows, one, said) : one.width,
          left: text || (one.left ?? false),
          ...(unit && { unit: unit.name }),
          ...(one.hint && { hint: one.hint }),
          ...(one.fixed && { fixed: true }),
          cell: (i) => one.cell?.(rows[i]!) ?? (unit ? said(Number(one.value(rows[i]!))) : one.value(rows[i]!)),
          ...(one.full && { full: (i: number) => one.full!(rows[i]!) }),
          ...(one.bar && { bar: (i: number) => one.bar!(rows[i]!) }),
        };
      });
    },
    [rows, columns],
  );
  const at = selected ? rows.findIndex(selected) : chosen === undefined ? -1 : rows.indexOf(chosen);
  return (
    <VirtualTable
      label={label}
      order={order}
      columns={shown}
      sorting={sorting}
      onSort={(id) => {
        const number = typeof (rows[0] && columns.find((one) => one.id === id)?.value(rows[0])) !== "string";
        sort({ id, down: sorting?.id === id ? !sorting.down : number });
      }}
      selected={at < 0 ? undefined : at}
      onSelect={(i) => {
        choose(rows[i]!);
        onSelect?.(rows[i]!);
      }}
      onOpen={(i) => onOpen?.(rows[i]!)}
      {...(rowClass && { rowClass: (i: number) => rowClass(rows[i]!) })}
    />
  );
}
