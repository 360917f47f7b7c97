// SPDX-License-Identifier: BSD-3-Clause
// The communication matrix: bytes, messages or time by sender and receiver.
import { useMemo, useState } from "preact/hooks";
import { PaintChoice, Uncompared, useAgainst, useBase } from "../parts/against";
import type { Measure } from "../data/change";
import type { Columns } from "../data/columns";
import type { Facts } from "../data/facts";
import { type Answer, useFacts, useQuery, useReport, useSelection, useStore } from "../state/hooks";
import { Matrix, type Quantity } from "../data/matrix";
import { MatrixPicture, shown } from "../charts/matrixpicture";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Toolbar } from "../parts/Menu";
import { count } from "../data/units";

const OPTIONS = [
  { value: "bytes", title: "Bytes" },
  { value: "messages", title: "Messages" },
  { value: "time", title: "Time", hint: "From the begin of the send to the end of the receive, all messages together" },
];

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
  useReport(() => ({
    ready: !base.loading,
    quantity,
    before: compared ? Array.from({ length: matrix.size }, (_, from) => Array.from({ length: matrix.size }, (_, to) => matrix.was(quantity, from, to))) : undefined,
    labels: Array.from({ length: matrix.size }, (_, i) => matrix.label(facts, i)),
    cells: Array.from({ length: matrix.size }, (_, from) => Array.from({ length: matrix.size }, (_, to) => matrix.value(quantity, from, to))),
    sent: Array.from({ length: matrix.size }, (_, i) => matrix.sent(quantity, i)),
    received: Array.from({ length: matrix.size }, (_, i) => matrix.received(quantity, i)),
    total: matrix.total(quantity),
    remarks: remarks(columns.meta),
  }));
  const rest = remarks(columns.meta);
  return (
    <div class="matrix">
      <Toolbar status={`${count(matrix.total("messages"))} messages, ${shown("bytes", matrix.total("bytes"))}${rest ? ` · ${rest}` : ""}`}>
        <Choice label="Quantity" value={quantity} options={OPTIONS} onChange={(value) => setQuantity(value as Quantity)} />
        {compared && <PaintChoice paint={paint} onPaint={setPaint} plain="Amount" absolute="Change" />}
        {matrix.elsewhere > 0 && <span>{`${count(matrix.elsewhere)} messages of the other run were between ranks that this run does not have`}</span>}
      </Toolbar>
      <Uncompared problem={base.problem} />
      {matrix.total("messages") > 0 || compared ? (
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
        />
      ) : (
        <Empty title="No messages">No rank sent a message to another in the selected time. Collective operations are not in the matrix.</Empty>
      )}
    </div>
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
