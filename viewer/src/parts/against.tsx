// SPDX-License-Identifier: BSD-3-Clause
// The other run of a comparison: the mapping of its indices and names to this run, and its answers to queries.
import { useState } from "preact/hooks";
import { type Change, type Measure, changeOf } from "../data/change";
import { useAgainstRange } from "../state/calls";
import type { Columns, Kind } from "../data/columns";
import { type Answer, useAnswer, useFacts, useSelection } from "../state/hooks";
import { Choice } from "./Menu";
import type { RowColumn } from "./Rows";
import type { Params } from "../data/source";
import { moment } from "../data/units";

/** The mapping of the other run to this one, from the answer of the kind "compare". */
export class Against {
  readonly title: string;
  readonly directory: string;
  /** Its begin, seconds since 1970. */
  readonly start: number;
  /** Sentences about differences of the conditions. */
  readonly unlike: string[];
  /** These differences in a few words. */
  readonly headline: string;
  /** Messages about its lost or damaged data. */
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

  /** The index here of a process of the other run; NaN: it has no counterpart. */
  process(there: number | null): number {
    return there === null ? Number.NaN : (this.processes[there] ?? Number.NaN);
  }

  location(there: number | null): number {
    return there === null ? Number.NaN : (this.locations[there] ?? Number.NaN);
  }

  /** The name here of a function of the other run. */
  name(there: string): string {
    return this.names.get(there) ?? there;
  }
}

const asAgainst = (columns: Columns<"compare">): Against => new Against(columns);

/** undefined: there is no other run, or its answer is outstanding. */
export const useAgainst = (): Against | undefined => useKnown().data;

function useKnown(): Answer<Against> {
  const facts = useFacts();
  return useAnswer(facts.has.compare ? "compare" : undefined, {}, asAgainst);
}

/** The other run's answer; undefined while a range of time is selected, which has no counterpart. */
export function useBase<K extends Kind, T>(kind: K | undefined, params: Params<K>, make: (columns: Columns<K>) => T): Answer<T> {
  const facts = useFacts();
  const { begin, end } = useSelection();
  const asked = facts.has.compare && begin === undefined && end === undefined ? kind : undefined;
  const answer = useAnswer(asked, { ...params, of: "base" }, make);
  const known = useKnown(); // needed for the mapping of indices
  if (asked === undefined) return { data: undefined, loading: false, problem: undefined };
  return { ...answer, loading: answer.loading || known.loading, problem: answer.problem ?? known.problem };
}

/** Why the views cannot compare with the other run; undefined: they can, or there is no other run. */
export function useUncompared(problem?: string): string | undefined {
  const facts = useFacts();
  const { begin, end } = useSelection();
  if (!facts.has.compare) return undefined;
  if (begin !== undefined || end !== undefined) return "A range of time has no counterpart in the other run: this is the run itself.";
  if (!problem) return undefined;
  return /^(the|no) /.test(problem) ? `${problem[0]!.toUpperCase()}${problem.slice(1)}.` : `The other run cannot be compared with it: ${problem}.`;
}

/** The message of useUncompared() above a view. */
export function Uncompared({ problem }: { problem?: string | undefined }) {
  const note = useUncompared(problem);
  return note ? <p class="note">{note}</p> : null;
}

/** Above all views: the other run, and other differences that may have changed the times. */
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

/** A note of views over time, which cannot compare runs. */
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
  { value: "module", title: "One run", hint: "The colours without a comparison" },
  { value: "relative", title: "Change %", hint: "Change, relative to the other run or range of time" },
  { value: "absolute", title: "Change s", hint: "Change against the largest change of all" },
];

/** The meaning of colours; default with another run: the change. */
export function usePaint(): ["module" | Measure, (paint: "module" | Measure) => void] {
  const [chosen, choose] = useState<"module" | Measure>();
  const runs = useFacts().has.compare;
  const ranges = useAgainstRange() !== undefined;
  return [chosen ?? (runs || ranges ? "relative" : "module"), choose];
}

interface PaintProps {
  paint: "module" | Measure;
  onPaint: (paint: "module" | Measure) => void;
  plain?: string;
  absolute?: string;
  /** Why there are no numbers of the other run. */
  none?: string | undefined;
}

/** The menu for the meaning of colours; without another run there is nothing to choose. */
export function PaintChoice({ paint, onPaint, plain = "One run", absolute = "Change s", none }: PaintProps) {
  const runs = useFacts().has.compare;
  const ranges = useAgainstRange();
  const { begin, end } = useSelection();
  if (!ranges && (!runs || begin !== undefined || end !== undefined || none !== undefined)) return null;
  const options = PAINTS.map((one) => ({ ...one, title: { module: plain, relative: one.title, absolute }[one.value]! }));
  return <Choice label="Colour" value={paint} options={options} onChange={(value) => onPaint(value as "module" | Measure)} />;
}


/** Three columns for a table: the value before, and the change in both measures. */
export function changeColumns<T>(of: (row: T) => Change, what = "before"): RowColumn<T>[] {
  return [
    { id: `${what}:before`, title: what, hint: "In the other run", time: true, width: "96px", value: (row) => of(row).before },
    {
      id: `${what}:change`,
      title: "Change",
      hint: "More or less than in the other run",
      time: true,
      signed: true,
      width: "96px",
      value: (row) => of(row).now - of(row).before,
    },
    { id: `${what}:ratio`, title: "Change", unit: { size: 1, name: "%" }, width: "92px", value: (row) => ratioOf(of(row)), cell: (row) => changeOf(of(row)) },
  ];
}

/** Sort key; new ones come first. */
const ratioOf = ({ now, before }: Change): number => (before ? now / before : now ? Number.MAX_VALUE : 1);
