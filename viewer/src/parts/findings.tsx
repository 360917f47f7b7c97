// SPDX-License-Identifier: BSD-3-Clause
// What costs most and can be changed, in the summary.
import type { Columns } from "../data/columns";
import { type Finding, shownBy } from "../data/findings";
import type { Regions } from "../data/facts";
import { type Answer, useFacts, useStore } from "../state/hooks";

function One({ finding, regions, views, open }: { finding: Finding; regions: Regions; views: readonly string[] | undefined; open: boolean }) {
  const store = useStore();
  const facts = useFacts();
  return (
    <details open={open}>
      <summary>
        {finding.title} <span class="fine">saves at most {finding.gain}</span>
      </summary>
      <ul>
        {finding.evidence.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {finding.path.length > 0 && <p class="fine">{finding.path.join(" → ")}</p>}
      <p>
        Try: {finding.advice}.{" "}
        <button onClick={() => store.select(shownBy(finding, facts, regions, views))} aria-label={`Show where: ${finding.title}`}>
          Show where
        </button>
      </p>
    </details>
  );
}

/** The findings, when the answer has come. views: the names of the views that there are; undefined: all. */
export function Findings({ answer, regions, views }: { answer: Answer<Columns<"findings">>; regions: Regions | undefined; views?: readonly string[] }) {
  const meta = answer.data?.meta;
  if (!meta || !regions) return <p class="fine">{answer.problem ?? "Searching…"}</p>;
  return (
    <>
      {meta.findings.map((finding, at) => (
        <One key={at} finding={finding} regions={regions} views={views} open={at === 0} />
      ))}
      {meta.findings.length === 0 && <p class="fine">No finding: nothing of what can be found in the recorded data has a large part of the run.</p>}
      {meta.notes.map((note) => (
        <p key={note} class="fine">
          {note}
        </p>
      ))}
    </>
  );
}
