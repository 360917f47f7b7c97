// SPDX-License-Identifier: BSD-3-Clause
// The message of a view without data: the reason, and what to do.
import type { ComponentChildren } from "preact";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty" role="status">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

/** Shown while the first answer is outstanding or after an error; nothing when the answer has arrived. */
export function Waiting({ problem, what }: { problem?: string | undefined; what: string }) {
  return problem ? <Empty title={problem} /> : <Empty title={`Reading ${what}…`} />;
}
