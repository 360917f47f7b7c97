// SPDX-License-Identifier: BSD-3-Clause
// The communication matrix: bytes, messages or time by sender and receiver.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { PaintChoice, Uncompared, useAgainst, useBase } from "../parts/against";
import type { Measure } from "../data/change";
import type { Columns } from "../data/columns";
import type { Facts } from "../data/facts";
import { css, ofChange, ofHeat } from "../draw/colour";
import { type Answer, useDark, useFacts, useQuery, useReport, useSelection, useStore } from "../state/hooks";
import { Matrix, type Pair, type Quantity, processTitle } from "../data/matrix";
import { type Chosen, MatrixPicture, heat, shown } from "../charts/matrixpicture";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { type Unit, byteUnit, count, inUnit } from "../data/units";

const OPTIONS = [
  { value: "bytes", title: "Bytes" },
  { value: "messages", title: "Messages" },
  { value: "time", title: "Time", hint: "From the begin of the send to the end of the receive, all messages together" },
];

const RANK: Unit = { size: 1, name: "rank" };
const MOST = 500; // pairs in the list

/** The meaning of the colours: a quarter of the largest value is in the middle, as the strength grows with the square root. */
function Scale({ matrix, quantity, paint }: { matrix: Matrix; quantity: Quantity; paint: "module" | Measure }) {
  const dark = useDark();
  const most = matrix.largest(quantity);
  const change = shown(quantity, matrix.largestChange(quantity));
  const labels = { module: ["0", shown(quantity, most / 4), shown(quantity, most)], relative: ["less", "same", "more"], absolute: [`-${change}`, "0", `+${change}`] }[paint];
  const stops = Array.from({ length: 9 }, (_, i) => css(paint === "module" ? ofHeat(heat((i / 8) ** 2), dark) : ofChange(i / 4 - 1, dark)));
  return (
    <span class="scale" style={{ background: `linear-gradient(to right, ${stops.join(",")})` }} title="The colours of the cells, by the amount of a pair of ranks">
      {labels.map((label) => (
        <span key={label}>{label}</span>
      ))}
    </span>
  );
}

interface PairsProps {
  matrix: Matrix;
  facts: Facts;
  quantity: Quantity;
  focus: Chosen | undefined;
  onFocus: (cell: Chosen) => void;
}

/** The pairs of ranks with the most of the quantity. */
function Pairs({ matrix, facts, quantity, focus, onFocus }: PairsProps) {
  const rows = useMemo(() => matrix.pairs(quantity, MOST), [matrix, quantity]);
  const columns: RowColumn<Pair>[] = useMemo(() => {
    const unit = byteUnit(rows.reduce((most, pair) => Math.max(most, pair.bytes), 0));
    const rank = (process: number): number => facts.processes[process]?.rank ?? Infinity;
    const text = (process: number): ComponentChildren => facts.processes[process]?.rank ?? processTitle(facts, process);
    const bar = (of: Quantity) => (of === quantity ? { bar: (pair: Pair) => pair[of] / rows[0]![of] } : {});
    return [
      { id: "from", title: "From", unit: RANK, width: "minmax(56px, 1fr)", value: (p) => rank(p.from), cell: (p) => text(p.from) },
      { id: "to", title: "To", unit: RANK, width: "minmax(56px, 1fr)", value: (p) => rank(p.to), cell: (p) => text(p.to) },
      { id: "bytes", title: "Bytes", unit, width: "96px", value: (p) => p.bytes, cell: (p) => inUnit(p.bytes, unit, unit.size > 1 ? 2 : 0), ...bar("bytes") },
      { id: "messages", title: "Messages", width: "90px", value: (p) => p.messages, cell: (p) => count(p.messages), ...bar("messages") },
      { id: "time", title: "Time", hint: OPTIONS[2]!.hint!, width: "76px", time: true, value: (p) => p.time, ...bar("time") },
    ];
  }, [matrix, facts, rows]);
  const cell = (pair: Pair): Chosen => ({ row: matrix.placeOf(pair.from), column: matrix.placeOf(pair.to) });
  return (
    <Rows
      key={quantity}
      label="Pairs of sender and receiver"
      rows={rows}
      columns={columns}
      by={quantity}
      selected={(pair) => focus !== undefined && cell(pair).row === focus.row && cell(pair).column === focus.column}
      onSelect={(pair) => onFocus(cell(pair))}
    />
  );
}

