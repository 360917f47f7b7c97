// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from 'vitest';
import { decode } from '../src/columns';

function payload(header: object, arrays: number[]): ArrayBuffer {
  let text = new TextEncoder().encode(JSON.stringify(header));
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  padded.set(text);
  text = padded;
  const buffer = new ArrayBuffer(8 + text.length + arrays.length * 8);
  const view = new DataView(buffer);
  view.setUint32(0, 0x4f435053, true);
  view.setUint32(4, text.length, true);
  new Uint8Array(buffer).set(text, 8);
  arrays.forEach((x, i) => view.setFloat64(8 + text.length + i * 8, x, true));
  return buffer;
}

const header = { meta: { title: 'é' }, columns: { incl: { type: 'f64', at: 8, n: 2 }, none: { type: 'u32', at: 24, n: 0 } } };

describe('decode', () => {
  it('gives the meta and views of the columns', () => {
    const { meta, columns } = decode(payload(header, [9, 1.5, 2.5]));
    expect(meta).toEqual({ title: 'é' });
    expect([...columns['incl']!]).toEqual([1.5, 2.5]);
    expect(columns['none']!.length).toBe(0);
  });
  it('refuses what is cut short, or something else', () => {
    expect(() => decode(payload(header, [9, 1.5]))).toThrow('cut short');
    expect(() => decode(payload(header, []).slice(0, 40))).toThrow('header');
    expect(() => decode(new ArrayBuffer(16))).toThrow('no payload');
    expect(() => decode(payload({ meta: {}, columns: { x: { type: 'u64', at: 0, n: 0 } } }, []))).toThrow('unknown type');
  });
});
