// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes payloads of columns (src/view/columns.h): a JSON header, then little-endian arrays of numbers like all browsers' typed
// arrays.
import type { Answers } from "./contract";

export const NONE = 0xffffffff;
const MAGIC = 0x4f435053; // "SPCO"

const TYPES = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array, u8: Uint8Array };
type Type = keyof typeof TYPES;
export type Numbers = Float64Array | Float32Array | Uint32Array | Int32Array | Uint8Array;

/** The kind of a query: src/view/contract.json describes the answer to each kind. */
export type Kind = keyof Answers;
type Of<K extends Kind> = Answers[K]["columns"];

/** The answer to a query of a kind. */
export class Columns<K extends Kind> {
  constructor(
    readonly meta: Answers[K]["meta"],
    private readonly columns: ReadonlyMap<string, Numbers>,
  ) {}

  has(name: keyof Of<K> & string): boolean {
    return this.columns.has(name);
  }

  /** Throws if the column is missing, which is a bug; has() tests for optional columns. */
  get<N extends keyof Of<K> & string>(name: N): NonNullable<Of<K>[N]> {
    return this.named(name) as unknown as NonNullable<Of<K>[N]>;
  }

  /** The values of a metric with or without those of callees. */
  metric(name: string, part: "incl" | "excl"): Float64Array {
    return this.named(`metric:${name}:${part}`) as Float64Array;
  }

  /** The names of the metrics that have columns. */
  metrics(): string[] {
    return [...this.columns.keys()].flatMap((name) => /^metric:(.*):incl$/.exec(name)?.[1] ?? []);
  }

  private named(name: string): Numbers {
    const column = this.columns.get(name);
    if (!column) throw new Error(`no column ${name} among ${[...this.columns.keys()].join(", ")}`);
    return column;
  }
}

/** Parses the answer to a query. The arrays are views of the buffer, without copies. */
export function parse<K extends Kind>(buffer: ArrayBuffer): Columns<K> {
  const head = new DataView(buffer);
  if (buffer.byteLength < 8 || head.getUint32(0, true) !== MAGIC) throw new Error("the data is not Spartito's");
  const size = head.getUint32(4, true);
  if (size % 8 || 8 + size > buffer.byteLength) throw new Error("the data is cut off");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const columns = new Map<string, Numbers>();
  for (const [name, entry] of Object.entries(header.columns as Record<string, { type: Type; at: number; n: number }>)) {
    const Array = TYPES[entry.type];
    const at = 8 + size + entry.at;
    if (at + entry.n * Array.BYTES_PER_ELEMENT > buffer.byteLength) throw new Error(`the data is cut off in ${name}`);
    columns.set(name, new Array(buffer, at, entry.n));
  }
  return new Columns(header.meta, columns);
}

function typeOf(numbers: Numbers): Type {
  for (const [type, Array] of Object.entries(TYPES)) if (numbers instanceof Array) return type as Type;
  throw new Error("not an array of numbers");
}

/** The inverse of parse(). */
export function pack(meta: object, columns: Record<string, Numbers>): ArrayBuffer {
  const entries: Record<string, { type: Type; at: number; n: number }> = {};
  let at = 0;
  for (const [name, numbers] of Object.entries(columns)) {
    entries[name] = { type: typeOf(numbers), at, n: numbers.length };
    at = (at + numbers.byteLength + 7) & ~7;
  }
  const header = new TextEncoder().encode(JSON.stringify({ meta, columns: entries }));
  const size = (header.length + 7) & ~7;
  const buffer = new ArrayBuffer(8 + size + at);
  const all = new Uint8Array(buffer);
  all.fill(0x20, 8, 8 + size);
  all.set(header, 8);
  new DataView(buffer).setUint32(0, MAGIC, true);
  new DataView(buffer).setUint32(4, size, true);
  for (const [name, numbers] of Object.entries(columns)) {
    all.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), 8 + size + entries[name]!.at);
  }
  return buffer;
}
