// SPDX-License-Identifier: BSD-3-Clause
// A payload of `Model.view`: a header of JSON, then arrays. src/view/columns.h draws it.

export type Column = Float64Array | Float32Array | Uint32Array | Int32Array | Uint8Array;

/** None, in columns of whole numbers. */
export const NONE = 0xffffffff;

const MAGIC = 0x4f435053; // "SPCO"
const ARRAYS = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array, u8: Uint8Array } as const;

export interface Columns<Meta = Record<string, unknown>> {
  meta: Meta;
  columns: Record<string, Column>;
}

interface Header {
  meta: Record<string, unknown>;
  columns: Record<string, { type: keyof typeof ARRAYS; at: number; n: number }>;
}

/** The arrays are views of the buffer, not copies. Throws where it is no payload, or cut short. */
export function decode<Meta = Record<string, unknown>>(buffer: ArrayBuffer): Columns<Meta> {
  const words = new DataView(buffer);
  if (buffer.byteLength < 8 || words.getUint32(0, true) !== MAGIC) throw new Error('this is no payload of columns');
  const begin = 8 + words.getUint32(4, true);
  if (begin > buffer.byteLength) throw new Error('the payload ends within its header');
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, begin - 8))) as Header;
  const columns: Record<string, Column> = {};
  for (const [name, { type, at, n }] of Object.entries(header.columns)) {
    const array = ARRAYS[type];
    if (array === undefined) throw new Error(`column ${name}: unknown type ${String(type)}`);
    if (begin + at + n * array.BYTES_PER_ELEMENT > buffer.byteLength) throw new Error(`column ${name}: the payload is cut short`);
    columns[name] = new array(buffer, begin + at, n);
  }
  return { meta: header.meta as Meta, columns };
}
