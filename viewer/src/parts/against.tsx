// SPDX-License-Identifier: BSD-3-Clause
// Another run beside this one: what of it is what here, and its answers to the questions that views ask of this run.
import { useState } from "preact/hooks";
import { type Change, type Measure, changeOf } from "../data/change";
import type { Columns, Kind } from "../data/columns";
import { type Answer, useAnswer, useFacts, useSelection } from "../state/hooks";
import { Choice } from "./Menu";
import type { RowColumn } from "./Rows";
import type { Params } from "../data/source";
import { type Unit, inUnit, moment, signed, timeUnit } from "../data/units";

/** What the kind "compare" says of places and names. */
export class Against {
  readonly title: string;
  readonly directory: string;
  /** When it began, seconds since 1970. */
  readonly start: number;
  /** Sentences: in what else than the program the two differ. */
  readonly unlike: string[];
  /** The same in a few words. */
  readonly headline: string;
  /** What of the other run was lost or is damaged. */
  readonly lost: string[];
  private readonly processes: (number | null)[];
  private readonly locations: (number | null)[];
  private readonly names: Map<string, string>;

  constructor({ meta }: Columns<"compare">) {
    const { base, processes, locations, names, unlike, headline } = meta;
    this.title = base.title;
    this.directory = base.directory;
    this.start = base.start;
    this.unlike = unlike;
    this.headline = headline;
    this.lost = [...base.lost, ...base.problems];
    this.processes = processes;
    this.locations = locations;
    this.names = new Map(Object.entries(names));
  }

  /** What a process of the other run is here; NaN: nothing. */
  process(there: number | null): number {
    return there === null ? Number.NaN : (this.processes[there] ?? Number.NaN);
  }

  location(there: number | null): number {
    return there === null ? Number.NaN : (this.locations[there] ?? Number.NaN);
  }

  /** What a function there is called here. */
  name(there: string): string {
    return this.names.get(there) ?? there;
  }
}

const asAgainst = (columns: Columns<"compare">): Against => new Against(columns);

/** undefined: there is no other run, or it is not known yet. */
export const useAgainst = (): Against | undefined => useKnown().data;

function useKnown(): Answer<Against> {
  const facts = useFacts();
  return useAnswer(facts.has.compare ? "compare" : undefined, {}, asAgainst);
}

/** The other run's answer; nothing while a range of time is selected, which has no counterpart. */
export function useBase<K extends Kind, T>(kind: K | undefined, params: Params<K>, make: (columns: Columns<K>) => T): Answer<T> {
  const facts = useFacts();
  const { begin, end } = useSelection();
  const asked = facts.has.compare && begin === undefined && end === undefined ? kind : undefined;
  const answer = useAnswer(asked, { ...params, of: "base" }, make);
  const known = useKnown(); // without which no view can tell what it is here
  if (asked === undefined) return { data: undefined, loading: false, problem: undefined };
  return { ...answer, loading: answer.loading || known.loading, problem: answer.problem ?? known.problem };
}

/** A sentence where the other run cannot stand beside this one; undefined: it does, or there is none. */
export function useUncompared(problem?: string): string | undefined {
  const facts = useFacts();
  const { begin, end } = useSelection();
  if (!facts.has.compare) return undefined;
  if (begin !== undefined || end !== undefined) return "A range of time has no counterpart in the other run: this is the run itself.";
  if (!problem) return undefined;
  return /^(the|no) /.test(problem) ? `${problem[0]!.toUpperCase()}${problem.slice(1)}.` : `The other run cannot be compared with it: ${problem}.`;
}

/** Says it above a view. */
export function Uncompared({ problem }: { problem?: string | undefined }) {
  const said = useUncompared(problem);
  return said ? <p class="note">{said}</p> : null;
}

/** Above all views: what this run is compared with, and what else than the program may have changed its times. */
export function Compared() {
  const against = useAgainst();
  const [open, show] = useState(true);
  if (!against) return null;
  const { title, directory, start, unlike, headline, lost } = against;
  const remarks = [...unlike, ...lost.map((one) => `Of the other run: ${one}.`)];
  return (
    <div class="against">
      <p>
        Against <b>{title}</b> of {moment(start)} in <code>{directory}</code>
        {remarks.length > 0 && (
          <button class="warning" aria-expanded={open} onClick={() => show(!open)}>
            {headline || "not whole"}
          </button>
        )}
      </p>
      {open && remarks.map((sentence) => <p key={sentence}>{sentence}</p>)}
    </div>
  );
}

/** Of views over time, where nothing of one run is at the same moment in the other. */
export function OneRun() {
  const against = useAgainst();
  if (!against) return null;
  return (
    <p class="note onerun">
      This is the run itself. Points in time of two runs cannot be compared; the other one's are shown by <code>spartito view {against.directory}</code>.
    </p>
  );
}

const PAINTS = [
  { value: "module", title: "Module" },
  { value: "relative", title: "Change %", hint: "Change against what it was in the other run" },
  { value: "absolute", title: "Change s", hint: "Change against the largest change of all" },
];

/** What colours mean: beside another run the change, until something else is chosen. */
export function usePaint(): ["module" | Measure, (paint: "module" | Measure) => void] {
  return useState<"module" | Measure>(useFacts().has.compare ? "relative" : "module");
}

interface PaintProps {
  paint: "module" | Measure;
  onPaint: (paint: "module" | Measure) => void;
  plain?: string;
  absolute?: string;
  /** Why there is nothing of the other run. */
  none?: string | undefined;
}

/** What colours mean; nothing to choose where there is one run. */
export function PaintChoice({ paint, onPaint, plain = "Module", absolute = "Change s", none }: PaintProps) {
  const compared = useFacts().has.compare;
  const { begin, end } = useSelection();
  if (!compared || begin !== undefined || end !== undefined || none !== undefined) return null;
  const options = PAINTS.map((one) => ({ ...one, title: { module: plain, relative: one.title, absolute }[one.value]! }));
  return <Choice label="Colour" value={paint} options={options} onChange={(value) => onPaint(value as "module" | Measure)} />;
}


/** Three columns for a table of rows: what was before, and the change in both ways. unit: of the column beside which they stand. */
export function changeColumns<T>(rows: readonly T[], of: (row: T) => Change, what = "before"): RowColumn<T>[] {
  const unit: Unit = timeUnit(rows.reduce((most, row) => Math.max(most, of(row).now, of(row).before), 0));
  return [
    { id: `${what}:before`, title: what, hint: "In the other run", unit, width: "96px", value: (row) => of(row).before, cell: (row) => inUnit(of(row).before, unit) },
    {
      id: `${what}:change`,
      title: "Change",
      hint: "More or less than in the other run",
      unit,
      width: "96px",
      value: (row) => of(row).now - of(row).before,
      cell: (row) => signed(inUnit(of(row).now - of(row).before, unit), of(row).now - of(row).before),
    },
    { id: `${what}:ratio`, title: "Change", unit: { size: 1, name: "%" }, width: "92px", value: (row) => ratioOf(of(row)), cell: (row) => changeOf(of(row)) },
  ];
}

/** To sort by: new ones first. */
const ratioOf = ({ now, before }: Change): number => (before ? now / before : now ? Number.MAX_VALUE : 1);
