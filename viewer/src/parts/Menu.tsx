// SPDX-License-Identifier: BSD-3-Clause
// The browser's own controls with labels, which support keyboard and screen reader.
import type { ComponentChildren } from "preact";

export interface Option {
  value: string;
  title: string;
  /** Tooltip. */
  hint?: string;
  /** Those with equal groups are listed together, below its name. */
  group?: string | undefined;
}

interface Props {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}

const listed = (option: Option, value: string) => (
  <option key={option.value} value={option.value} title={option.hint} selected={option.value === value}>
    {option.title}
  </option>
);

/** The frame of a notebook has no groups. */
function Options({ options, value }: Pick<Props, "options" | "value">) {
  const groups = new Map<string | undefined, Option[]>();
  for (const option of options) groups.set(option.group, [...(groups.get(option.group) ?? []), option]);
  return (
    <>
      {[...groups].map(([group, those]) => {
        const found = those.map((option) => listed(option, value));
        return group === undefined ? found : <optgroup label={group}>{found}</optgroup>;
      })}
    </>
  );
}

/** A drop-down menu. */
export function Menu({ label, value, options, onChange }: Props) {
  return (
    <label class="menu">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {PAGE ? <Options options={options} value={value} /> : options.map((option) => listed(option, value))}
      </select>
    </label>
  );
}

/** A choice between few options, all visible. */
export function Choice({ label, value, options, onChange }: Props) {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value} class={option.value === value ? "on" : ""} title={option.hint}>
          <input type="radio" name={label} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.title}
        </label>
      ))}
    </div>
  );
}

/** The line above a view: settings on the left, a description of the contents on the right. hint: a description of keys and clicks. */
export function Toolbar({ children, status, hint }: { children?: ComponentChildren; status?: ComponentChildren; hint?: string }) {
  return (
    <div class="toolbar" role="toolbar">
      {children}
      {status && <span class="status">{status}</span>}
      {hint && <span class="status hint">{hint}</span>}
    </div>
  );
}
