// SPDX-License-Identifier: BSD-3-Clause
// The choice of one process or thread: a menu with equal roles in groups, or of very many a field that finds names.
import { useState } from "preact/hooks";
import { count } from "../data/units";
import { Menu } from "./Menu";

const LISTED = 500; // units that a menu lists
const OFFERED = 40; // names that the field offers

/** The unit that a text names: a whole name, or its number; undefined: none. */
export function unitOf(names: readonly string[], text: string): number | undefined {
  const at = names.indexOf(text);
  if (at >= 0) return at;
  return /^#?\d+$/.test(text) && Number(text.replace("#", "")) < names.length ? Number(text.replace("#", "")) : undefined;
}

/** The names that contain a text, the first ones. */
export function namesWith(names: readonly string[], text: string): string[] {
  const wanted = text.toLowerCase();
  const found: string[] = [];
  for (const name of names) if (name.toLowerCase().includes(wanted) && found.push(name) === OFFERED) break;
  return found;
}

interface Props {
  label: string;
  names: readonly string[];
  roles: readonly string[];
  value: number | undefined;
  /** all: no unit can be chosen. */
  all?: boolean;
  choose: (index: number | undefined) => void;
}

function Field({ label, names, value, all, choose }: Props) {
  const [text, setText] = useState<string>();
  const id = `pick-${label}`;
  return (
    <label class="menu">
      <span>{label}</span>
      <input
        type="search"
        size={30}
        list={id}
        placeholder={all ? `all ${count(names.length)}` : `one of ${count(names.length)}`}
        title="A part of a name, or a number; the list offers the names that contain it"
        value={text ?? (value === undefined ? "" : names[value])}
        onInput={(event) => {
          const now = event.currentTarget.value;
          const found = names.indexOf(now);
          setText(found < 0 ? now : undefined);
          if (found >= 0) choose(found);
        }}
        onChange={(event) => {
          const now = event.currentTarget.value.trim();
          const found = now ? (unitOf(names, now) ?? names.indexOf(namesWith(names, now)[0] ?? "")) : -1;
          setText(undefined);
          if (found >= 0 || all) choose(found >= 0 ? found : undefined);
        }}
      />
      <datalist id={id}>
        {namesWith(names, text ?? "").map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

export function Pick(props: Props) {
  const { label, names, roles, value, all, choose } = props;
  if (names.length > LISTED) return <Field {...props} />;
  const sizes = new Map<string, number>();
  for (const role of roles) sizes.set(role, (sizes.get(role) ?? 0) + 1);
  const group = (index: number): string | undefined => (sizes.get(roles[index]!)! > 1 && sizes.size > 1 ? `${roles[index]} × ${sizes.get(roles[index]!)}` : undefined);
  const options = names.map((title, index) => ({ value: String(index), title, group: group(index) }));
  return <Menu label={label} value={value === undefined ? "" : String(value)} options={all ? [{ value: "", title: "all", group: undefined }, ...options] : options} onChange={(chosen) => choose(chosen ? Number(chosen) : undefined)} />;
}