const same = (columns: Columns<"matrix">): Columns<"matrix"> => columns;

/** Notes about messages that are not in the cells, or whose times are inaccurate. */
function remarks(meta: Columns<"matrix">["meta"]): string {
  const named = [
    ["unmatched_sends", "sends without a receive"],
    ["unmatched_receives", "receives without a send"],
    ["unmeasured", "with a side that was not measured"],
    ["cancelled", "cancelled"],
    ["early", "that arrived before they were sent, by the clocks"],
  ] as const;
  return named
    .filter(([name]) => meta[name] > 0)
    .map(([name, text]) => `${count(meta[name])} ${text}`)
    .join(", ");
}

function Shown({ columns, base, facts }: { columns: Columns<"matrix">; base: Answer<Columns<"matrix">>; facts: Facts }) {
  const store = useStore();
  const { process } = useSelection();
  const [quantity, setQuantity] = useState<Quantity>("bytes");
  const [paint, setPaint] = useState<"module" | Measure>("module");
  const against = useAgainst();
  const compared = base.data !== undefined && against !== undefined;
  const matrix = useMemo(() => {
    const made = new Matrix(columns, facts);
    return base.data && against ? made.beside(base.data, (process) => against.process(process)) : made;
  }, [columns, facts, base.data, against]);
  const row = process === undefined ? -1 : matrix.processes.indexOf(process);
  const place = Math.floor(row / matrix.group);
  const [focus, setFocus] = useState<Chosen | undefined>(undefined);
  useReport(() => ({
    ready: !base.loading,
    quantity,
    before: compared ? Array.from({ length: matrix.size }, (_, from) => Array.from({ length: matrix.size }, (_, to) => matrix.was(quantity, from, to))) : undefined,
    labels: Array.from({ length: matrix.size }, (_, i) => matrix.label(facts, i)),
    cells: Array.from({ length: matrix.size }, (_, from) => Array.from({ length: matrix.size }, (_, to) => matrix.value(quantity, from, to))),
    sent: Array.from({ length: matrix.size }, (_, i) => matrix.sent(quantity, i)),
    received: Array.from({ length: matrix.size }, (_, i) => matrix.received(quantity, i)),
    total: matrix.total(quantity),
    pairs: matrix.pairs(quantity, MOST).map((pair) => [processTitle(facts, pair.from), processTitle(facts, pair.to), pair[quantity]]),
    focus,
    remarks: remarks(columns.meta),
  }));
  const rest = remarks(columns.meta);
  return (
    <>
      <Toolbar status={`${count(matrix.total("messages"))} messages, ${shown("bytes", matrix.total("bytes"))}${rest ? ` · ${rest}` : ""}`}>
        <Choice label="Quantity" value={quantity} options={OPTIONS} onChange={(value) => setQuantity(value as Quantity)} />
        {compared && <PaintChoice paint={paint} onPaint={setPaint} plain="Amount" absolute="Change" />}
        {matrix.total("messages") > 0 && <Scale matrix={matrix} quantity={quantity} paint={compared ? paint : "module"} />}
        {matrix.elsewhere > 0 && <span>{`${count(matrix.elsewhere)} messages of the other run were between ranks that this run does not have`}</span>}
      </Toolbar>
      <Uncompared problem={base.problem} />
      {matrix.total("messages") > 0 || compared ? (
        <div class="halves">
          <MatrixPicture
            matrix={matrix}
            facts={facts}
            quantity={quantity}
            paint={compared ? paint : "module"}
            chosen={row < 0 ? undefined : { row: place, column: place }}
            onChoose={(at) => {
              const chosen = matrix.processes[at.row * matrix.group]!;
              if (facts.processes[chosen]) store.select({ location: undefined, process: chosen === process ? undefined : chosen });
            }}
            focus={focus}
            onFocus={setFocus}
          />
          <div class="side">
            <Pairs matrix={matrix} facts={facts} quantity={quantity} focus={focus} onFocus={setFocus} />
          </div>
        </div>
      ) : (
        <Empty title="No messages">No rank sent a message to another in the selected time. Collective operations are not in the matrix.</Empty>
      )}
    </>
  );
}

export function Communication() {
  const facts = useFacts();
  const { begin, end } = useSelection();
  const found = useQuery("matrix", { begin, end });
  const base = useBase("matrix", {}, same);
  if (!found.data) return <Waiting problem={found.problem} what="the messages" />;
  return <Shown columns={found.data} base={base} facts={facts} />;
}
