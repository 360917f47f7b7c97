// SPDX-License-Identifier: BSD-3-Clause
// What stands where nothing can be shown: why, and what to do.
import type { ComponentChildren } from "preact";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty" role="status">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

/** While the first answer is under way, and if it does not come; nothing when it is there. */
export function Waiting({ problem, what }: { problem?: string | undefined; what: string }) {
  return problem ? <Empty title={problem} /> : <Empty title={`Reading ${what}…`} />;
}
