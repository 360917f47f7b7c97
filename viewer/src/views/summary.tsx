// SPDX-License-Identifier: BSD-3-Clause
// The first view: where the time is spent, title and settings of the run, cost of measuring, lost data.
import { useMemo } from "preact/hooks";
import { css, ofModule } from "../draw/colour";
import type { Columns } from "../data/columns";
import { type Facts, type Regions } from "../data/facts";
import { byPackage, type Flat, sorted, sumOf } from "../data/flat";
import { useFlat } from "../state/calls";
import { type Answer, useDark, useFacts, useQuery, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { useRegionColours } from "../state/colours";
import { inModule, useHighlighted } from "../state/highlighted";
import { type Bar, Bars } from "../parts/Bars";
import { Findings } from "../parts/findings";
import { count, moment, percent, time } from "../data/units";
import { type Weight, chosenMetric, weightOf } from "../data/weight";
import type { View } from "../parts/view";

const ROWS = 12; // maximum of functions and packages; the table has all
const IMPORTS = "(imports)";

interface SelfProps {
  flat: Flat;
  regions: Regions;
  weight: Weight;
  /** The exclusive values of each row without imports, and those of imports. */
  excl: Float64Array;
  imports: number;
}

/** The bar of all imports, whose functions have no bars. */
function useImportsBar({ weight, imports }: SelfProps, total: number): Bar {
  const store = useStore();
  return {
    key: "imports",
    text: IMPORTS,
    hint: "All functions that ran while modules were imported, without modules of the program: the view of imports has them by module",
    share: imports / total,
    value: weight.show(imports),
    colour: css(ofModule(IMPORTS, useDark())),
    chosen: false,
    faded: false,
    go: () => store.select({ view: "imports" }),
  };
}

/** The longest bars, and the one of imports at its place, if it is one of them. */
function withImports(bars: Bar[], imports: Bar): Bar[] {
  if (!imports.share) return bars.slice(0, ROWS);
  const ran = bars.filter(({ share }) => share > 0);
  const longer = ran.filter(({ share }) => share >= imports.share);
  return [...longer, imports, ...ran.slice(longer.length)].slice(0, ROWS);
}

function Functions({ rows, ...props }: SelfProps & { rows: Uint32Array }) {
  const { flat, regions, weight, excl, imports } = props;
  const store = useStore();
  const colour = useRegionColours(regions);
  const selected = useSelection().region;
  const highlighted = useHighlighted();
  const total = sumOf(excl) + imports || 1;
  const bars = Array.from(rows.subarray(0, ROWS), (row) => {
    const region = flat.region[row]!;
    return {
      key: String(region),
      text: regions.names[region]!,
      hint: [regions.names[region], regions.placeOf(region), ...(flat.visits[row] ? [`${count(flat.visits[row]!)} calls`] : [])].join("\n"),
      share: excl[row]! / total,
      value: weight.show(excl[row]!),
      colour: css(colour(region)),
      chosen: region === selected,
      faded: highlighted !== undefined && !highlighted[region],
      go: () => store.select({ view: "table", region }),
    };
  });
  return <Bars rows={withImports(bars, useImportsBar(props, total))} />;
}

function Packages(props: SelfProps) {
  const { flat, regions, weight, excl, imports } = props;
  const store = useStore();
  const dark = useDark();
  const selected = useSelection().module;
  const packages = useMemo(() => byPackage(flat, regions, excl), [flat, regions, excl]);
  const total = sumOf(excl) + imports || 1;
  const bars = packages.slice(0, ROWS).map(({ module, excl }) => ({
    key: `package ${module}`,
    text: module || "(no module)",
    hint: module || "Functions that are in no module",
    share: excl / total,
    value: weight.show(excl),
    colour: css(ofModule(module, dark)),
    chosen: module !== "" && module === selected,
    faded: selected !== undefined && !inModule(module, selected) && !inModule(selected, module),
    go: () => store.select({ view: "table", module: module || undefined }),
  }));
  return <Bars rows={withImports(bars, useImportsBar(props, total))} />;
}

/** Whose code took the time: a click leads to the view that has more. */
function Owners({ answer }: { answer: Answer<Columns<"own">> }) {
  const store = useStore();
  const dark = useDark();
  const meta = answer.data?.meta;
  const total = meta?.parts.reduce((sum, part) => sum + part.time, 0) ?? 0;
  if (!meta || !total) return <p class="fine">{answer.problem ?? (meta ? "No time in functions was recorded." : "Reading…")}</p>;
  return (
    <>
      <Bars
        rows={meta.parts
          .filter(({ time }) => time > 0)
          .map(({ part, title, time: spent }) => ({
            key: part,
            text: title,
            hint: part === "libraries" ? [title, ...meta.packages.slice(0, 3).map((one) => `${one.name}: ${time(one.time)}`)].join("\n") : title,
            share: spent / total,
            value: time(spent),
            colour: css(ofModule(title, dark)),
            chosen: false,
            faded: false,
            go: () => store.select({ view: part === "imports" ? "imports" : "own" }),
          }))}
      />
      {meta.notes.map((note) => (
        <p key={note} class="fine">
          {note}
        </p>
      ))}
    </>
  );
}

function Words({ sentences, about }: { sentences: readonly string[]; about: readonly (number | null)[] }) {
  const store = useStore();
  return (
    <>
      {sentences.map((sentence, at) => {
        const region = about[at];
        return (
          <p key={sentence}>
            {typeof region === "number" ? (
              <button title="Show this function" onClick={() => store.select({ view: "table", region })}>
                {sentence}
              </button>
            ) : (
              sentence
            )}
          </p>
        );
      })}
    </>
  );
}

const VERSIONS: Record<string, string> = { viewer: "Shown by Spartito", spartito: "Measured by Spartito", python: "Python", mpi: "MPI" };

function About({ facts }: { facts: Facts }) {
  const { processes, locations, cost } = facts;
  const ranks = processes.filter((process) => process.rank !== null).length;
  const hosts = [...new Set(processes.map((process) => process.host))];
  const where = facts.compensated ? "taken out of the times of functions" : "which is in the times; --compensate takes it out";
  const rows: [string, string][] = [
    ["Command", facts.command.join(" ")],
    ["Started", moment(facts.start)],
    ["Duration", time(facts.duration)],
    ["Host", hosts.length > 1 ? `${facts.host} and ${hosts.length - 1} more` : facts.host],
    ["Processes", ranks ? `${count(processes.length)}, ${count(ranks)} of them ranks of MPI` : count(processes.length)],
    ["Threads", count(locations.length)],
    ["Recorded", facts.traced ? "profile and trace" : "profile; with --trace also the order in time"],
    ["Measuring", facts.visits ? `${time(cost.in + cost.out)} for each call, ${percent(cost.share)} of the ${facts.has.off_cpu ? "running time" : "time"} of all threads, ${where}` : "no call was measured"],
    ...Object.entries(facts.versions).map(([name, version]): [string, string] => [VERSIONS[name] ?? name, version]),
  ];
  return (
    <dl class="about">
      {rows.map(([name, text]) => (
        <>
          <dt>{name}</dt>
          <dd title={text}>{text}</dd>
        </>
      ))}
    </dl>
  );
}

function Remarks({ facts }: { facts: Facts }) {
  const remarks = [...facts.lost, ...facts.problems];
  if (!remarks.length) return <p class="fine">Nothing was lost: the numbers include all measured calls.</p>;
  return <Listed remarks={remarks} />;
}

function Listed({ remarks }: { remarks: string[] }) {
  return (
    <ul class="remarks">
      {remarks.map((remark) => (
        <li key={remark}>{remark.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</li>
      ))}
    </ul>
  );
}

function Summary() {
  const facts = useFacts();
  const flat = useFlat();
  const regions = useRegions().data;
  const comparison = useQuery(facts.has.compare ? "compare" : undefined, {});
  const compared = comparison.data;
  // what takes longer comes after the first picture
  const findings = useQuery(flat.data && regions ? "findings" : undefined, {});
  const weight = weightOf(chosenMetric(facts, { view: "summary" })); // a metric if nothing has times
  const by = weight.metric ? weight.self : (flat.data?.selfName ?? weight.self);
  const folded = useMemo(() => flat.data?.withoutImports(weight), [flat.data, weight]);
  const excl = folded?.excl;
  const rows = useMemo(() => {
    const order = flat.data && folded && sorted(Uint32Array.from({ length: flat.data.count }, (_, i) => i), folded.excl, true);
    return order && folded?.imports ? order.filter((row) => folded.excl[row]! > 0) : order; // not those that imports alone ran
  }, [flat.data, folded]);
  const own = useQuery(flat.data && regions ? "own" : undefined, {});
  useReport(() => ({
    ready: Boolean((flat.data && regions) || flat.problem) && (!facts.has.compare || !comparison.loading),
    sentences: facts.sentences,
    against: compared?.meta.sentences ?? null,
    remarks: [...facts.lost, ...facts.problems],
    findings: findings.data?.meta.findings.map((finding) => [finding.title, finding.gain]) ?? null,
    own: own.data?.meta.parts.map((part) => [part.title, part.time]) ?? null,
    total: flat.data?.total,
    imports: folded?.imports,
    functions: rows && Array.from(rows.subarray(0, ROWS), (row) => [regions?.names[flat.data!.region[row]!], excl![row]]),
  }));
  return (
    <div class="summary">
      <section class="words">
        <Words sentences={facts.sentences} about={facts.about} />
      </section>
      {compared && (
        <section class="words">
          <h2>Against {compared.meta.base.title}</h2>
          <Words sentences={[...compared.meta.sentences, ...compared.meta.costs]} about={compared.meta.about} />
        </section>
      )}
      <section class="findings">
        <h2>Findings</h2>
        <Findings answer={findings} regions={regions} />
      </section>
      <section>
        <h2>{`Functions by ${by}`}</h2>
        {flat.data && regions && folded && rows ? <Functions flat={flat.data} regions={regions} weight={weight} {...folded} rows={rows} /> : <p class="fine">{flat.problem ?? "Reading…"}</p>}
      </section>
      <section>
        <h2>{`Packages by ${by}`}</h2>
        {flat.data && regions && excl && <Packages flat={flat.data} regions={regions} weight={weight} {...folded} />}
      </section>
      <section class="owners">
        <h2>Whose code ran</h2>
        <Owners answer={own} />
      </section>
      <section>
        <h2>The run</h2>
        <About facts={facts} />
      </section>
      <section>
        <h2>What was lost</h2>
        <Remarks facts={facts} />
      </section>
      {facts.pruned && facts.pruned.length > 0 && (
        <section>
          <h2>What this file leaves out</h2>
          <Listed remarks={facts.pruned} />
        </section>
      )}
    </div>
  );
}

export const summary: View = { id: "summary", title: "Summary", filtered: true, available: () => true, component: Summary };
